import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { AccountReply } from '../../../../src/admin/entries/accounts.ts';
import { accounts } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Input } from '../../parts/controls.tsx';
import { useFields } from '../../parts/fields.ts';
import { Field, Form } from '../../parts/form.tsx';
import { toast } from '../../parts/toast.tsx';
import { PlanSelect } from './plan-select.tsx';

export function NewAccount({ onClose }: { onClose: () => void }) {
  const [{ name, id, plan }, field, change] = useFields({ name: '', id: '', plan: '' });
  const client = useQueryClient();
  const navigate = useNavigate();
  const make = useMutation({
    mutationFn: () =>
      call<AccountReply>('POST', accounts.path, {
        body: { ...(name !== '' && { name }), ...(id !== '' && { id }), ...(plan !== '' && { plan }) },
      }),
    async onSuccess(account) {
      await accounts.refresh(client);
      toast(`The account ${account.name} was created.`);
      onClose();
      void navigate({ to: `/dashboard/accounts/${encodeURIComponent(account.id)}` });
    },
  });
  return (
    <Form
      error={make.error}
      onSubmit={() => make.mutate()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" busy={make.isPending} disabled={name === '' && id === ''}>
            Create account
          </Button>
        </>
      }
    >
      <Field name="name" label="Name" hint="People see this name.">
        {(control) => <Input {...control} {...field('name')} />}
      </Field>
      <Field name="id" label="Id" hint="It never changes. Leave it empty to generate one.">
        {(control) => (
          <Input
            {...control}
            spellCheck={false}
            value={id}
            onChange={({ target }) => change({ id: target.value.trim() })}
          />
        )}
      </Field>
      <Field name="plan" label="Plan">
        {(control) => (
          <PlanSelect
            control={control}
            value={plan}
            onValue={(next) => change({ plan: next })}
            unless="The default plan"
          />
        )}
      </Field>
    </Form>
  );
}
