import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AccountReply } from '../../../../src/admin/entries/accounts.ts';
import { accounts } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Input } from '../../parts/controls.tsx';
import { DataRuleFields, dataRuleTyped, typedDataRule } from '../../parts/data-rule.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/forms/changed-meanwhile.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { listIn, numberOrText } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';
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
  const [extra, setExtra] = useState(() => typedExtra(account));
  const [data, setData] = useState(() => typedDataRule(account.data));
  const client = useQueryClient();
  const yours = facts({
    ...{ ...before, name, plan, guards: listIn(guards, ',') },
    ...{ extra_budget: extraIn(extra, before), data: dataRuleTyped(data) },
  });
  const change = useMutation({
    mutationFn: () =>
      call('PATCH', accounts.addressOf(account.id), {
        body: { ...changed(facts(before), yours), version: before.version },
      }),
    async onSuccess() {
      await client.invalidateQueries();
      toast('Saved. The limits apply at once.');
      onClose();
    },
  });
  const current = currentOf<AccountReply>(change.error);
  return (
    <ActionForm
      by={change}
      onCancel={onClose}
      action="Save"
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={facts(before)}
            theirs={facts(current)}
            yours={yours}
            onGoOn={(next) => {
              setBefore(current);
              setName(String(next.name));
              setPlan(String(next.plan));
              setGuards((next.guards as string[]).join(', '));
              setExtra(typedExtra(next as Pick<AccountReply, 'extra_budget'>));
              setData(typedDataRule(next.data));
              change.reset();
            }}
          />
        )
      }
    >
      <Field name="name" label="Name">
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field name="plan" label="Plan" hint="What the account has used already counts towards its limits.">
        <PlanSelect value={plan} onValue={setPlan} />
      </Field>
      <Field
        name="guards"
        label="Guards"
        hint="They check requests and answers of its keys, in addition to the guards of the plan."
      >
        <NamesInput
          from="/admin/v1/guards"
          placeholder="None"
          value={guards}
          onChange={(event) => setGuards(event.target.value)}
        />
      </Field>
      <DataRuleFields name="data" value={data} onValue={setData} />
      <div className="grid grid-cols-2 gap-3">
        <Field
          name="extra_budget.usd"
          label="Extra budget, USD"
          hint="It may spend this much beyond each budget of its plan."
        >
          <Input
            inputMode="decimal"
            placeholder="None"
            value={extra.usd}
            onChange={({ target }) => setExtra({ ...extra, usd: target.value })}
          />
        </Field>
        {(['tokens', 'requests'] as const).map((unit) => (
          <Field
            key={unit}
            name={`extra_budget.${unit}`}
            label={`Extra ${unit}`}
            hint="Beyond each window of its plan."
          >
            <Input
              inputMode="numeric"
              placeholder="None"
              value={extra[unit]}
              onChange={({ target }) => setExtra({ ...extra, [unit]: target.value })}
            />
          </Field>
        ))}
        <Field name="extra_budget.until" label="Until" hint="A date such as 2027-01-01, or 5d from now.">
          <Input value={extra.until} onChange={({ target }) => setExtra({ ...extra, until: target.value })} />
        </Field>
      </div>
    </ActionForm>
  );
}

type Amounts = Partial<Record<'usd' | 'tokens' | 'requests', number | string | undefined>>;
type Extra = (Amounts & { until: string }) | null;

function facts(account: Omit<AccountReply, 'extra_budget'> & { extra_budget: Extra }) {
  const { name, plan, status, guards, extra_budget, data } = account;
  return { name, plan, status, guards, extra_budget, data: dataRuleTyped(typedDataRule(data)) };
}

/** Members that differ: a change of one leaves the others as they are. */
function changed<Facts extends object>(before: Facts, after: Facts): Partial<Facts> {
  const known = before as Record<string, unknown>;
  const differs = ([name, value]: [string, unknown]) => JSON.stringify(known[name]) !== JSON.stringify(value);
  const set = Object.entries(after).filter(differs);
  // A body needs a member; this one stays as it is.
  return Object.fromEntries(
    set.length > 0 ? set : Object.entries(after).filter(([name]) => name === 'name'),
  ) as Partial<Facts>;
}

function typedExtra({ extra_budget: extra }: Pick<AccountReply, 'extra_budget'>) {
  const { usd = '', tokens = '', requests = '', until = '' } = extra ?? {};
  const amounts = { usd: String(usd), tokens: String(tokens), requests: String(requests) };
  return { ...amounts, until: until.replace('T00:00:00.000Z', '') };
}

/** Extra budget, as the server has it where nobody touched it. */
function extraIn(typed: ReturnType<typeof typedExtra>, before: AccountReply): Extra {
  if (JSON.stringify(typed) === JSON.stringify(typedExtra(before))) return before.extra_budget;
  const { until, ...amounts } = typed;
  const given = Object.entries(amounts).filter(([, text]) => text.trim() !== '');
  if (given.length === 0) return null;
  return { ...Object.fromEntries(given.map(([unit, text]) => [unit, numberOrText(text)])), until: until.trim() };
}
