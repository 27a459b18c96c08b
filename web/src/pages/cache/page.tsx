import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { DatabaseZap, Eraser } from 'lucide-react';
import { useState } from 'react';
import type { CacheReply } from '../../../../src/admin/cache.ts';
import { models } from '../../api/entries.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Begin } from '../../parts/begin.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count, Money, None } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { bytes, count, percent, plural } from '../../parts/format.ts';
import { FilterInput } from '../../parts/forms/suggest-input.tsx';
import { Page } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import { Read } from '../../parts/read.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import { Tiles } from '../../parts/tiles.tsx';
import { ClearForm } from './clear-form.tsx';

type ModelRow = CacheReply['models'][number];
type ScopeRow = CacheReply['data'][number];
type DayRow = CacheReply['prompt_cache'][number];

const path = '/admin/v1/cache';
/** Scopes that the page lists; the API pages through more. */
const scopesMax = 200;

const yaml = `models:
  smart:
    targets: [openai/gpt-5]
    cache: { ttl: 1h, scope: key }`;

/** Page of models' caches: what is in them, and what came of it. */
export default function CachePage() {
  const [{ model }, setFilters] = useFilters<'model'>();
  const range = useRange('30d');
  const [clearing, setClearing] = useState<string | null>(null);
  const mayClear = useMay('models', 'write');
  const filters = { model, ...range.query, group_by: 'scope', limit: scopesMax };
  const query = useQuery({
    queryKey: [path, filters],
    queryFn: ({ signal }) => get<CacheReply>(path, filters, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
  return (
    <Page
      title="Cache"
      actions={
        <>
          <RangePicker range={range} />
          {mayClear && (
            <Button look="danger" icon={<Eraser className="size-4" />} onClick={() => setClearing(model ?? '')}>
              Clear
            </Button>
          )}
        </>
      }
      bar={
        <FilterInput
          label="Model"
          from={models.path}
          field="id"
          value={model}
          onValue={(value) => setFilters({ model: value })}
        />
      }
    >
      <Read query={query}>
        {(cache) => (
          <>
            <Tiles of={totals(cache)} />
            <Table
              label="Cache by model"
              columns={mayClear ? [...columns, clearColumn(setClearing)] : columns}
              rows={cache.models}
              keyOf={(row) => row.model}
              empty={<NoneUsed model={model} />}
            />
            {cache.data.length > 0 && (
              <Table
                label="Cache by who shares the answers"
                columns={scopeColumns}
                rows={cache.data}
                keyOf={({ model: of, scope }) => `${of} ${scope}`}
                empty={null}
                footer={
                  cache.next_cursor !== null && (
                    <p className="border-line border-t px-4 py-2 text-muted text-xs">
                      These are the first {scopesMax}. Choose a model to see fewer.
                    </p>
                  )
                }
              />
            )}
            {cache.prompt_cache.length > 0 && (
              <Table
                label="Providers' prompt caches by day"
                columns={dayColumns}
                rows={cache.prompt_cache.toReversed()}
                keyOf={({ day }) => day}
                empty={null}
              />
            )}
          </>
        )}
      </Read>
      <Dialog
        open={clearing !== null}
        onClose={() => setClearing(null)}
        title="Clear the cache"
        description="Models then answer these requests again. What the cache has saved so far stays in the figures."
      >
        <ClearForm model={clearing ?? ''} onDone={() => setClearing(null)} />
      </Dialog>
    </Page>
  );
}

function NoneUsed({ model }: { model: string | undefined }) {
  if (model !== undefined) {
    return (
      <Empty icon={<DatabaseZap />} title={`The model ${model} has not used a cache.`}>
        Remove the filter, or choose a longer time.
      </Empty>
    );
  }
  return (
    <Begin icon={<DatabaseZap />} title="No model has used its cache." yaml={yaml} action={<ToModels />}>
      A model with a cache keeps complete answers, and gives them to identical requests. You turn it on for each model,
      here or in the file.
    </Begin>
  );
}

function ToModels() {
  return (
    <Link to="/dashboard/models" className="text-accent text-sm underline underline-offset-2">
      Go to the models
    </Link>
  );
}

function totals({ models: rows, entries, bytes: size }: CacheReply) {
  const sum = (of: (row: ModelRow) => number) => rows.reduce((before, row) => before + of(row), 0);
  const hits = sum((row) => row.hits);
  const misses = sum((row) => row.misses);
  return [
    ['Entries', <Count key="e" value={entries} />],
    ['Size', bytes(size)],
    ['Hits', <Count key="h" value={hits} />],
    ['Misses', <Count key="m" value={misses} />],
    ['Hit rate', hits + misses === 0 ? <None key="r" /> : percent(hits / (hits + misses))],
    ['Saved', <Money key="s" value={sum((row) => row.saved_usd)} />],
  ] as const;
}

const columns: readonly Column<ModelRow>[] = [
  {
    head: 'Model',
    cell: ({ model }) => (
      <Link
        to={`/dashboard/models/${encodeURIComponent(model)}` as never}
        className="[overflow-wrap:anywhere] hover:underline"
      >
        {model}
      </Link>
    ),
  },
  { head: 'Entries', from: 'sm', align: 'right', cell: ({ entries }) => <Count value={entries} /> },
  { head: 'Size', from: 'md', align: 'right', value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
  { head: 'Hits', from: 'sm', align: 'right', cell: ({ hits }) => <Count value={hits} /> },
  {
    head: 'By meaning',
    from: 'lg',
    align: 'right',
    cell: ({ semantic_hits }) => (semantic_hits === 0 ? <None /> : <Count value={semantic_hits} />),
  },
  {
    head: 'False hits',
    value: ({ false_hits }) => false_hits,
    from: 'xl',
    align: 'right',
    cell: ({ checked_hits: checked, false_hits }) =>
      checked === 0 ? (
        <None />
      ) : (
        <span title="Of the hits by meaning that this process compared with what the model says.">
          {count(false_hits)} of {plural(checked, 'check')}
        </span>
      ),
  },
  { head: 'Misses', from: 'md', align: 'right', cell: ({ misses }) => <Count value={misses} /> },
  {
    head: 'Hit rate',
    value: ({ hit_rate }) => hit_rate,
    align: 'right',
    cell: ({ hit_rate }) => (hit_rate === null ? <None /> : percent(hit_rate)),
  },
  { head: 'Saved', align: 'right', cell: ({ saved_usd }) => <Money value={saved_usd} /> },
];

function clearColumn(onClear: (model: string) => void): Column<ModelRow> {
  return {
    head: 'Action',
    kind: 'actions',
    align: 'right',
    cell: ({ model, entries }) => (
      <Button
        size="row"
        disabled={entries === 0}
        aria-label={`Clear the cache of ${model}`}
        onClick={() => onClear(model)}
      >
        Clear
      </Button>
    ),
  };
}

const scopeColumns: readonly Column<ScopeRow>[] = [
  {
    head: 'Shared by',
    cell: ({ scope, model }) => (
      <div className="min-w-0 max-w-[46cqw] @xl:max-w-72">
        <div className="truncate" title={scope ?? undefined}>
          {scope === 'all' ? 'everybody' : scope}
        </div>
        <div className="truncate text-muted text-xs">{model}</div>
      </div>
    ),
  },
  { head: 'Entries', align: 'right', cell: ({ entries }) => <Count value={entries} /> },
  { head: 'Size', align: 'right', value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
  { head: 'Oldest', from: 'sm', align: 'right', cell: ({ oldest }) => <Ago at={oldest} /> },
];

const dayColumns: readonly Column<DayRow>[] = [
  { head: 'Prompt cache', cell: ({ day }) => day },
  { head: 'Requests', from: 'sm', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
  { head: 'Tokens read', align: 'right', cell: (row) => <Count value={row.cached_input_tokens} /> },
  { head: 'Written', align: 'right', cell: (row) => <Count value={row.cache_write_tokens} /> },
  { head: 'Saved', align: 'right', cell: ({ saved_usd }) => <Money value={saved_usd} /> },
];
