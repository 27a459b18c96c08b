import { hourMs, minuteMs } from '../../kernel/clock.ts';
import { type Column, columnsOf, type FieldOf, fieldOf, isUnpriced, type UsageEvent } from './columns.ts';
import type { RefusedSource } from './settled-request.ts';

/** One bucket of settled use. `grainMs` is 60,000 (for the 5-hour window) or 3,600,000 (week and month). */
export interface BucketRow {
  scope: string;
  grainMs: number;
  /** floor(ms / grainMs) */
  bucket: number;
  units: number;
  tokens: number;
  usdNano: number;
}

/** metering's rule. Its result for a sum must be the sum of its results for single events. */
export type BucketsOf = (
  event: Pick<
    UsageEvent,
    'account' | 'tenant' | 'tier' | 'quotaMs' | 'settledMs' | 'costMilli' | 'inputTokens' | 'outputTokens' | 'costUsd'
  > &
    Partial<Pick<UsageEvent, 'furtherScopes'>>,
) => BucketRow[];

/** Names a row of `rollup`: an hour of one key, endpoint, alias and provider. */
export interface RollupKey {
  hour: number;
  account: string;
  keyId: string;
  endpoint: string;
  alias: string;
  provider: string;
}

export interface RollupRow extends RollupKey, Sums {}

/** The columns of `rollup` that are summed; `BatchSums.add` says what an event adds to each. */
const sumNames = [
  'requests',
  'errors',
  'cost_milli',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'reasoning_tokens',
  'characters',
  'audio_ms',
  'images',
  'usd_nano',
  'counted_tokens',
  'estimated_tokens',
  'counted_usd_nano',
  'estimated_usd_nano',
  'unpriced',
] as const;

type Sums = Record<FieldOf<(typeof sumNames)[number]>, number>;

const noSums = Object.fromEntries(sumNames.map((name) => [fieldOf(name), 0])) as Sums;

/** Primary key of `rollup`, then its sums. */
export const rollupKey: readonly Column[] = columnsOf([
  ['hour', 'whole'],
  ['account', 'text'],
  ['key_id', 'text'],
  ['endpoint', 'text'],
  ['alias', 'text'],
  ['provider', 'text'],
]);
export const rollupSums: readonly (Column & { field: keyof Sums })[] = sumNames.flatMap((name) =>
  columnsOf([[name, 'whole']]).map((column) => ({ ...column, field: fieldOf(name) })),
);
export const rollupTable: readonly Column[] = [...rollupKey, ...rollupSums];

/** The same of `quota_bucket`. */
export const bucketKey: readonly Column[] = columnsOf([
  ['scope', 'text'],
  ['grain_ms', 'whole'],
  ['bucket', 'whole'],
]);
export const bucketSums: readonly Column[] = columnsOf([
  ['units', 'whole'],
  ['tokens', 'whole'],
  ['usd_nano', 'whole'],
]);
export const bucketTable: readonly Column[] = [...bucketKey, ...bucketSums];

/** Events that change the same rows. Most of a batch is alike, so events are summed before the rule runs. */
interface Group extends RollupRow {
  tenant: string;
  tier: string | null;
  furtherScopes: string | null;
  target: string | null;
  quotaMinute: number;
  settledMinute: number;
}

const nanoPerUsd = 1e9;

/**
 * Sums of a batch of events for quota buckets and roll-ups, so that each row is written once per batch. Refusals do
 * not belong here, because nothing ran.
 */
export class BatchSums {
  readonly #bucketsOf: BucketsOf;
  /** By whatever tells them apart; a batch has few. */
  readonly #groups = new Map<string, Group>();
  #last: Group | null = null;

  constructor(bucketsOf: BucketsOf) {
    this.#bucketsOf = bucketsOf;
  }

  /**
   * USD are rounded event by event, as the counters in memory have them. The parts of tokens (input and output) and USD
   * that no upstream reported are summed apart: those that we counted, and those that we estimated.
   */
  add(event: UsageEvent): void {
    const sums = this.#groupOf(event);
    const tokens = event.inputTokens + event.outputTokens;
    const usdNano = event.costUsd === null ? 0 : Math.round(event.costUsd * nanoPerUsd);
    sums.requests += 1;
    if (event.class !== 'ok') sums.errors += 1;
    sums.costMilli += event.costMilli;
    sums.inputTokens += event.inputTokens;
    sums.outputTokens += event.outputTokens;
    sums.cachedInputTokens += event.cachedInputTokens;
    sums.reasoningTokens += event.reasoningTokens;
    sums.characters += event.characters;
    sums.audioMs += Math.round(event.audioMs);
    sums.images += event.images;
    sums.usdNano += usdNano;
    if (event.costUsd === null && isUnpriced(event)) sums.unpriced += 1;
    if (event.usageSource === 'counted') {
      sums.countedTokens += tokens;
      sums.countedUsdNano += usdNano;
    } else if (event.usageSource === 'estimated') {
      sums.estimatedTokens += tokens;
      sums.estimatedUsdNano += usdNano;
    }
  }

  buckets(): BucketRow[] {
    const rows = new Map<string, BucketRow>();
    for (const group of this.#groups.values()) {
      const moved = this.#bucketsOf({
        ...group,
        quotaMs: group.quotaMinute * minuteMs,
        settledMs: group.settledMinute * minuteMs,
        costUsd: group.usdNano / nanoPerUsd,
      });
      for (const row of moved) {
        const name = `${row.grainMs} ${row.bucket} ${row.scope}`;
        const sum = rows.get(name);
        if (sum === undefined) rows.set(name, row);
        else {
          sum.units += row.units;
          sum.tokens += row.tokens;
          sum.usdNano += row.usdNano;
        }
      }
    }
    return [...rows.values()];
  }

  rollups(): RollupRow[] {
    const rows = new Map<string, RollupRow>();
    for (const group of this.#groups.values()) {
      const { hour, account, keyId, endpoint, alias, provider } = group;
      const name = JSON.stringify([hour, account, keyId, endpoint, alias, provider]);
      const sum = rows.get(name);
      if (sum === undefined) rows.set(name, { ...group });
      else for (const { field } of rollupSums) sum[field] += group[field];
    }
    return [...rows.values()];
  }

  clear(): void {
    this.#groups.clear();
    this.#last = null;
  }

  #groupOf(event: UsageEvent): Group {
    const quotaMinute = Math.floor(event.quotaMs / minuteMs);
    const settledMinute = Math.floor(event.settledMs / minuteMs);
    const hour = Math.floor(event.atMs / hourMs);
    const { account, tenant, tier, furtherScopes, keyId, endpoint, alias, target } = event;
    const last = this.#last;
    if (
      last !== null &&
      last.keyId === keyId &&
      last.alias === alias &&
      last.target === target &&
      last.quotaMinute === quotaMinute &&
      last.settledMinute === settledMinute &&
      last.hour === hour &&
      last.endpoint === endpoint &&
      last.tenant === tenant &&
      last.account === account &&
      last.tier === tier &&
      last.furtherScopes === furtherScopes
    )
      return last;
    const minutes = [quotaMinute, settledMinute, hour];
    const name = JSON.stringify([account, tenant, tier, furtherScopes, keyId, endpoint, alias, target, ...minutes]);
    let group = this.#groups.get(name);
    if (group === undefined) {
      const provider = target === null ? '' : target.slice(0, target.indexOf('/'));
      const key = { hour, account, keyId, endpoint, alias, provider };
      group = { ...noSums, ...key, tenant, tier, furtherScopes, target, quotaMinute, settledMinute };
      this.#groups.set(name, group);
    }
    this.#last = group;
    return group;
  }
}

/** The record of a refused request (books/metering/refusal): written without a reservation. Statements name it too. */
export function isRefusal({ usageSource }: Pick<UsageEvent, 'usageSource'>): boolean {
  return usageSource === ('refused' satisfies RefusedSource);
}
