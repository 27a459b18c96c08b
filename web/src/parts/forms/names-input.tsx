import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useId, useRef, useState } from 'react';
import type { Listed } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { classes } from '../classes.ts';
import { inputClass } from '../controls.tsx';
import { useControl } from './form.tsx';
import { listIn } from './typed.ts';

/** Names offered; beyond them one types on. */
const offeredMax = 500;

interface NamesInputProps {
  /** Names with commas between them, the one that is being typed included. */
  value: string;
  onChange: (event: { target: { value: string } }) => void;
  /** A list of the admin API whose names are offered, asked for when a user types here. */
  from?: string;
  /** The field of its rows that is a name. */
  field?: string;
  /** Shown while there is no name. */
  placeholder?: string;
}

/** Several names: picked from those that there are, or typed. A comma or Enter ends one. */
export function NamesInput({ value, onChange, from, field = 'name', placeholder }: NamesInputProps) {
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  const offered = useOffered(from, field);
  const names = listIn(value, ',');
  // Another value from outside has no unfinished name.
  const typing = typed !== '' && names.at(-1) === typed.trim() ? typed : '';
  const picked = typing === '' ? names : names.slice(0, -1);
  const change = (next: readonly string[], text = '') => {
    setTyped(text);
    onChange({ target: { value: [...new Set([...next, text.trim()])].filter((name) => name !== '').join(', ') } });
  };
  const type = (text: string) => {
    const parts = text.split(',');
    const last = parts.pop() ?? '';
    const all = [...picked, ...parts.map((part) => part.trim())];
    if (offered.names.includes(last)) change([...all, last]);
    else change(all, last.trimStart());
  };
  const remove = (name: string) => {
    change(names.filter((one) => one !== name));
    input.current?.focus();
    // A dialog asks before changes are lost: it sees typing only.
    input.current?.dispatchEvent(new Event('input', { bubbles: true }));
  };
  return (
    <div className={classes(inputClass, 'flex min-h-8 w-full flex-wrap items-center gap-1 py-0.5 pl-1.5')}>
      {picked.map((name) => (
        <span key={name} className="inline-flex min-w-0 items-center rounded bg-hover pl-1.5 text-sm">
          <span className="[overflow-wrap:anywhere]">{name}</span>
          <button
            type="button"
            aria-label={`Remove ${name}`}
            className="grid size-6 place-items-center text-muted hover:text-ink"
            onClick={() => remove(name)}
          >
            <X className="size-3" aria-hidden />
          </button>
        </span>
      ))}
      <input
        {...useControl()}
        ref={input}
        list={from === undefined ? undefined : list}
        spellCheck={false}
        autoComplete="off"
        className="h-6 min-w-24 flex-1 bg-transparent px-1 outline-none placeholder:text-faint"
        placeholder={names.length === 0 ? placeholder : 'Add…'}
        value={typing}
        onFocus={offered.ask}
        onChange={({ target }) => type(target.value)}
        onBlur={() => setTyped('')}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && typing !== '') {
            event.preventDefault();
            setTyped('');
          }
          const last = picked.at(-1);
          if (event.key === 'Backspace' && typing === '' && last !== undefined) remove(last);
        }}
      />
      {from !== undefined && (
        <datalist id={list}>
          {offered.names
            .filter((name) => !picked.includes(name))
            .map((name) => (
              <option key={name} value={name} />
            ))}
        </datalist>
      )}
    </div>
  );
}

/** The names of a list, from the first time that they are asked for. */
export function useOffered(from: string | undefined, field: string): { names: readonly string[]; ask: () => void } {
  const [isOpen, setOpen] = useState(false);
  const { data } = useQuery({
    queryKey: [from, 'names', field],
    queryFn: ({ signal }) => get<Listed<Record<string, string>>>(from ?? '', { limit: offeredMax }, signal),
    enabled: isOpen && from !== undefined,
    staleTime: 60_000,
  });
  return { names: data?.data.flatMap((row) => row[field] ?? []) ?? [], ask: () => setOpen(true) };
}
