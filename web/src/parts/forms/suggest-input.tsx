import { type ChangeEvent, type ComponentProps, type FocusEvent, type KeyboardEvent, useId } from 'react';
import { Input, Select } from '../controls.tsx';
import { keyIdIn } from '../key-prefix.ts';
import { useOffered } from './names-input.tsx';
import { useTyped } from './use-typed.ts';

interface SuggestInputProps extends ComponentProps<'input'> {
  /** A list of the admin API, asked for when a user types here. */
  from: string;
  /** The field of its rows that is a name. */
  field: string;
}

/** An input that offers what there is, and takes anything. */
export function SuggestInput({ from, field, ...rest }: SuggestInputProps) {
  const id = useId();
  const { names, ask } = useOffered(from, field);
  return (
    <>
      <Input list={id} spellCheck={false} autoComplete="off" onFocus={ask} {...rest} />
      <datalist id={id}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

interface FilterInputProps {
  label: string;
  value: string | undefined;
  onValue: (value: string) => void;
  inputMode?: 'decimal';
  /** Its suggestions, as in SuggestInput; absent: none. */
  from?: string;
  field?: string;
}

/** A text that filters. It is taken when it is left, by Enter, or when one of the offered names is chosen. */
export function FilterInput({ label, value = '', onValue, inputMode, from, field }: FilterInputProps) {
  const { text, setText, take } = useTyped(value, onValue);
  const props = {
    'aria-label': label,
    placeholder: label,
    inputMode,
    className: 'w-[calc(50%-4px)] sm:w-28',
    value: text,
    spellCheck: false,
    onChange({ target }: ChangeEvent<HTMLInputElement>) {
      setText(target.value);
      const offered = [...(target.list?.options ?? [])].some((option) => option.value === target.value);
      if (offered || target.value === '') take(target.value);
    },
    onBlur: ({ target }: FocusEvent<HTMLInputElement>) => take(target.value),
    onKeyDown: ({ key, currentTarget }: KeyboardEvent<HTMLInputElement>) => {
      if (key === 'Enter') take(currentTarget.value);
    },
  };
  if (from === undefined || field === undefined) return <Input {...props} />;
  return <SuggestInput from={from} field={field} {...props} />;
}

/** Filters by the account whose id is typed. */
export function AccountFilter({ value, onValue }: Pick<FilterInputProps, 'value' | 'onValue'>) {
  return <FilterInput label="Account" value={value} onValue={onValue} from="/admin/v1/accounts" field="id" />;
}

/** Filters by the key whose id, prefix or secret is typed. */
export function KeyFilter({ value, onValue }: Pick<FilterInputProps, 'value' | 'onValue'>) {
  const onKey = (text: string) => onValue(keyIdIn(text));
  return <FilterInput label="Key id" value={value} onValue={onKey} from="/admin/v1/keys" field="id" />;
}

interface FilterSelectProps {
  label: string;
  value: string | undefined;
  onValue: (value: string) => void;
  options: readonly string[];
}

/** One of few that filters. */
export function FilterSelect({ label, value = '', onValue, options }: FilterSelectProps) {
  return (
    <Select
      aria-label={label}
      value={value}
      className="w-[calc(50%-4px)] sm:w-auto"
      onChange={({ target }) => onValue(target.value)}
    >
      <option value="">Any {label.toLowerCase()}</option>
      {options.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </Select>
  );
}
