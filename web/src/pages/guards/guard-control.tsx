import { models } from '../../api/entries.ts';
import { Checks, Input, Select, TextArea } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { listIn } from '../../parts/forms/typed.ts';
import { type GuardField, labelOf } from './guard-fields.ts';

interface GuardControlProps {
  field: GuardField;
  value: string;
  onValue: (value: string) => void;
}

/** One setting of a guard, by its kind. */
export function GuardControl({ field: { name, control, options, required, hint }, value, onValue }: GuardControlProps) {
  const typed = { value, onChange: ({ target }: { target: { value: string } }) => onValue(target.value) };
  const label = labelOf(name);
  return (
    <Field name={name} label={label} hint={hint}>
      {(props) => {
        if (control === 'choice' || control === 'flag') {
          return (
            <Select {...props} {...typed}>
              {!required && <option value="">Default</option>}
              {(control === 'flag' ? ['true', 'false'] : options).map((option) => (
                <option key={option}>{option}</option>
              ))}
            </Select>
          );
        }
        if (control === 'choices') {
          const chosen = listIn(value, ',');
          return (
            <Checks
              {...props}
              label={label}
              options={options}
              chosen={chosen}
              onChosen={(now) => onValue(now.join(', '))}
            />
          );
        }
        if (control === 'lines' || control === 'json') {
          return (
            <TextArea
              {...props}
              {...typed}
              rows={4}
              spellCheck={false}
              placeholder={control === 'lines' ? 'One per line' : '{}'}
              className="field-sizing-content max-h-80 min-h-20 w-full font-mono text-xs"
            />
          );
        }
        if (/^(model|route_to)$/.test(name))
          return <SuggestInput {...props} {...typed} from={models.path} field="id" />;
        const type = /^(secret|api_key)$/.test(name) ? 'password' : 'text';
        return <Input {...props} {...typed} type={type} spellCheck={false} autoComplete="off" />;
      }}
    </Field>
  );
}
