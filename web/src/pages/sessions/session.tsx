import { Navigate } from '@tanstack/react-router';
import { usePages } from '../../api/pages.ts';
import { Empty } from '../../parts/empty.tsx';
import { Count, Moment, Money, Span } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { span } from '../../parts/format.ts';
import { Back, Fact, Facts, Page, Section } from '../../parts/page.tsx';
import { Spend } from '../../parts/spend.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import { Cost, isUnpriced } from '../requests/cost.tsx';
import { Outcome } from '../requests/outcome.tsx';
import type { RequestRow } from '../requests/use-requests.ts';

/** Most requests that the timeline draws, the newest. */
const requestsMax = 500;

/** A request, and what its session had cost by its end. */
interface Turn extends RequestRow {
  startMs: number;
  usdSoFar: number;
}

/** One conversation or agent run: its requests in their order, over time. */
export default function SessionPage() {
  const [{ session = '', account }] = useFilters<'session' | 'account'>();
  const query = { session, account, class: 'any' };
  const { rows, error, refetch, next } = usePages<RequestRow>('/admin/v1/requests', query, { limit: requestsMax });
  const turns = turnsOf(rows ?? []);
  if (session === '') return <Navigate to={'/dashboard/sessions' as never} replace />;
  const sum = (of: (turn: Turn) => number) => turns.reduce((total, turn) => total + of(turn), 0);
  const accounts = account ? [account] : [...new Set(turns.map((turn) => turn.account))];
  const fromMs = turns[0]?.startMs ?? 0;
  const lastedMs = Math.max(1, ...turns.map(({ startMs, ms }) => startMs + ms - fromMs));
  return (
    <Page title={session} before={<Back to="/dashboard/sessions" label="Sessions" />}>
      {turns.length > 0 && (
        <Section>
          <Facts>
            <Fact name={accounts.length === 1 ? 'Account' : 'Accounts'}>{accounts.join(', ')}</Fact>
            <Fact name="Requests">
              <Count value={turns.length} />
              {next !== null && ' of more: the newest'}
            </Fact>
            <Fact name="Lasted">{span(lastedMs)}</Fact>
            <Fact name="Input tokens">
              <Count value={sum(({ usage }) => usage.input_tokens)} />
            </Fact>
            <Fact name="Output tokens">
              <Count value={sum(({ usage }) => usage.output_tokens)} />
            </Fact>
            <Fact name="Cost">
              <Spend
                sum={{
                  cost_usd: turns.at(-1)?.usdSoFar ?? 0,
                  unpriced_requests: turns.filter(isUnpriced).length,
                }}
                at="models"
              />
            </Fact>
          </Facts>
        </Section>
      )}
      <Table
        label="Requests of the session"
        columns={columnsOf(fromMs, lastedMs)}
        rows={rows === undefined ? undefined : turns}
        error={error}
        retry={refetch}
        keyOf={({ id }) => id}
        to={({ id }) => `/dashboard/requests/${id}`}
        empty={
          <Empty title="There are no requests of this session.">
            They may be older than storage.retention, or belong to another account.
          </Empty>
        }
      />
    </Page>
  );
}

function turnsOf(rows: readonly RequestRow[]): Turn[] {
  let usdSoFar = 0;
  return rows.toReversed().map((row) => {
    // Nano-dollars, as the ledger counts them.
    usdSoFar = Math.round((usdSoFar + (row.cost_usd ?? 0)) * 1e9) / 1e9;
    return { ...row, startMs: Date.parse(row.created_at), usdSoFar };
  });
}

function columnsOf(fromMs: number, lastedMs: number): readonly Column<Turn>[] {
  return [
    { head: 'Time', cell: ({ created_at }) => <Moment at={created_at} />, className: 'w-px' },
    { head: 'Status', cell: (row) => <Outcome status={row.status} failure={row.class} />, className: 'w-px' },
    { head: 'Model', value: ({ model }) => model, cell: ({ model }) => <span className="font-medium">{model}</span> },
    {
      head: 'Timeline',
      from: 'md',
      value: ({ ms }) => ms,
      cell: ({ startMs, ms }) => (
        <div className="h-2 w-40 rounded bg-line @4xl:w-72">
          <div
            className="h-2 min-w-0.5 rounded bg-accent"
            style={{
              marginLeft: `${(100 * (startMs - fromMs)) / lastedMs}%`,
              width: `${(100 * ms) / lastedMs}%`,
            }}
          />
        </div>
      ),
    },
    { head: 'Duration', from: 'sm', align: 'right', cell: ({ ms }) => <Span ms={ms} /> },
    { head: 'Input', from: 'lg', align: 'right', cell: ({ usage }) => <Count value={usage.input_tokens} /> },
    { head: 'Output', from: 'lg', align: 'right', cell: ({ usage }) => <Count value={usage.output_tokens} /> },
    { head: 'Cost', align: 'right', value: ({ cost_usd }) => cost_usd, cell: (row) => <Cost request={row} /> },
    { head: 'So far', from: 'xl', align: 'right', cell: ({ usdSoFar }) => <Money value={usdSoFar} /> },
  ];
}
