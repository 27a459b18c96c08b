import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { OperatorReply } from '../../../../src/admin/entries/operators.ts';
import { call } from '../../api/request.ts';
import { Input } from '../../parts/controls.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/forms/changed-meanwhile.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { AccountsField, listedAccounts, RoleField } from '../members/member-fields.tsx';

interface OperatorFormProps {
  /** Null: a new one is made. */
  operator: OperatorReply | null;
  /** `key` is a new one's secret. */
  onDone: (key: string | null, name: string) => void;
}

function writtenOf(operator: OperatorReply | null) {
  const { name = '', role = 'viewer', accounts = null } = operator ?? {};
  return { name, role: role as string, accounts: accounts?.join(', ') ?? '' };
}

export function OperatorForm({ operator, onDone }: OperatorFormProps) {
  const [seen, setSeen] = useState(operator);
  const [typed, field, change] = useFields(writtenOf(operator));
  const { name, role, accounts } = typed;
  const body = { name, role, accounts: listedAccounts(accounts) };
  const save = useMutation({
    mutationFn: () =>
      seen === null
        ? call<{ key?: string }>('POST', '/admin/v1/operators', { body })
        : call<{ key?: string }>('PATCH', `/admin/v1/operators/${seen.id}`, {
            body: { ...body, version: seen.version },
          }),
    onSuccess: (reply) => onDone(reply.key ?? null, name),
  });
  const current = currentOf<OperatorReply>(save.error);
  return (
    <ActionForm
      by={save}
      action={operator === null ? 'Create' : 'Save'}
      disabled={name === ''}
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={writtenOf(seen)}
            theirs={writtenOf(current)}
            yours={typed}
            onGoOn={(next) => {
              setSeen(current);
              change(next as typeof typed);
              save.reset();
            }}
          />
        )
      }
    >
      <Field name="name" label="Name" hint="The audit log shows it.">
        <Input autoComplete="off" {...field('name')} />
      </Field>
      <RoleField field={field('role')} />
      <AccountsField field={field('accounts')} />
    </ActionForm>
  );
}
