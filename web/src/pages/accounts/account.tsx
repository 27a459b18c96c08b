import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { Pause, Pencil, Play } from 'lucide-react';
import { Suspense, useState } from 'react';
import type { AccountWindows } from '../../../../src/admin/entries/account-windows.ts';
import { accounts, type DetailedAccount } from '../../api/entries.ts';
import { call, get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Id } from '../../parts/code.tsx';
import { dataRuleInWords } from '../../parts/data-rule.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Moment } from '../../parts/figures.tsx';
import { plural, usd } from '../../parts/format.ts';
import { unlessChanged } from '../../parts/forms/changed-meanwhile.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { EntryPage, Section } from '../../parts/page.tsx';
import type { ReadState } from '../../parts/read.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { Status } from '../../parts/status.tsx';
import { WindowGauges } from '../../parts/window-gauges.tsx';
import { KeepBodies } from '../bodies/keep-bodies.tsx';
import { KeysTable } from '../keys/keys-table.tsx';
import { Members } from '../members/members.tsx';
import { Budgets } from './budgets.tsx';
import { Credit } from './credit.tsx';
import { EditAccount } from './edit-account.tsx';

const Spend = lazyPart(() => import('../usage/spend-by-day.tsx'));

/** While the page is visible, a window is read so often. */
const windowsEveryMs = 10_000;

/** One account: its windows, its keys, its spend. */
export default function AccountPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useQuery(accounts.query(id));
  const windows = useWindows(accounts.addressOf(id));
  // Nobody knows how high the limits are, and what is below would move.
  const waits = windows.isPending && query.error === null;
  return (
    <EntryPage
      title={query.data?.name ?? id}
      list={{ to: '/dashboard/accounts', label: 'Accounts' }}
      query={waits ? { ...query, data: undefined } : query}
      changes={{ action: 'account', subject: id }}
      actions={(account) => <Actions account={account} />}
    >
      {(account) => (
        <>
          <Facts account={account} />
          <Windows query={windows} />
          <Budgets account={account} />
          <Credit account={account} />
          <KeysTable account={account.id} />
          <Members account={account.id} />
          <KeepBodies of="account" name={account.id} />
          <Suspense fallback={<Skeleton className="h-48" />}>
            <Spend query={{ account: account.id }} />
          </Suspense>
        </>
      )}
    </EntryPage>
  );
}

function Facts({ account }: { account: DetailedAccount }) {
  const { id, plan, status, from, open_requests, extra_budget: extra } = account;
  const rule = dataRuleInWords(account.data);
  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-1 text-sm">
      <Status tone={status === 'active' ? 'ok' : 'bad'}>{status}</Status>
      <span>
        <span className="text-muted">Plan</span>{' '}
        <Link to={`/dashboard/plans/${encodeURIComponent(plan)}`} className="underline underline-offset-2">
          {plan}
        </Link>
      </span>
      <span className="inline-flex min-w-0 items-center gap-1">
        <span className="text-muted">Id</span> <Id text={id} />
      </span>
      {extra !== null && Date.parse(extra.until) > Date.now() && (
        <span>
          {amountsOf(extra).join(', ')} more until <Moment at={extra.until} />
        </span>
      )}
      {rule !== null && (
        <span>
          <span className="text-muted">Data</span> {rule}
        </span>
      )}
      {open_requests > 0 && <span>{open_requests} running</span>}
      <Link to="/dashboard/requests" search={{ account: id } as never} className="underline underline-offset-2">
        Requests of this account
      </Link>
      {from === 'configuration' && (
        <span className="text-muted">It is set in the configuration file. Change it there.</span>
      )}
    </div>
  );
}

function amountsOf({ usd: money, tokens, requests }: NonNullable<DetailedAccount['extra_budget']>): string[] {
  return [
    ...(money === undefined ? [] : [usd(money)]),
    ...(tokens === undefined ? [] : [plural(tokens, 'token')]),
    ...(requests === undefined ? [] : [plural(requests, 'request')]),
  ];
}

function Actions({ account }: { account: DetailedAccount }) {
  const [open, setOpen] = useState<'edit' | 'status' | null>(null);
  const client = useQueryClient();
  const may = useMay('accounts', 'write');
  if (!may || account.from === 'configuration') return null;
  const active = account.status === 'active';
  const change = async () => {
    const body = { status: active ? 'suspended' : 'active', version: account.version };
    await unlessChanged(
      () => call('PATCH', accounts.addressOf(account.id), { body }),
      () => accounts.refresh(client),
    );
    await client.invalidateQueries();
  };
  return (
    <>
      <Button icon={<Pencil className="size-4" aria-hidden />} onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button
        look={active ? 'danger' : 'plain'}
        icon={active ? <Pause className="size-4" aria-hidden /> : <Play className="size-4" aria-hidden />}
        onClick={() => setOpen('status')}
      >
        {active ? 'Suspend' : 'Activate'}
      </Button>
      <EditAccount account={account} open={open === 'edit'} onClose={() => setOpen(null)} />
      <Confirm
        open={open === 'status'}
        onClose={() => setOpen(null)}
        title={active ? `Suspend ${account.name}?` : `Activate ${account.name}?`}
        action={active ? 'Suspend account' : 'Activate account'}
        onConfirm={change}
      >
        {active
          ? 'Within a second, every call with one of its keys gets a 403, until you activate the account again. Running requests finish.'
          : 'Its keys work again within a second.'}
      </Confirm>
    </>
  );
}

function useWindows(path: string) {
  return useQuery({
    queryKey: [accounts.path, path, 'windows'],
    queryFn: ({ signal }) => get<AccountWindows>(`${path}/windows`, {}, signal),
    refetchInterval: windowsEveryMs,
  });
}

function Windows({ query: { data, error, refetch } }: { query: ReadState<AccountWindows> }) {
  return (
    <Section title="Limits">
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <p className="text-muted text-sm">The limits of its plan count per key, and the account has no key.</p>
      )}
      <div className="flex flex-col gap-6">
        {data?.data.map(({ key, name, windows }) => (
          <div key={key} className="flex flex-col gap-3">
            {name !== null && <h3 className="font-medium text-sm">Key {name}</h3>}
            <WindowGauges windows={windows.map(({ frees_at: freesAt, ...view }) => ({ ...view, freesAt }))} />
          </div>
        ))}
      </div>
    </Section>
  );
}
