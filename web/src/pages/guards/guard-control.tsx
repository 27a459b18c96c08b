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
export function GuardControl(props: GuardControlProps) {
  const { name, hint } = props.field;
  return (
    <Field name={name} label={labelOf(name)} hint={hint}>
      <Control {...props} />
    </Field>
  );
}

function Control({ field: { name, control, options, required }, value, onValue }: GuardControlProps) {
  const typed = { value, onChange: ({ target }: { target: { value: string } }) => onValue(target.value) };
  if (control === 'choice' || control === 'flag') {
    return (
      <Select {...typed}>
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
      <Checks label={labelOf(name)} options={options} chosen={chosen} onChosen={(now) => onValue(now.join(', '))} />
    );
  }
  if (control === 'lines' || control === 'json') {
    return (
      <TextArea
        {...typed}
        rows={4}
        spellCheck={false}
        placeholder={control === 'lines' ? 'One per line' : '{}'}
        className="field-sizing-content max-h-80 min-h-20 w-full font-mono text-xs"
      />
    );
  }
  if (/^(model|route_to)$/.test(name)) return <SuggestInput {...typed} from={models.path} field="id" />;
  const type = /^(secret|api_key)$/.test(name) ? 'password' : 'text';
  return <Input {...typed} type={type} spellCheck={false} autoComplete="off" />;
}
