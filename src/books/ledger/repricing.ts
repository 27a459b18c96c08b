import { BatchSums, type RollupKey, type RollupRow, rollupKey, rollupSums } from './batch-sums.ts';
import { type CacheSumRow, cacheSums, cacheSumsOf, usesCache } from './cache-sums.ts';
import { type Column, columnsOf, eventTable, type UsageEvent } from './columns.ts';
import { lateSums } from './day-sums.ts';
import { type TrafficRow, TrafficSums, trafficGrainsMs, trafficRetentionMs, trafficSums } from './minute-sums.ts';

/** A settled request, and the same with another cost: `costUsd`, `savedUsd`, and the costs that its route names may differ. */
export interface Repriced {
  before: UsageEvent;
  after: UsageEvent;
}

/** Columns of `usage_event` that may change. */
export const changedColumns = eventTable.filter(({ name }) =>
  ['cost_usd', 'saved_usd', 'route', 'attempts'].includes(name),
);

/** At most so many are changed in one commit, for which settlements wait: some ms. */
export const repricedMax = 200;

/**
 * One row of `repricing`: by how much a recalculation changed an hour of `rollup`. The amounts that were charged are
 * those of `rollup` less these, for ever.
 */
export interface RepricingRow extends RollupKey {
  atMs: number;
  requests: number;
  usdNano: number;
  unpriced: number;
}

export const repricingKey: readonly Column[] = [...columnsOf([['at_ms', 'whole']]), ...rollupKey];
export const repricingSums: readonly Column[] = columnsOf([
  ['requests', 'whole'],
  ['usd_nano', 'whole'],
  ['unpriced', 'whole'],
]);
export const repricingTable: readonly Column[] = [...repricingKey, ...repricingSums];

/** Differences that such changes make to every sum of the ledger that has USD. Quota buckets stay: they hold what windows counted. */
export type RepricedSums = ReturnType<typeof repricedSums>;

/** `summedMs`: all days before it are added up; `atMs`: when the recalculation was asked for. */
export function repricedSums(
  changes: readonly Repriced[],
  { summedMs, nowMs, atMs }: { summedMs: number; nowMs: number; atMs: number },
) {
  const before = changes.map((change) => change.before);
  const after = changes.map((change) => change.after);
  const rollups = difference(rollupsOf(before), rollupsOf(after), rollupSums);
  const daysBefore = lateSums(before, summedMs, noBuckets);
  const days = lateSums(after, summedMs, noBuckets).map((rows, at) =>
    difference(daysBefore[at] ?? [], rows, rollupSums),
  );
  const counts = rollupsOf(after);
  return {
    rollups,
    /** One for each of `dayTables`. */
    days,
    caches: difference(cachesOf(before), cachesOf(after), cacheSums),
    traffic: difference(trafficOf(before), trafficOf(after), trafficSums).filter((row) => isRetained(row, nowMs)),
    repricing: rollups.map(({ hour, account, keyId, endpoint, alias, provider, usdNano, unpriced }, at) => {
      const requests = counts[at]?.requests ?? 0;
      return { atMs, hour, account, keyId, endpoint, alias, provider, requests, usdNano, unpriced };
    }),
  };
}

const noBuckets = () => [];

function rollupsOf(events: readonly UsageEvent[]): RollupRow[] {
  const sums = new BatchSums(noBuckets);
  for (const event of events) sums.add(event);
  return sums.rollups();
}

function cachesOf(events: readonly UsageEvent[]): CacheSumRow[] {
  return cacheSumsOf(events.filter(usesCache));
}

function trafficOf(events: readonly UsageEvent[]): TrafficRow[] {
  const sums = new TrafficSums();
  for (const event of events) sums.add(event);
  return sums.take(Number.POSITIVE_INFINITY);
}

/** Rows that are too old for charts are gone, or about to go. */
function isRetained({ grainMs, bucket }: TrafficRow, nowMs: number): boolean {
  const retentionMs = grainMs === trafficGrainsMs.minute ? trafficRetentionMs.minute : trafficRetentionMs.hour;
  return bucket * grainMs > nowMs - retentionMs;
}

/** Both are of the same requests in the same order, and no cost is in a key: so each row is of its pair. */
function difference<Row extends object>(
  before: readonly object[],
  after: readonly Row[],
  sums: readonly Column[],
): Row[] {
  return after.map((row, at) => {
    const less = before[at] as Readonly<Record<string, number>>;
    const left = { ...row } as Row & Record<string, unknown>;
    const counts = row as Readonly<Record<string, number>>;
    for (const { field } of sums) Object.assign(left, { [field]: (counts[field] ?? 0) - (less[field] ?? 0) });
    return left;
  });
}
