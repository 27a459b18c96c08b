import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Users } from 'lucide-react';
import { useState } from 'react';
import type { AccountReply } from '../../../../src/admin/entries/accounts.ts';
import type { UsageReply } from '../../../../src/admin/usage/usage.ts';
import { accounts } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { SearchInput } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Count } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { FilterInput, FilterSelect } from '../../parts/forms/suggest-input.tsx';
import { Page } from '../../parts/page.tsx';
import { Spend } from '../../parts/spend.tsx';
import { Status } from '../../parts/status.tsx';
import { SourceBadge } from '../../parts/stored/stored-entry.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { Secret } from '../keys/secret.tsx';
import { type MadeAccount, NewAccount } from './new-account.tsx';

/** Spend is read from the ledger for this many accounts, those that spent most. */
const spendersMax = 1_000;
/** A list of one page sorts, by spend for example. */
const rowsMax = 500;
const nothing = { requests: 0, cost_usd: 0, unpriced_requests: 0 };

export default function AccountsPage() {
  const [filters, setFilters] = useFilters<'text' | 'plan' | 'status'>();
  const { text, plan, status } = filters;
  const pages = usePages<AccountReply>(accounts.path, { text, plan, status }, { limit: rowsMax, inUrl: true });
  const navigate = useNavigate();
  const [made, setMade] = useState<MadeAccount | null>(null);
  const open = ({ account: { id } }: MadeAccount) =>
    void navigate({ to: `/dashboard/accounts/${encodeURIComponent(id)}`, ignoreBlocker: true });
  const { add, dialog } = useAdding({
    area: 'accounts',
    ofAllAccounts: true,
    label: 'New account',
    title: 'New account',
    description: 'An account pays for requests: a team, a customer or you.',
    form: (done) => (
      <NewAccount
        onClose={done}
        onMade={(all) => {
          done();
          if (all.key === null) open(all);
          else setMade(all);
        }}
      />
    ),
  });
  const { data: spent } = useQuery({
    queryKey: ['/admin/v1/usage', 'by account, 30 days'],
    queryFn: async ({ signal }) => {
      const query = { group_by: 'account', order_by: 'cost_usd', from: '30d', limit: spendersMax };
      const { data, next_cursor } = await get<UsageReply>('/admin/v1/usage', query, signal);
      return { rows: new Map(data.map((row) => [row.group, row])), others: next_cursor === null ? nothing : null };
    },
  });
  const spentBy = (id: string) => (spent === undefined ? null : (spent.rows.get(id) ?? spent.others));
  const columns: Column<AccountReply>[] = [
    {
      head: 'Account',
      value: ({ id, name }) => (name === id ? id : `${name} (${id})`),
      cell: ({ id, name }) => (
        <span className="[overflow-wrap:anywhere]">
          <span className="font-medium">{name}</span>
          {name !== id && <span className="ml-2 text-muted text-xs">{id}</span>}
        </span>
      ),
    },
    { head: 'Plan', from: 'sm', cell: ({ plan }) => plan },
    {
      head: 'Status',
      cell: ({ status }) => <Status tone={status === 'active' ? 'ok' : 'bad'}>{status}</Status>,
    },
    {
      head: 'Requests, 30 d',
      align: 'right',
      from: 'md',
      value: ({ id }) => spentBy(id)?.requests ?? null,
      cell: ({ id }) => <Count value={spentBy(id)?.requests ?? null} />,
    },
    {
      head: 'Spent, 30 d',
      value: ({ id }) => spentBy(id)?.cost_usd ?? null,
      align: 'right',
      cell: ({ id }) => <Spend sum={spentBy(id)} />,
    },
    {
      head: 'Source',
      from: 'lg',
      cell: ({ from }) => <SourceBadge source={from === 'configuration' ? 'file' : 'kept'} />,
    },
  ];
  return (
    <Page
      title="Accounts"
      actions={add}
      bar={
        <>
          <SearchInput
            className="w-full sm:w-64"
            label="Find by name or id"
            value={text ?? ''}
            onValue={(value) => setFilters({ text: value })}
          />
          <FilterInput
            label="Plan"
            value={plan}
            onValue={(value) => setFilters({ plan: value })}
            from="/admin/v1/plans"
            field="name"
          />
          <FilterSelect
            label="Status"
            value={status}
            onValue={(value) => setFilters({ status: value })}
            options={['active', 'suspended']}
          />
        </>
      }
    >
      <PagedTable
        label="Accounts"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        to={({ id }) => `/dashboard/accounts/${encodeURIComponent(id)}`}
        empty={
          <Empty
            icon={<Users />}
            title={text || plan || status ? 'No account matches these filters.' : 'There are no accounts yet.'}
          >
            An account pays for what its keys use, within the limits of its plan.
          </Empty>
        }
      />
      {dialog}
      {made?.key != null && (
        <Dialog open onClose={null} title={`Key ${made.key.name} of ${made.account.name}`}>
          <Secret secret={made.key.key} onDone={() => open(made)} />
        </Dialog>
      )}
    </Page>
  );
}
