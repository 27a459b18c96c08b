import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { ResultsReply } from '../../../../src/admin/usage/results.ts';
import { models } from '../../api/entries.ts';
import { call, get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Ago, Count, Money, None, Span } from '../../parts/figures.tsx';
import { percent, short } from '../../parts/format.ts';
import { saveAnswer } from '../../parts/forms/save.ts';
import { useRange } from '../../parts/ranges/use-range.ts';
import { Read } from '../../parts/read.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';

type Row = ResultsReply['variants'][number];
type Metric = Row['metrics'][number];

/** Results of the variants of a model; nothing for a model without variants. */
export function Results({ model }: { model: string }) {
  const may = useMay('usage', 'read');
  // The attempts above have the picker.
  const { query: span } = useRange();
  const path = `${models.addressOf(model)}/results`;
  const query = useQuery({
    queryKey: [path, span],
    queryFn: ({ signal }) => get<ResultsReply>(path, { ...span }, signal),
    enabled: may,
    refetchInterval: 30_000,
  });
  const { data } = query;
  const has = data?.variants.some(({ variant }) => variant !== null) === true;
  if (!has && query.error === null) return null;
  return (
    <section className="flex min-w-0 flex-col gap-2">
      <header className="flex flex-wrap items-center gap-2">
        <h2 className="min-w-24 flex-1 font-medium text-sm">Variants</h2>
        <Button
          icon={<Download className="size-4" />}
          onClick={() => void saveAnswer(`${path}.csv`, { ...span }, `variants-of-${model}.csv`)}
        >
          CSV
        </Button>
      </header>
      <Read query={query}>
        {({ variants }) => (
          <>
            {variants.map((row) => (
              <TakenOut key={row.variant} model={model} row={row} />
            ))}
            <Table
              label="Results by variant"
              columns={[...columns, ...metricColumns(variants)]}
              rows={variants}
              keyOf={({ variant }) => variant ?? ''}
              empty={null}
            />
          </>
        )}
      </Read>
    </section>
  );
}

/** Why a variant takes no part now, and the way back. */
function TakenOut({ model, row: { variant, out } }: { model: string; row: Row }) {
  const client = useQueryClient();
  const may = useMay('models', 'write');
  const restore = useMutation({
    mutationFn: () => call('POST', `${models.addressOf(model)}/variants/${encodeURIComponent(variant ?? '')}/restore`),
    onSuccess: () => client.invalidateQueries({ queryKey: [`${models.addressOf(model)}/results`] }),
  });
  if (out === null) return null;
  return (
    <Note tone="warn">
      <span className="font-medium">{variant}</span> has been out since <Ago at={out.since} />: {out.reason}
      {may && (
        <Button size="row" className="ml-2" busy={restore.isPending} onClick={() => restore.mutate()}>
          Restore it
        </Button>
      )}
      {restore.error !== null && <p className="mt-1 text-bad">{restore.error.message}</p>}
    </Note>
  );
}

const columns: readonly Column<Row>[] = [
  {
    head: 'Variant',
    value: ({ variant }) => variant ?? 'none',
    cell: ({ variant, weight }) => (
      <div className="min-w-0 max-w-[40cqw] @xl:max-w-48">
        <div className="truncate font-medium">{variant ?? 'none'}</div>
        <div className="truncate text-muted text-xs">
          {variant === null ? 'before the variants' : weight === null ? 'no longer set' : `share ${weight}`}
        </div>
      </div>
    ),
  },
  { head: 'Requests', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
  {
    head: 'Errors',
    value: ({ error_rate }) => error_rate,
    align: 'right',
    cell: ({ error_rate, error_rate_interval }) =>
      error_rate === null ? (
        <None />
      ) : (
        <Ranged value={percent(error_rate)} interval={error_rate_interval} by={percent} />
      ),
  },
  {
    head: 'First token',
    value: ({ first_token_ms: ms }) => ms?.p50 ?? null,
    from: 'sm',
    align: 'right',
    cell: ({ first_token_ms: ms }) =>
      ms === null ? (
        <None />
      ) : (
        <>
          <Span ms={ms.p50} />
          <div className="text-muted text-xs">
            p95 <Span ms={ms.p95} />
          </div>
        </>
      ),
  },
  { head: 'USD per request', from: 'md', align: 'right', cell: (row) => <Money value={row.cost_usd_per_request} /> },
  { head: 'USD', from: 'md', align: 'right', cell: (row) => <Money value={row.cost_usd} /> },
];

/** A column for each metric of feedback. */
function metricColumns(rows: readonly Row[]): Column<Row>[] {
  const names = [...new Set(rows.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)))];
  return names.map((name) => ({
    head: name,
    value: ({ metrics }) => metrics.find(({ metric }) => metric === name)?.mean ?? null,
    from: 'lg',
    align: 'right',
    cell({ metrics }) {
      const found = metrics.find(({ metric }) => metric === name);
      if (found === undefined) return <None />;
      const by = writtenAs(found);
      return <Ranged value={`${by(found.mean)} of ${short(found.n)}`} interval={found.interval} by={by} />;
    },
  }));
}

function writtenAs({ kind }: Metric): (value: number) => string {
  return kind === 'boolean' ? percent : short;
}

/** A figure, and the range that holds it with 95 % confidence. */
function Ranged({ value, interval, by }: { value: string; interval: number[] | null; by: (value: number) => string }) {
  const [low, high] = interval ?? [];
  return (
    <>
      {value}
      {low !== undefined && high !== undefined && (
        <div className="text-muted text-xs" title="95 % confidence">
          {by(low)} – {by(high)}
        </div>
      )}
    </>
  );
}
