import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { AccountCredit } from '../../../../src/admin/entries/account-credit.ts';
import { accounts, type DetailedAccount } from '../../api/entries.ts';
import { call, get, url } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Input } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Moment } from '../../parts/figures.tsx';
import { usd } from '../../parts/format.ts';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { numberOrText } from '../../parts/forms/typed.ts';
import { newId } from '../../parts/new-id.ts';
import { Section } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';

/** Credit of an account: what it has paid before, and what is left of it. */
export function Credit({ account }: { account: DetailedAccount }) {
  const [open, setOpen] = useState(false);
  const may = useMay('accounts', 'write') && account.from !== 'configuration';
  const path = `${accounts.addressOf(account.id)}/credit`;
  const { data, error } = useQuery({
    queryKey: [accounts.path, path],
    queryFn: ({ signal }) => get<AccountCredit>(path, {}, signal),
  });
  const has = data !== undefined && data.granted_usd !== null;
  if (!has && !may && error === null) return null;
  const add = may && (
    <Button icon={<Plus className="size-4" aria-hidden />} onClick={() => setOpen(true)}>
      Add credit
    </Button>
  );
  return (
    <Section title="Credit" actions={add}>
      <div className="flex flex-col gap-3 text-sm">
        {error !== null && <ErrorNote error={error} />}
        {data !== undefined && !has && (
          <p className="text-muted">
            None. After the first top-up, credit pays for requests, within the limits of the plan.
          </p>
        )}
        {has && (
          <p>
            {data.remaining_usd !== null && <b className="font-medium">{usd(data.remaining_usd)} left</b>}{' '}
            <span className="text-muted">of {usd(data.granted_usd ?? 0)} that were added</span>
          </p>
        )}
        {data !== undefined && data.data.length > 0 && (
          <>
            <ul className="flex flex-col gap-1">
              {data.data.slice(0, shownMax).map((one) => (
                <li key={one.id} className="flex flex-wrap gap-x-3">
                  <span className="w-24 text-right tabular-nums">{usd(one.usd)}</span>
                  <Moment at={one.at} />
                  <span className="text-muted [overflow-wrap:anywhere]">
                    {one.id}, by {one.by}
                    {one.note !== '' && `: ${one.note}`}
                  </span>
                </li>
              ))}
            </ul>
            <a href={url(`/admin/v1${path}.csv`)} download className="underline underline-offset-2">
              All top-ups as CSV
            </a>
          </>
        )}
      </div>
      <Dialog open={open} onClose={() => setOpen(false)} title={`Add credit to ${account.name}`}>
        <TopUp path={path} onClose={() => setOpen(false)} />
      </Dialog>
    </Section>
  );
}

const shownMax = 10;

function TopUp({ path, onClose }: { path: string; onClose: () => void }) {
  const [amount, setAmount] = useState('');
  const [note, setNote] = useState('');
  // Of this form: pressed twice it adds once.
  const [id] = useState(() => `web-${newId()}`);
  const client = useQueryClient();
  const add = useMutation({
    mutationFn: () => call('POST', path, { body: { usd: numberOrText(amount), note, id } }),
    async onSuccess() {
      await client.invalidateQueries();
      toast('Added. It applies from the next request on.');
      onClose();
    },
  });
  return (
    <ActionForm by={add} onCancel={onClose} action="Add">
      <Field name="usd" label="USD" hint="A negative amount takes credit away.">
        <Input inputMode="decimal" value={amount} onChange={({ target }) => setAmount(target.value)} />
      </Field>
      <Field name="note" label="Note" hint="For example who paid. The list and the audit log show it.">
        <Input value={note} onChange={({ target }) => setNote(target.value)} />
      </Field>
    </ActionForm>
  );
}
