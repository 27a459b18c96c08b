import { Link } from '@tanstack/react-router';
import { Pause, Play } from 'lucide-react';
import { Suspense, useState } from 'react';
import { type Pages, pageSize, usePages } from '../../api/pages.ts';
import { useMay } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Count, Moment, None, Span } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page } from '../../parts/page.tsx';
import { anyTime } from '../../parts/ranges/range.ts';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import { Pending } from '../../parts/skeleton.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { Cost } from './cost.tsx';
import { Export } from './export.tsx';
import { FilterBar, type FilterName, filterNames } from './filter-bar.tsx';
import { failureText, Outcome } from './outcome.tsx';
import { type RequestRow, useTail } from './use-requests.ts';

const columns: readonly Column<RequestRow>[] = [
  { head: 'Time', cell: ({ created_at }) => <Moment at={created_at} />, className: 'w-px' },
  {
    head: 'Status',
    from: 'sm',
    value: ({ status }) => status,
    cell: (row) => <Outcome status={row.status} failure={row.class} />,
    className: 'w-px',
  },
  {
    head: 'Model',
    value: ({ model }) => model,
    cell: ({ model, target, status, class: failure, account, endpoint }) => (
      <div className="min-w-0 max-w-[min(42cqw,100cqw_-_16rem)] @xl:max-w-32 @4xl:max-w-56">
        <div className="truncate font-medium">{model}</div>
        {model === '' && <div className="truncate text-muted @xl:hidden">{outcomeText(failure, endpoint)}</div>}
        <div className="flex items-center gap-1.5 truncate text-muted text-xs @xl:hidden">
          <Outcome status={status} failure={failure} /> {account}
        </div>
        <div className="hidden truncate text-muted text-xs @xl:block">{target ?? outcomeText(failure, endpoint)}</div>
      </div>
    ),
  },
  {
    head: 'Account',
    value: ({ account }) => account,
    from: 'sm',
    cell: ({ account, tenant, user }) => (
      <div className="min-w-0 max-w-28 @4xl:max-w-36">
        <div className="truncate">{tenant.startsWith(`${account}/`) ? tenant : account}</div>
        {user !== null && <div className="truncate text-muted text-xs">{user}</div>}
      </div>
    ),
  },
  {
    head: 'Endpoint',
    value: ({ endpoint }) => endpoint,
    from: '2xl',
    cell: ({ endpoint, stream }) => (
      <>
        {endpoint}
        {stream && <span className="text-faint"> stream</span>}
      </>
    ),
  },
  { head: 'Tag', from: '2xl', cell: ({ tag }) => tag ?? <None /> },
  { head: 'Attempts', from: '2xl', align: 'right', cell: ({ route }) => <Count value={route.attempts.length} /> },
  { head: 'Input', from: 'lg', align: 'right', cell: ({ usage }) => <Count value={usage.input_tokens} /> },
  { head: 'Output', from: 'lg', align: 'right', cell: ({ usage }) => <Count value={usage.output_tokens} /> },
  { head: 'First token', from: 'xl', align: 'right', cell: ({ first_token_ms }) => <Span ms={first_token_ms} /> },
  { head: 'Duration', from: 'md', align: 'right', cell: ({ ms }) => <Span ms={ms} /> },
  { head: 'Cost', align: 'right', value: ({ cost_usd }) => cost_usd, cell: (row) => <Cost request={row} /> },
];

/** Why a request failed. One that needs no model is known by its endpoint. */
function outcomeText(failure: string, endpoint: string): string {
  return failure === 'ok' ? endpoint : failureText(failure);
}

/** Every request, the newest first, as they end. */
export default function RequestsPage() {
  const [filters, setFilters] = useFilters<FilterName>();
  const [paused, setPaused] = useState(false);
  const mayUsage = useMay('usage', 'read');
  const range = useRange(anyTime, 'any');
  const { from, to } = range.query;
  const query = { ...queryOf(filters), since: from, until: to };
  const listed = usePages<RequestRow>('/admin/v1/requests', query, { inUrl: true });
  const isNewest = listed.page === 1 && to === undefined;
  const tail = useTail(query, isNewest ? (paused ? 'paused' : 'live') : 'off');
  const rows = tail.data?.data;
  const hasGrown = rows !== undefined && rows.length >= pageSize && rows[0]?.id !== listed.rows?.[0]?.id;
  const pages: Pages<RequestRow> = isNewest
    ? {
        ...listed,
        rows,
        error: tail.error,
        waiting: tail.isPlaceholderData,
        refetch: () => void tail.refetch(),
        next: hasGrown ? listed.nextAnew : listed.next,
      }
    : listed;
  // Sums of usage know neither an id, nor an outcome, nor what a request cost.
  const isSummed = mayUsage && unsummed.every((name) => filters[name] === undefined);
  const waiting = <Pending className="h-[136px]" />;
  const some = range.text !== anyTime || filterNames.some((name) => filters[name] !== undefined);
  return (
    <Page
      title="Requests"
      actions={
        <>
          <Button
            icon={paused ? <Play className="size-4" /> : <Pause className="size-4" />}
            onClick={() => setPaused(!paused)}
            aria-pressed={!paused}
            title={paused ? 'Show requests as they end' : 'Pause the list'}
          >
            {paused ? 'Go live' : 'Live'}
          </Button>
          <RangePicker range={range} any />
          <Link to={'/dashboard/sessions' as never} className={buttonClass()}>
            Sessions
          </Link>
          <Link to={'/dashboard/bodies' as never} className={buttonClass()}>
            Kept requests
          </Link>
          <Export filters={{ ...queryOf(filters), from: from ?? '1970-01-01', to }} />
        </>
      }
      bar={<FilterBar values={filters} onValues={setFilters} />}
    >
      {isSummed && pages.rows?.length !== 0 && (pages.rows !== undefined || pages.error === null) && (
        <Suspense fallback={waiting}>
          {pages.rows === undefined ? waiting : <Volume query={sumsOf(filters)} range={range} />}
        </Suspense>
      )}
      <PagedTable
        label="Requests"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        to={({ id }) => `/dashboard/requests/${id}`}
        empty={
          <Empty title={some ? 'No request matches these filters.' : 'There are no requests yet.'}>
            {some ? 'Remove a filter or choose a longer time.' : 'A request appears here once it has ended.'}
          </Empty>
        }
      />
    </Page>
  );
}

const Volume = lazyPart(() => import('./volume.tsx'));

/** Filters that sums of usage do not have. */
const unsummed = ['text', 'status', 'class', 'mcp_server', 'cost_min'] as const;

/** Sums know an agent by what its messages have in the place of the model. */
function sumsOf({ account, key, model, agent, provider, endpoint, user, tag }: Partial<Record<FilterName, string>>) {
  return { account, key, model: agent === undefined ? model : `a2a/${agent}`, provider, endpoint, user, tag };
}

/** Any outcome means that of refused requests, too. */
function queryOf(filters: Partial<Record<FilterName, string>>): Partial<Record<FilterName, string>> {
  const query = Object.fromEntries(filterNames.map((name) => [name, filters[name]]));
  return filters.status === undefined && filters.class === undefined ? { ...query, class: 'any' } : query;
}
