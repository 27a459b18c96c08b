import type { RefusedSource } from '../metering/charge.ts';
import type { BucketRow } from '../metering/counters.ts';
import type { UsageEvent } from '../metering/ledger.ts';
import type { bucketsOf } from '../metering/scope.ts';
import type { Column } from './ledger-rows.ts';

/** metering's rule. What it makes of a sum must be the sum of what it makes of single events. */
export type BucketsOf = typeof bucketsOf;

/** One row of `rollup`: an hour of one key, endpoint, alias and provider. */
export interface RollupRow {
  hour: number;
  account: string;
  keyId: string;
  endpoint: string;
  alias: string;
  provider: string;
  /** In the order of `rollupSums`: by name, each would be looked up for each event. */
  sums: number[];
}

/**
 * The columns of `rollup` that are summed, with what an event adds to each. The parts of tokens (input and output) and
 * USD that no upstream told are summed apart: those that we counted, and those that we estimated. USD are rounded event
 * by event, as the counters in memory have them.
 */
export const rollupSums = [
  ['requests', () => 1],
  ['errors', (event) => (event.class === 'ok' ? 0 : 1)],
  ['cost_milli', (event) => event.costMilli],
  ['input_tokens', (event) => event.inputTokens],
  ['output_tokens', (event) => event.outputTokens],
  ['cached_input_tokens', (event) => event.cachedInputTokens],
  ['reasoning_tokens', (event) => event.reasoningTokens],
  ['characters', (event) => event.characters],
  ['audio_ms', (event) => Math.round(event.audioMs)],
  ['images', (event) => event.images],
  ['usd_nano', usdNanoOf],
  ['counted_tokens', (event) => (event.usageSource === 'counted' ? tokensOf(event) : 0)],
  ['estimated_tokens', (event) => (event.usageSource === 'estimated' ? tokensOf(event) : 0)],
  ['counted_usd_nano', (event) => (event.usageSource === 'counted' ? usdNanoOf(event) : 0)],
  ['estimated_usd_nano', (event) => (event.usageSource === 'estimated' ? usdNanoOf(event) : 0)],
] as const satisfies readonly (readonly [name: string, of: (event: UsageEvent) => number])[];

const addendsOf: readonly ((event: UsageEvent) => number)[] = rollupSums.map(([, of]) => of);

function placeOf(sum: (typeof rollupSums)[number][0]): number {
  return rollupSums.findIndex(([name]) => name === sum);
}

const costMilliAt = placeOf('cost_milli');
const inputTokensAt = placeOf('input_tokens');
const outputTokensAt = placeOf('output_tokens');
const usdNanoAt = placeOf('usd_nano');

function tokensOf(event: UsageEvent): number {
  return event.inputTokens + event.outputTokens;
}

function usdNanoOf({ costUsd }: UsageEvent): number {
  return costUsd === null ? 0 : Math.round(costUsd * nanoPerUsd);
}

/** The columns of `rollup`: what tells its rows apart, its primary key, then its sums. */
export const rollupKeyCells: readonly Column<RollupRow>[] = [
  ['hour', 'whole', (row) => row.hour],
  ['account', 'text', (row) => row.account],
  ['key_id', 'text', (row) => row.keyId],
  ['endpoint', 'text', (row) => row.endpoint],
  ['alias', 'text', (row) => row.alias],
  ['provider', 'text', (row) => row.provider],
];
export const rollupSumCells: readonly Column<RollupRow>[] = rollupSums.map(([name], at) => [
  name,
  'whole',
  (row) => row.sums[at]!,
]);

/** What a batch of events adds to quota buckets and roll-ups, so that each row is written once a batch. */
export interface BatchSums {
  add(event: UsageEvent): void;
  /** In the order of their keys, which two writers of one database need to lock them in. */
  buckets(): readonly BucketRow[];
  rollups(): readonly RollupRow[];
  clear(): void;
}

/** Events that move the same rows. Most of a batch is alike, so events are summed before the rule is asked. */
interface Group extends RollupRow {
  tenant: string;
  tier: string | null;
  target: string | null;
  quotaMinute: number;
  settledMinute: number;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const nanoPerUsd = 1e9;

export function createBatchSums(bucketsOf: BucketsOf): BatchSums {
  /** By whatever tells them apart; a batch has few. */
  const groups = new Map<string, Group>();
  let last: Group | null = null;

  function groupOf(event: UsageEvent): Group {
    const quotaMinute = Math.floor(event.quotaMs / minuteMs);
    const settledMinute = Math.floor(event.settledMs / minuteMs);
    const hour = Math.floor(event.atMs / hourMs);
    if (
      last !== null &&
      last.keyId === event.keyId &&
      last.alias === event.alias &&
      last.target === event.target &&
      last.quotaMinute === quotaMinute &&
      last.settledMinute === settledMinute &&
      last.hour === hour &&
      last.endpoint === event.endpoint &&
      last.tenant === event.tenant &&
      last.account === event.account &&
      last.tier === event.tier
    )
      return last;
    const { account, tenant, tier, keyId, endpoint, alias, target } = event;
    const name = JSON.stringify([
      account,
      tenant,
      tier,
      keyId,
      endpoint,
      alias,
      target,
      quotaMinute,
      settledMinute,
      hour,
    ]);
    last = groups.get(name) ?? null;
    if (last === null) {
      const provider = target === null ? '' : target.slice(0, target.indexOf('/'));
      last = {
        sums: new Array<number>(addendsOf.length).fill(0),
        hour,
        account,
        keyId,
        endpoint,
        alias,
        provider,
        tenant,
        tier,
        target,
        quotaMinute,
        settledMinute,
      };
      groups.set(name, last);
    }
    return last;
  }

  return {
    add(event) {
      // Nothing was run: the record is for whoever looks for it.
      if (isRefusal(event)) return;
      const { sums } = groupOf(event);
      for (let at = 0; at < addendsOf.length; at += 1) sums[at]! += addendsOf[at]!(event);
    },
    buckets() {
      const rows = new Map<string, BucketRow>();
      for (const group of groups.values()) {
        const { sums } = group;
        const moved = bucketsOf({
          ...group,
          quotaMs: group.quotaMinute * minuteMs,
          settledMs: group.settledMinute * minuteMs,
          costMilli: sums[costMilliAt]!,
          inputTokens: sums[inputTokensAt]!,
          outputTokens: sums[outputTokensAt]!,
          costUsd: sums[usdNanoAt]! / nanoPerUsd,
        });
        for (const row of moved) {
          const name = `${row.grainMs} ${row.bucket} ${row.scope}`;
          const sum = rows.get(name);
          if (sum === undefined) rows.set(name, { ...row });
          else {
            sum.units += row.units;
            sum.tokens += row.tokens;
            sum.usdNano += row.usdNano;
          }
        }
      }
      return [...rows.values()].sort(
        (a, b) => compare(a.scope, b.scope) || a.grainMs - b.grainMs || a.bucket - b.bucket,
      );
    },
    rollups() {
      const rows = new Map<string, RollupRow>();
      for (const group of groups.values()) {
        const { hour, account, keyId, endpoint, alias, provider } = group;
        const name = JSON.stringify([hour, account, keyId, endpoint, alias, provider]);
        const sum = rows.get(name);
        if (sum === undefined) rows.set(name, { ...group, sums: [...group.sums] });
        else for (let at = 0; at < sum.sums.length; at += 1) sum.sums[at]! += group.sums[at]!;
      }
      return [...rows.values()].sort(
        (a, b) =>
          a.hour - b.hour ||
          compare(a.account, b.account) ||
          compare(a.keyId, b.keyId) ||
          compare(a.endpoint, b.endpoint) ||
          compare(a.alias, b.alias) ||
          compare(a.provider, b.provider),
      );
    },
    clear() {
      groups.clear();
      last = null;
    },
  };
}

/** The record of a refused request (metering/refusal): written without a reservation. Statements name it too. */
export function isRefusal({ usageSource }: Pick<UsageEvent, 'usageSource'>): boolean {
  return usageSource === ('refused' satisfies RefusedSource);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
