import { Link } from '@tanstack/react-router';
import { Suspense } from 'react';
import { useMayAllAccounts } from '../../api/rights.ts';
import { Segments } from '../../parts/controls.tsx';
import { Count, None, Span } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { count, percent } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { type Ranged, useRange } from '../../parts/ranges/use-range.ts';
import { Pending } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import { failureText } from '../requests/outcome.tsx';
import { type AttemptRow, useAttempts } from './use-attempts.ts';

const AttemptCharts = lazyPart(() => import('./charts.tsx'));

const groupWords = {
  provider: 'Provider',
  target: 'Target',
  credential: 'Credential',
  model: 'Model',
  class: 'Outcome',
};
export type AttemptGroup = keyof typeof groupWords;

interface AttemptsProps {
  /** Provider or model that the page is about. */
  where?: { provider?: string | undefined; model?: string | undefined };
  /** Groupings that the page offers, the first one first. */
  groups: readonly AttemptGroup[];
  /** The range of the page, if the page itself offers the choice. */
  range?: Ranged;
}

/** Attempts by target: how often they failed and how long they took, over a range that the page's URL names. */
export function Attempts({ where = {}, groups, range: ofPage }: AttemptsProps) {
  const pageRange = useRange();
  const range = ofPage ?? pageRange;
  const [filters, setFilters] = useFilters<'by'>();
  const by = groups.find((group) => group === filters.by) ?? groups[0] ?? 'provider';
  // Sums by model do not know whose a request was.
  const may = useMayAllAccounts() || where.model === undefined;
  const { data, error, refetch } = useAttempts({ ...where, group_by: by, ...range.query, points: true }, may);
  if (!may) return null;
  return (
    <section aria-labelledby="attempts" className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-2">
        <h2 id="attempts" className="min-w-32 flex-1 font-semibold">
          Attempts
        </h2>
        {groups.length > 1 && (
          <Segments
            label="Attempts by"
            value={by}
            options={groups.map((value) => ({ value, label: groupWords[value] }))}
            onValue={(value) => setFilters({ by: value === groups[0] ? '' : value })}
          />
        )}
        {ofPage === undefined && <RangePicker range={range} />}
      </header>
      {error === null && data === undefined && chartsToCome}
      {error === null && data !== undefined && data.data.length > 0 && (
        <Suspense fallback={chartsToCome}>
          <AttemptCharts attempts={data} range={range} where={where} />
        </Suspense>
      )}
      <Table
        label={`Attempts by ${groupWords[by].toLowerCase()}`}
        first="-attempts"
        sortKey="sort"
        rows={error === null ? data?.data : undefined}
        error={error}
        retry={() => void refetch()}
        columns={columnsOf(by, range)}
        keyOf={({ group }) => group}
        empty={<p className="p-4 text-muted">There were no attempts in this range.</p>}
      />
      <p className="text-muted text-xs">
        Percentiles count answered attempts. They are estimated from bins, so the true values may be half or twice as
        much.
      </p>
    </section>
  );
}

/** Placeholder as high as the charts: the table below does not move when they are there. */
const chartsToCome = <Pending className="h-[532px] lg:h-[258px]" />;

/** Pages of single entries, by what rows are of. */
const pages: Partial<Record<AttemptGroup, string>> = { provider: 'providers', model: 'models' };

function columnsOf(by: AttemptGroup, range: Ranged): Column<AttemptRow>[] {
  const page = pages[by];
  const ms = (
    head: string,
    name: 'first_token' | 'total',
    share: 'p50' | 'p95' | 'p99',
    from: 'sm' | 'md' | 'lg' | '2xl',
  ) => {
    const of = (row: AttemptRow) => row[`${name}_${share}_ms`];
    return {
      head,
      from,
      align: 'right',
      cell: (row: AttemptRow) => <Span ms={of(row)} />,
      name: `${name}_${share}_ms`,
      value: of,
    } as const;
  };
  return [
    {
      head: groupWords[by],
      cell: ({ group }) => (
        <div className="min-w-0 max-w-[32cqw] truncate font-medium @xl:max-w-48" title={group}>
          {page === undefined ? (
            by === 'class' ? (
              failureText(group)
            ) : (
              group
            )
          ) : (
            <Link
              to={`/dashboard/${page}/${encodeURIComponent(group)}` as never}
              search={range.search as never}
              className="hover:underline"
            >
              {group}
            </Link>
          )}
        </div>
      ),
      name: 'group',
      value: ({ group }) => group,
    },
    {
      head: 'Attempts',
      align: 'right',
      cell: ({ attempts }) => <Count value={attempts} />,
      name: 'attempts',
      value: ({ attempts }) => attempts,
    },
    {
      head: 'Failed',
      align: 'right',
      cell: (row) => <Failed row={row} />,
      name: 'failed',
      value: ({ failed, attempts }) => failed / attempts,
    },
    {
      head: 'Retried',
      from: 'lg',
      align: 'right',
      cell: ({ retried }) => <Count value={retried} />,
      name: 'retried',
      value: ({ retried }) => retried,
    },
    {
      head: 'Hedges',
      from: '2xl',
      align: 'right',
      cell: ({ hedges }) => <Count value={hedges} />,
      name: 'hedges',
      value: ({ hedges }) => hedges,
    },
    ms('First token ≈', 'first_token', 'p50', 'md'),
    ms('p95', 'first_token', 'p95', 'sm'),
    ms('p99', 'first_token', 'p99', '2xl'),
    ms('Duration, p95 ≈', 'total', 'p95', 'lg'),
    {
      head: 'Tokens/s',
      from: 'lg',
      align: 'right',
      cell: ({ tokens_per_s }) => (tokens_per_s === null ? <None /> : count(tokens_per_s)),
      name: 'tokens_per_s',
      value: ({ tokens_per_s }) => tokens_per_s,
    },
  ];
}

function Failed({ row: { attempts, failed, failures } }: { row: AttemptRow }) {
  const classes = Object.entries(failures)
    .map(([outcome, times]) => `${failureText(outcome)} ${count(times)}`)
    .join(', ');
  if (failed === 0) return classes === '' ? <None /> : <span title={classes}>0 %</span>;
  return (
    <span title={classes} className={failed * 2 > attempts ? 'text-bad' : ''}>
      {percent(failed / attempts)}
    </span>
  );
}
