import { Workflow } from 'lucide-react';
import type { AgentSessions } from '../../../../src/admin/agent-sessions.ts';
import { usePages } from '../../api/pages.ts';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count, None } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { span } from '../../parts/format.ts';
import { AccountFilter } from '../../parts/forms/suggest-input.tsx';
import { Page } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import { Spend } from '../../parts/spend.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';

type Row = AgentSessions['data'][number];

/** Conversations and agent runs, the one with the last request first. */
export default function SessionsPage() {
  const [{ account, key }, setFilters] = useFilters<'account' | 'key'>();
  const range = useRange('24h');
  const pages = usePages<Row>('/admin/v1/agent-sessions', { account, key, ...range.query }, { inUrl: true });
  return (
    <Page
      title="Sessions"
      actions={<RangePicker range={range} />}
      bar={<AccountFilter value={account} onValue={(value) => setFilters({ account: value })} />}
    >
      <PagedTable
        label="Sessions"
        pages={pages}
        columns={columns}
        keyOf={(row) => JSON.stringify([row.account, row.session])}
        to={(row) => `/dashboard/session?${new URLSearchParams({ session: row.session, account: row.account })}`}
        empty={
          <Empty icon={<Workflow />} title="There are no sessions in this time.">
            Culvert groups requests by the header x-culvert-session, by the headers of coding assistants, by
            prompt_cache_key, by previous_response_id, or by their trace.
          </Empty>
        }
      />
    </Page>
  );
}

const columns: readonly Column<Row>[] = [
  {
    head: 'Session',
    value: ({ session }) => session,
    cell: (row) => <NameCell name={row.session}>{row.account}</NameCell>,
  },
  { head: 'Last request', from: 'sm', cell: ({ last_at }) => <Ago at={last_at} /> },
  {
    head: 'Lasted',
    from: 'lg',
    align: 'right',
    cell: ({ first_at, last_at }) => span(Date.parse(last_at) - Date.parse(first_at)),
  },
  { head: 'Models', from: 'xl', cell: ({ models }) => models.join(', ') },
  { head: 'Requests', from: 'sm', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
  {
    head: 'Failed',
    from: 'md',
    align: 'right',
    cell: ({ errors }) => (errors === 0 ? <None /> : <Count value={errors} />),
  },
  { head: 'Input tokens', from: 'lg', align: 'right', cell: (row) => <Count value={row.input_tokens} /> },
  { head: 'Output tokens', from: 'lg', align: 'right', cell: (row) => <Count value={row.output_tokens} /> },
  { head: 'Cost', align: 'right', cell: (row) => <Spend sum={row} at="models" /> },
];
