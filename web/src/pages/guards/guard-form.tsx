import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { GuardReply } from '../../../../src/admin/entries/guards.ts';
import { guards } from '../../api/entries.ts';
import { mergePatch } from '../../api/merge-patch.ts';
import { call, get } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/changed-meanwhile.tsx';
import { Input } from '../../parts/controls.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { Read } from '../../parts/read.tsx';
import { toast } from '../../parts/toast.tsx';
import { bodyOf, type Document, operationsOf } from '../reference/open-api.ts';
import { GuardControl } from './guard-control.tsx';
import {
  definitionOf,
  draftOf,
  type GuardDraft,
  type GuardField,
  guardFields,
  shownFields,
  withCheck,
} from './guard-fields.ts';

interface GuardFormProps {
  /** Null: the form makes one. */
  guard: GuardReply | null;
  onDone: () => void;
}

/** Makes a guard, or changes the stored one. */
export function GuardForm(props: GuardFormProps) {
  const query = useQuery({
    queryKey: ['/openapi.json'],
    queryFn: ({ signal }) => get<Document>('/openapi.json', {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    select: fieldsIn,
  });
  return <Read query={query}>{(fields) => <Fields fields={fields} {...props} />}</Read>;
}

function fieldsIn(document: Document): GuardField[] {
  const making = operationsOf(document).find(({ id }) => id === `POST ${guards.path}`);
  return making === undefined ? [] : guardFields(bodyOf(making)?.schema ?? {});
}

function Fields({ fields, guard, onDone }: GuardFormProps & { fields: readonly GuardField[] }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [base, setBase] = useState(guard);
  const [name, setName] = useState('');
  const [draft, setDraft] = useState<GuardDraft>(() => ({
    ...(guard === null && { check: 'personal-data', action: 'mask' }),
    ...draftOf(fields, guard?.definition ?? null),
  }));
  const written = definitionOf(fields, draft);
  const save = useMutation({
    mutationFn: () =>
      base === null
        ? call<GuardReply>('POST', guards.path, { body: { name: name.trim(), ...written } })
        : call<GuardReply>('PATCH', guards.addressOf(base.name), {
            body: { version: base.version, ...mergePatch(base.definition ?? {}, written) },
          }),
    async onSuccess(saved) {
      toast(base === null ? `${saved.name} is added.` : `${saved.name} is changed.`);
      await guards.refresh(client);
      onDone();
      if (base === null) void navigate({ to: `/dashboard/guards/${encodeURIComponent(saved.name)}` });
    },
  });
  const current = currentOf<GuardReply>(save.error);
  const check = fields.find((field) => field.name === 'check');
  return (
    <Form
      error={current === null ? save.error : null}
      onSubmit={() => save.mutate()}
      footer={
        <Button
          type="submit"
          look="main"
          busy={save.isPending}
          disabled={current !== null || (base === null && name.trim() === '')}
        >
          {base === null ? 'Add guard' : 'Save'}
        </Button>
      }
    >
      {current !== null && (
        <ChangedMeanwhile
          before={base?.definition ?? {}}
          theirs={current.definition ?? {}}
          yours={written}
          onGoOn={(definition) => {
            setBase(current);
            setDraft(draftOf(fields, definition));
            save.reset();
          }}
        />
      )}
      {base === null && (
        <Field name="name" label="Name" hint="Models, plans and the server refer to it by this name.">
          {(control) => (
            <Input
              {...control}
              spellCheck={false}
              placeholder="pii"
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
      )}
      {[...(check === undefined ? [] : [check]), ...shownFields(fields, draft)].map((field) => (
        <GuardControl
          key={field.name}
          field={field}
          value={draft[field.name] ?? ''}
          onValue={(text) =>
            setDraft((before) => (field.name === 'check' ? withCheck(before, text) : { ...before, [field.name]: text }))
          }
        />
      ))}
    </Form>
  );
}
