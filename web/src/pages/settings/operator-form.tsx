import { useMutation } from '@tanstack/react-query';
import type { OperatorReply } from '../../../../src/admin/entries/operators.ts';
import { call } from '../../api/request.ts';
import { Input } from '../../parts/controls.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { AccountsField, listedAccounts, RoleField } from '../members/member-fields.tsx';

interface OperatorFormProps {
  /** Null: a new one is made. */
  operator: OperatorReply | null;
  /** `key` is a new one's secret. */
  onDone: (key: string | null, name: string) => void;
}

export function OperatorForm({ operator, onDone }: OperatorFormProps) {
  const [{ name, role, accounts }, field] = useFields({
    name: operator?.name ?? '',
    role: operator?.role ?? 'viewer',
    accounts: operator?.accounts?.join(', ') ?? '',
  });
  const body = { name, role, accounts: listedAccounts(accounts) };
  const save = useMutation({
    mutationFn: () =>
      operator === null
        ? call<{ key?: string }>('POST', '/admin/v1/operators', { body })
        : call<{ key?: string }>('PATCH', `/admin/v1/operators/${operator.id}`, { body }),
    onSuccess: (reply) => onDone(reply.key ?? null, name),
  });
  return (
    <ActionForm by={save} action={operator === null ? 'Create' : 'Save'} disabled={name === ''}>
      <Field name="name" label="Name" hint="The audit log shows it.">
        <Input autoComplete="off" {...field('name')} />
      </Field>
      <RoleField field={field('role')} />
      <AccountsField field={field('accounts')} />
    </ActionForm>
  );
}
