import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import type { AccountReply } from '../../../../src/admin/entries/accounts.ts';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { accounts, plans } from '../../api/entries.ts';
import { ApiError, call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Input } from '../../parts/controls.tsx';
import { DataRuleFields, dataRuleTyped, noDataRule } from '../../parts/data-rule.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { FieldProblem, numberOrText } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';
import { FirstPlan } from '../plans/first-plan.tsx';
import { planOrNone } from '../plans/read-plan.ts';
import { PlanSelect } from './plan-select.tsx';

/** An account that was made, with its first key where one was asked for. */
export interface MadeAccount {
  account: AccountReply;
  key: (KeyReply & { key: string }) | null;
}

const empty = { name: '', id: '', plan: '', planName: '', usd: '', keyName: '', data: noDataRule };
/** No plan has such a name. */
const another = 'another:';

interface NewAccountProps {
  onClose: () => void;
  onMade: (made: MadeAccount) => void;
}

/** Makes an account, and with it a plan with a budget and a key where these are typed. */
export function NewAccount({ onClose, onMade }: NewAccountProps) {
  const [typed, field, change] = useFields(empty);
  const { name, id, plan } = typed;
  const client = useQueryClient();
  const may = { plans: useMay('plans', 'write'), keys: useMay('keys', 'write') };
  const make = useMaking(typed);
  const save = useMutation({
    mutationFn: make,
    async onSuccess(made) {
      await client.invalidateQueries();
      toast(`The account ${made.account.name} was created.`);
      onMade(made);
    },
  });
  return (
    <ActionForm by={save} onCancel={onClose} action="Create account" disabled={name === '' && id === ''}>
      <Field name="name" label="Name" hint="People see this name.">
        <Input {...field('name')} />
      </Field>
      <Field name="id" label="Id" hint="It never changes. Leave it empty to generate one.">
        <Input spellCheck={false} value={id} onChange={({ target }) => change({ id: target.value.trim() })} />
      </Field>
      <Field name="plan" label="Plan">
        <PlanSelect
          value={plan}
          onValue={(next) => change({ plan: next })}
          unless="The default plan"
          also={may.plans ? { value: another, label: 'A new plan' } : undefined}
        />
      </Field>
      {plan === another && <FirstPlan />}
      {plan === another && (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field name="new plan" label="Name of the plan">
            <Input spellCheck={false} {...field('planName')} />
          </Field>
          <Field name="budget.month" label="USD in 30 days" hint="Its page has the other limits.">
            <Input inputMode="decimal" placeholder="No limit" {...field('usd')} />
          </Field>
        </div>
      )}
      <DataRuleFields name="data" value={typed.data} onValue={(data) => change({ data })} />
      {may.keys && (
        <Field
          name="first key"
          label="First key"
          hint="Where it is used, such as production. Leave it empty for no key."
        >
          <Input placeholder="None" {...field('keyName')} />
        </Field>
      )}
    </ActionForm>
  );
}

/** Makes one after the other. What is made stays made when a later one is refused, and is not made again. */
function useMaking({ name, id, plan, planName, usd, keyName, data }: typeof empty): () => Promise<MadeAccount> {
  const made = useRef<{ plan?: string; account?: AccountReply }>({});
  return async () => {
    if (plan === another && made.current.plan !== planName) {
      await makePlan(planName.trim(), usd);
      made.current.plan = planName;
    }
    const planOrNew = plan === another ? planName.trim() : plan;
    const rule = dataRuleTyped(data);
    const body = {
      ...(name !== '' && { name }),
      ...(id !== '' && { id }),
      ...(planOrNew !== '' && { plan: planOrNew }),
      ...(rule !== null && { data: rule }),
    };
    made.current.account ??= await call<AccountReply>('POST', accounts.path, { body });
    const { account } = made.current;
    if (keyName.trim() === '') return { account, key: null };
    return {
      account,
      key: await named(
        'first key',
        call('POST', '/admin/v1/keys', { body: { account: account.id, name: keyName.trim() } }),
      ),
    };
  };
}

async function makePlan(name: string, usd: string): Promise<void> {
  if (name === '') throw new FieldProblem('new plan', 'A plan has a name.');
  // PUT would replace it.
  if ((await named('new plan', planOrNone(name))) !== null)
    throw new FieldProblem('new plan', `The plan '${name}' already exists. Choose it above.`);
  const body = usd.trim() === '' ? {} : { budget: { month: numberOrText(usd) } };
  await named('new plan', call('PUT', plans.addressOf(name), { body }));
}

/** Has a refusal of a name appear at the field of what it names: the account has a name, too. */
function named<Reply>(field: string, made: Promise<Reply>): Promise<Reply> {
  return made.catch((error: unknown) => {
    throw error instanceof ApiError && error.param === 'name'
      ? new FieldProblem(field, error.message.replace(/^name: /, ''))
      : error;
  });
}
