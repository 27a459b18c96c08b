import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { GuardReply } from '../../../../src/admin/entries/guards.ts';
import { guards } from '../../api/entries.ts';
import { get } from '../../api/request.ts';
import { Read } from '../../parts/read.tsx';
import { StoredForm } from '../../parts/stored/stored-form.tsx';
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
  const [draft, setDraft] = useState<GuardDraft>(() => ({
    ...(guard === null && { check: 'personal-data', action: 'mask' }),
    ...draftOf(fields, guard?.definition ?? null),
  }));
  const check = fields.find((field) => field.name === 'check');
  return (
    <StoredForm
      entry={guard}
      entries={guards}
      adds={{
        list: '/dashboard/guards',
        kind: 'guard',
        hint: 'Models, plans and the server refer to it by this name.',
        placeholder: 'pii',
      }}
      written={() => definitionOf(fields, draft)}
      onDefinition={(definition) => setDraft(draftOf(fields, definition))}
      onDone={onDone}
    >
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
    </StoredForm>
  );
}
