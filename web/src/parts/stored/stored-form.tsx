import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { entriesOf } from '../../api/entries.ts';
import { mergePatch } from '../../api/merge-patch.ts';
import { call } from '../../api/request.ts';
import { Input } from '../controls.tsx';
import { ActionForm } from '../forms/action-form.tsx';
import { ChangedMeanwhile, currentOf, type Written } from '../forms/changed-meanwhile.tsx';
import { Field } from '../forms/form.tsx';
import { toast } from '../toast.tsx';

/** An entry that is set up at run time, as the admin API returns it. */
export interface NamedEntry {
  name: string;
  version: number | null;
  definition: Written | null;
}

export interface StoredFormProps<Entry extends NamedEntry> {
  /** Null: the form makes one. */
  entry: Entry | null;
  entries: ReturnType<typeof entriesOf<Entry>>;
  /**
   * How a new entry is made: `list` is its list in the dashboard, where it has its page, `kind` as in "Add guard", and
   * the others are of the field of its name. Absent: other forms make such entries.
   */
  adds?: { list: string; kind: string; hint: string; placeholder: string };
  /** The definition as it is typed. Null: it cannot be sent, and its field says why. */
  written: () => Written | null;
  /** Puts a definition into the form. */
  onDefinition: (definition: Written) => void;
  onDone: () => void;
  children: ReactNode;
}

/** Makes a named entry, or changes the stored one: two operators who change one thing see what the other has changed. */
export function StoredForm<Entry extends NamedEntry>(props: StoredFormProps<Entry>) {
  const { entry, entries, adds, onDefinition, onDone, children } = props;
  const client = useQueryClient();
  const navigate = useNavigate();
  const [base, setBase] = useState(entry);
  const [name, setName] = useState('');
  const written = props.written();
  const save = useMutation({
    mutationFn() {
      if (base === null) return call<Entry>('POST', entries.path, { body: { name: name.trim(), ...written } });
      const body = { version: base.version, ...mergePatch(base.definition ?? {}, written ?? {}) };
      return call<Entry>('PATCH', entries.addressOf(base.name), { body });
    },
    async onSuccess(saved) {
      toast(base === null ? `${saved.name} was added.` : `${saved.name} was changed.`);
      await entries.refresh(client);
    },
  });
  const onSuccess = ({ name: added }: Entry) => {
    onDone();
    if (base === null) void navigate({ to: `${adds?.list}/${encodeURIComponent(added)}`, ignoreBlocker: true });
  };
  const current = currentOf<Entry>(save.error);
  const isNameless = base === null && name.trim() === '';
  return (
    <ActionForm
      // A reader who has closed the form meanwhile stays where they are.
      by={{ ...save, mutate: () => save.mutate(undefined, { onSuccess }) }}
      action={base === null ? `Add ${adds?.kind}` : 'Save'}
      disabled={written === null || isNameless}
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={base?.definition ?? {}}
            theirs={current.definition ?? {}}
            yours={written ?? {}}
            onGoOn={(definition) => {
              setBase(current);
              onDefinition(definition);
              save.reset();
            }}
          />
        )
      }
    >
      {base === null && (
        <Field name="name" label="Name" hint={adds?.hint}>
          <Input
            spellCheck={false}
            placeholder={adds?.placeholder}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </Field>
      )}
      {children}
    </ActionForm>
  );
}
