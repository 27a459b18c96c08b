import { Checks, Input } from './controls.tsx';
import { Field } from './forms/form.tsx';
import { listIn } from './forms/typed.ts';

/** A data rule as typed: '' are all regions. */
export interface TypedDataRule {
  regions: string;
  no_training: boolean;
  zero_retention: boolean;
}

export const noDataRule: TypedDataRule = { regions: '', no_training: false, zero_retention: false };

/** A rule of the server as typed; anything else is no rule. */
export function typedDataRule(rule: unknown): TypedDataRule {
  const { regions, no_training, zero_retention } = (rule ?? {}) as Record<string, unknown>;
  return {
    regions: Array.isArray(regions) ? regions.join(', ') : '',
    no_training: no_training === true,
    zero_retention: zero_retention === true,
  };
}

/** The rule as the server has it; null where it forbids nothing. */
export function dataRuleTyped({ regions, no_training, zero_retention }: TypedDataRule) {
  const listed = listIn(regions, ',');
  if (listed.length === 0 && !no_training && !zero_retention) return null;
  return { ...(listed.length > 0 && { regions: listed }), no_training, zero_retention };
}

/** A rule in words; null where it forbids nothing. */
export function dataRuleInWords(rule: unknown): string | null {
  const { regions, no_training, zero_retention } = typedDataRule(rule);
  const parts = [
    regions !== '' && `regions ${regions}`,
    no_training && 'no training',
    zero_retention && 'zero retention',
  ].filter((part) => part !== false);
  return parts.length === 0 ? null : parts.join('; ');
}

const training = 'No training on requests';
const retention = 'Zero retention';

interface DataRuleFieldsProps {
  /** Field of the body, such as `limits.data`. */
  name: string;
  value: TypedDataRule;
  onValue: (value: TypedDataRule) => void;
}

/** Where requests may go: regions, training, retention. */
export function DataRuleFields({ name, value, onValue }: DataRuleFieldsProps) {
  const chosen = [...(value.no_training ? [training] : []), ...(value.zero_retention ? [retention] : [])];
  return (
    <>
      <Field
        name={`${name}.regions`}
        label="Data regions"
        hint="Only providers in these regions get its requests, such as eu, us-east-1. Leave it empty for all."
      >
        <Input
          spellCheck={false}
          placeholder="All"
          value={value.regions}
          onChange={({ target }) => onValue({ ...value, regions: target.value })}
        />
      </Field>
      <Field name={name} label="Data rule" hint="Only providers of which this is known get its requests.">
        <Checks
          label="Data rule"
          options={[training, retention]}
          chosen={chosen}
          onChosen={(now) =>
            onValue({ ...value, no_training: now.includes(training), zero_retention: now.includes(retention) })
          }
        />
      </Field>
    </>
  );
}
