import { useId } from 'react';
import { Input } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { periods, type TypedCalendar } from './plan-fields.ts';

interface CalendarFieldsProps {
  /** The server's name of the budget in `error.param`. */
  name: string;
  value: TypedCalendar;
  onValue: (value: TypedCalendar) => void;
}

/** A budget by day, week and month of the calendar, in a time zone. */
export function CalendarFields({ name, value, onValue }: CalendarFieldsProps) {
  const zones = useId();
  const title = 'Budget by calendar, USD';
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium text-sm">{title}</legend>
      <div className="grid grid-cols-3 gap-3">
        {periods.map((period) => (
          <Field
            key={period}
            name={`${name}.${period}`}
            label={<span className="font-normal text-muted">per {period}</span>}
          >
            <Input
              aria-label={`${title} per ${period}`}
              inputMode="decimal"
              placeholder="unlimited"
              value={value[period]}
              onChange={(event) => onValue({ ...value, [period]: event.target.value })}
            />
          </Field>
        ))}
      </div>
      <Field
        name={`${name}.time_zone`}
        label={<span className="font-normal text-muted">Time zone</span>}
        hint="Days, weeks and months begin at midnight there. Weeks begin on Monday."
      >
        <Input
          list={zones}
          spellCheck={false}
          value={value.time_zone}
          onChange={(event) => onValue({ ...value, time_zone: event.target.value })}
        />
        <datalist id={zones}>
          {Intl.supportedValuesOf('timeZone').map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </Field>
    </fieldset>
  );
}
