import { Workflow } from 'lucide-react';
import type { AgentSessions } from '../../../../src/admin/agent-sessions.ts';
import { pageSize, usePagesOf } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Empty } from '../../parts/empty.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Ago, Count, None } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { instant, span } from '../../parts/format.ts';
import { AccountFilter, KeyFilter } from '../../parts/forms/suggest-input.tsx';
import { Page } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { type Ranged, useRange } from '../../parts/ranges/use-range.ts';
import { Spend } from '../../parts/spend.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';

type Row = AgentSessions['data'][number];

const path = '/admin/v1/agent-sessions';
/** A session of many models would be a row of many lines. */
const fewModels = 3;
/** The clocks of browser and server may differ so much. */
const clockSkewMs = 5 * 60_000;

/** Conversations and agent runs, the one with the last request first. */
export default function SessionsPage() {
  const [{ account, key }, setFilters] = useFilters<'account' | 'key'>();
  const range = useRange('24h');
  const query = { account, key, ...range.query };
  const pages = usePagesOf(
    [path, query],
    async (cursor: string | undefined, signal) => {
      const reply = await get<AgentSessions>(path, { limit: pageSize, ...query, cursor }, signal);
      return { ...reply, missing: missingIn(reply, range) };
    },
    { inUrl: true },
  );
  return (
    <Page
      title="Sessions"
      actions={<RangePicker range={range} />}
      bar={
        <>
          <AccountFilter value={account} onValue={(value) => setFilters({ account: value })} />
          <KeyFilter value={key} onValue={(value) => setFilters({ key: value })} />
        </>
      }
    >
      {pages.missing !== undefined && <Note tone="warn">{pages.missing}</Note>}
      <PagedTable
        label="Sessions"
        pages={pages}
        columns={columns}
        keyOf={(row) => JSON.stringify([row.account, row.session])}
        to={(row) =>
          `/dashboard/sessions/timeline?${new URLSearchParams({ session: row.session, account: row.account })}`
        }
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

/** The API reads the newest requests alone where there are very many. */
function missingIn({ complete_from }: AgentSessions, { bounds }: Ranged): string | undefined {
  const fromMs = bounds()?.fromMs ?? 0;
  const completeMs = Date.parse(complete_from);
  if (completeMs <= fromMs + clockSkewMs) return undefined;
  return `There are very many requests: those before ${instant(completeMs)} are not counted. Choose a shorter range.`;
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
    cell: ({ ms }) => span(ms),
  },
  {
    head: 'Models',
    from: 'xl',
    value: ({ models }) => models.join(', '),
    cell: ({ models }) => (
      <span title={models.join(', ')}>
        {models.slice(0, fewModels).join(', ')}
        {models.length > fewModels && ` and ${models.length - fewModels} more`}
      </span>
    ),
  },
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
