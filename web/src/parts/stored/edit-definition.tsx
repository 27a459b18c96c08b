import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { mergePatch } from '../../api/merge-patch.ts';
import { call } from '../../api/request.ts';
import { Button } from '../button.tsx';
import { Input, TextArea } from '../controls.tsx';
import { ChangedMeanwhile, currentOf, type Written } from '../forms/changed-meanwhile.tsx';
import { Field, Form } from '../forms/form.tsx';
import { objectIn } from '../forms/typed.ts';
import { toast } from '../toast.tsx';

/** A stored entry, with its settings as in culvert.yaml. */
export interface Entry {
  name: string;
  version: number | null;
  definition: Written | null;
}

interface EditDefinitionProps {
  entry: Entry;
  /** Path of the entry in the admin API. */
  path: string;
  /** The setting that has a separate field. */
  address: { name: string; label: string; hint?: string; placeholder?: string };
  /** Settings that stay as they are, and are not shown. */
  fixed: readonly string[];
  /** Below the other settings, which are JSON. */
  hint: string;
  onSaved: () => Promise<void>;
}

/** Changes the settings of a stored entry: its address in a field, and the others as JSON. */
export function EditDefinition({ entry, path, address, fixed, hint, onSaved }: EditDefinitionProps) {
  const addressIn = (definition: Written | null) => String(definition?.[address.name] ?? '');
  const restOf = (definition: Written | null) => {
    const shown = Object.entries(definition ?? {}).filter(([name]) => name !== address.name && !fixed.includes(name));
    return JSON.stringify(Object.fromEntries(shown), null, 2);
  };
  const [base, setBase] = useState(entry);
  const [typed, setTyped] = useState(() => addressIn(entry.definition));
  const [rest, setRest] = useState(() => restOf(entry.definition));
  const parsed = objectIn(rest);
  const before = base.definition ?? {};
  const fixedMembers = Object.fromEntries(
    fixed.flatMap((name) => (before[name] === undefined ? [] : [[name, before[name]]])),
  );
  const after = { ...fixedMembers, ...(typed.trim() !== '' && { [address.name]: typed.trim() }), ...parsed };
  const save = useMutation({
    mutationFn: () => call('PATCH', path, { body: { version: base.version, ...mergePatch(before, after) } }),
    async onSuccess() {
      toast(`${base.name} was changed.`);
      await onSaved();
    },
  });
  const current = currentOf<Entry>(save.error);
  const goOn = (newest: Entry, definition: Written) => {
    setBase(newest);
    setTyped(addressIn(definition));
    setRest(restOf(definition));
    save.reset();
  };
  return (
    <Form
      error={current === null ? save.error : null}
      onSubmit={() => save.mutate()}
      footer={
        <Button type="submit" look="main" busy={save.isPending} disabled={parsed === null || current !== null}>
          Save
        </Button>
      }
    >
      {current !== null && (
        <ChangedMeanwhile
          before={before}
          theirs={current.definition ?? {}}
          yours={after}
          onGoOn={(next) => goOn(current, next)}
        />
      )}
      <Field name={address.name} label={address.label} hint={address.hint}>
        <Input
          inputMode="url"
          spellCheck={false}
          placeholder={address.placeholder}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </Field>
      <Field
        name="definition"
        label="Other settings"
        hint={hint}
        fault={parsed === null ? 'This is not a JSON object.' : null}
      >
        <TextArea
          rows={8}
          spellCheck={false}
          className="w-full font-mono text-xs"
          value={rest}
          onChange={({ target }) => setRest(target.value)}
        />
      </Field>
    </Form>
  );
}
