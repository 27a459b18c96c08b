import { CalendarFields } from './calendar-fields.tsx';
import { LateWarnings } from './late-warnings.tsx';
import type { TypedPlan } from './plan-fields.ts';
import { WindowFields } from './window-fields.tsx';

type TypedLimits = Pick<TypedPlan, 'budget' | 'calendar' | 'windows' | 'tokens' | 'soft'>;

interface LimitFieldsProps {
  /** Before the server's names of the limits in `error.param`. */
  path: 'limits.' | '';
  value: TypedLimits;
  onChange: (changes: Partial<TypedLimits>) => void;
}

/** Limits over rolling windows and calendar periods, and where warnings begin; of a plan or a key. */
export function LimitFields({ path, value, onChange }: LimitFieldsProps) {
  const { budget, calendar, windows, tokens, soft } = value;
  return (
    <>
      <WindowFields
        name={`${path}windows`}
        title="Units"
        hint="A request costs one unit, unless the configuration sets another cost."
        value={windows}
        onValue={(next) => onChange({ windows: next })}
      />
      <WindowFields
        name={`${path}budget`}
        title="Budget, USD"
        value={budget}
        onValue={(next) => onChange({ budget: next })}
      />
      <CalendarFields
        name={`${path}calendar_budget`}
        value={calendar}
        onValue={(next) => onChange({ calendar: next })}
      />
      <WindowFields
        name={`${path}tokens`}
        title="Tokens"
        value={tokens}
        onValue={(next) => onChange({ tokens: next })}
      />
      <WindowFields
        name={`${path}soft.budget`}
        title="Warn at, USD"
        none="never"
        hint="Requests beyond it still pass, with a header that says so."
        value={soft.budget}
        onValue={(next) => onChange({ soft: { ...soft, budget: next } })}
      />
      <WindowFields
        name={`${path}soft.tokens`}
        title="Warn at, tokens"
        none="never"
        value={soft.tokens}
        onValue={(next) => onChange({ soft: { ...soft, tokens: next } })}
      />
      <LateWarnings hard={value} soft={soft} />
    </>
  );
}
