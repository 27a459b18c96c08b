import { useMutation } from '@tanstack/react-query';
import type { OperatorReply } from '../../../../src/admin/entries/operators.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Input } from '../../parts/controls.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field, Form } from '../../parts/forms/form.tsx';
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
    <Form
      error={save.error}
      onSubmit={() => save.mutate()}
      footer={
        <Button type="submit" look="main" busy={save.isPending} disabled={name === ''}>
          {operator === null ? 'Create' : 'Save'}
        </Button>
      }
    >
      <Field name="name" label="Name" hint="The audit log shows it.">
        <Input autoComplete="off" {...field('name')} />
      </Field>
      <RoleField field={field('role')} />
      <AccountsField field={field('accounts')} />
    </Form>
  );
}
