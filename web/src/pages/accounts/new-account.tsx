import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { AccountReply } from '../../../../src/admin/accounts.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Input } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { toast } from '../../parts/toast.tsx';
import { PlanSelect } from './plan-select.tsx';

export function NewAccount({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="New account"
      description="An account is whoever pays: a team, a customer or you."
    >
      <NewAccountForm onClose={onClose} />
    </Dialog>
  );
}

function NewAccountForm({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [id, setId] = useState('');
  const [plan, setPlan] = useState('');
  const client = useQueryClient();
  const navigate = useNavigate();
  const make = useMutation({
    mutationFn: () =>
      call<AccountReply>('POST', '/admin/v1/accounts', {
        body: { ...(name !== '' && { name }), ...(id !== '' && { id }), ...(plan !== '' && { plan }) },
      }),
    async onSuccess(account) {
      await client.invalidateQueries({ queryKey: ['/admin/v1/accounts'] });
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
        {(control) => <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field name="id" label="Id" hint="It never changes. Leave it empty to generate one.">
        {(control) => (
          <Input {...control} spellCheck={false} value={id} onChange={(event) => setId(event.target.value.trim())} />
        )}
      </Field>
      <Field name="plan" label="Plan">
        {(control) => <PlanSelect control={control} value={plan} onValue={setPlan} unless="The default plan" />}
      </Field>
    </Form>
  );
}
