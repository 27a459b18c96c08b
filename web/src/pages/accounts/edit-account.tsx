import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AccountReply } from '../../../../src/admin/entries/accounts.ts';
import { accounts } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/changed-meanwhile.tsx';
import { Input } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { toast } from '../../parts/toast.tsx';
import { listIn } from '../../parts/typed.ts';
import { PlanSelect } from './plan-select.tsx';

interface EditAccountProps {
  account: AccountReply;
  open: boolean;
  onClose: () => void;
}

export function EditAccount({ account, open, onClose }: EditAccountProps) {
  return (
    <Dialog open={open} onClose={onClose} title={`Edit ${account.name}`}>
      <EditForm account={account} onClose={onClose} />
    </Dialog>
  );
}

function EditForm({ account, onClose }: Omit<EditAccountProps, 'open'>) {
  // The form's initial values: another person's change does not replace typed ones.
  const [before, setBefore] = useState(account);
  const [name, setName] = useState(account.name);
  const [plan, setPlan] = useState(account.plan);
  const [guards, setGuards] = useState(account.guards.join(', '));
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () =>
      call('PATCH', accounts.addressOf(account.id), {
        body: { name, plan, guards: listIn(guards, ','), version: before.version },
      }),
    async onSuccess() {
      await client.invalidateQueries();
      toast('Saved. The limits apply at once.');
      onClose();
    },
  });
  const current = currentOf<AccountReply>(change.error);
  return (
    <Form
      error={current === null ? change.error : null}
      onSubmit={() => change.mutate()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" busy={change.isPending} disabled={current !== null}>
            Save
          </Button>
        </>
      }
    >
      {current !== null && (
        <ChangedMeanwhile
          before={facts(before)}
          theirs={facts(current)}
          yours={facts({ ...before, name, plan, guards: listIn(guards, ',') })}
          onGoOn={(next) => {
            setBefore(current);
            setName(String(next.name));
            setPlan(String(next.plan));
            setGuards((next.guards as string[]).join(', '));
            change.reset();
          }}
        />
      )}
      <Field name="name" label="Name">
        {(control) => <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field name="plan" label="Plan" hint="Its limits also count what the account has used already.">
        {(control) => <PlanSelect control={control} value={plan} onValue={setPlan} />}
      </Field>
      <Field
        name="guards"
        label="Guards"
        hint="Names, separated by commas. They read requests and answers of its keys, besides those of the plan."
      >
        {(control) => (
          <Input
            {...control}
            spellCheck={false}
            placeholder="None"
            value={guards}
            onChange={(event) => setGuards(event.target.value)}
          />
        )}
      </Field>
    </Form>
  );
}

function facts({ name, plan, status, guards }: AccountReply) {
  return { name, plan, status, guards };
}
