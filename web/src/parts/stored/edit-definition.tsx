import { useState } from 'react';
import { Input, TextArea } from '../controls.tsx';
import type { Written } from '../forms/changed-meanwhile.tsx';
import { Field } from '../forms/form.tsx';
import { objectIn } from '../forms/typed.ts';
import { type NamedEntry, StoredForm, type StoredFormProps } from './stored-form.tsx';

interface EditDefinitionProps<Entry extends NamedEntry> extends Pick<StoredFormProps<Entry>, 'entries' | 'onDone'> {
  entry: Entry;
  /** The setting that has a separate field. */
  address: { name: string; label: string; hint?: string; placeholder?: string };
  /** Settings that stay as they are, and are not shown. */
  fixed: readonly string[];
  /** Below the other settings, which are JSON. */
  hint: string;
}

/** Changes the settings of a stored entry: its address in a field, and the others as JSON. */
export function EditDefinition<Entry extends NamedEntry>(props: EditDefinitionProps<Entry>) {
  const { entry, entries, address, fixed, hint, onDone } = props;
  const draftOf = (definition: Written | null) => {
    const members = Object.entries(definition ?? {}).filter(([name]) => name !== address.name);
    const shown = members.filter(([name]) => !fixed.includes(name));
    return {
      address: String(definition?.[address.name] ?? ''),
      hidden: Object.fromEntries(members.filter(([name]) => fixed.includes(name))),
      rest: JSON.stringify(Object.fromEntries(shown), null, 2),
    };
  };
  const [draft, setDraft] = useState(() => draftOf(entry.definition));
  const typed = draft.address.trim();
  const rest = objectIn(draft.rest);
  return (
    <StoredForm
      entry={entry}
      entries={entries}
      written={() => rest && { ...draft.hidden, ...(typed !== '' && { [address.name]: typed }), ...rest }}
      onDefinition={(definition) => setDraft(draftOf(definition))}
      onDone={onDone}
    >
      <Field name={address.name} label={address.label} hint={address.hint}>
        <Input
          inputMode="url"
          spellCheck={false}
          placeholder={address.placeholder}
          value={draft.address}
          onChange={({ target }) => setDraft({ ...draft, address: target.value })}
        />
      </Field>
      <Field
        name="definition"
        label="Other settings"
        hint={hint}
        fault={rest === null ? 'This is not a JSON object.' : null}
      >
        <TextArea
          rows={8}
          spellCheck={false}
          className="w-full font-mono text-xs"
          value={draft.rest}
          onChange={({ target }) => setDraft({ ...draft, rest: target.value })}
        />
      </Field>
    </StoredForm>
  );
}
