import { Input } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { spans, type TypedPlan, windowKeys } from './plan-fields.ts';

interface WindowFieldsProps {
  /** The server's name of the measure in `error.param`. */
  name: string;
  title: string;
  hint?: string;
  /** Shown in an empty field. Default: unlimited. */
  none?: string;
  value: TypedPlan['windows'];
  onValue: (value: TypedPlan['windows']) => void;
}

/** The three rolling windows of one measure. */
export function WindowFields({ name, title, hint, none = 'unlimited', value, onValue }: WindowFieldsProps) {
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium text-sm">{title}</legend>
      <div className="grid grid-cols-3 gap-3">
        {windowKeys.map((key) => (
          <Field
            key={key}
            name={`${name}.${key}`}
            label={<span className="font-normal text-muted">in {spans[key]}</span>}
          >
            <Input
              aria-label={`${title} in ${spans[key]}`}
              inputMode="decimal"
              placeholder={none}
              value={value[key]}
              onChange={(event) => onValue({ ...value, [key]: event.target.value })}
            />
          </Field>
        ))}
      </div>
      {hint !== undefined && <p className="text-muted text-xs">{hint}</p>}
    </fieldset>
  );
}
