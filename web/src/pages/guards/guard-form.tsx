import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { GuardReply } from '../../../../src/admin/entries/guards.ts';
import { guards } from '../../api/entries.ts';
import { Read } from '../../parts/read.tsx';
import { StoredForm } from '../../parts/stored/stored-form.tsx';
import type { Document } from '../reference/open-api.ts';
import { bodySchemaOf, openApiQuery } from '../reference/open-api-query.ts';
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
  const query = useQuery({ ...openApiQuery, select: fieldsIn });
  return <Read query={query}>{(fields) => <Fields fields={fields} {...props} />}</Read>;
}

function fieldsIn(document: Document): GuardField[] {
  return guardFields(bodySchemaOf(document, `POST ${guards.path}`));
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
