import type { RefusedSource } from '../metering/charge.ts';
import type { BucketRow } from '../metering/counters.ts';
import type { UsageEvent } from '../metering/ledger.ts';
import type { bucketsOf } from '../metering/scope.ts';

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
  requests: number;
  errors: number;
  costMilli: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  reasoningTokens: number;
  characters: number;
  audioMs: number;
  images: number;
  usdNano: number;
  /** Parts of tokens (input and output) and USD of which no upstream told: we counted, or estimated. */
  countedTokens: number;
  estimatedTokens: number;
  countedUsdNano: number;
  estimatedUsdNano: number;
}

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
        ...noSums,
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
      const group = groupOf(event);
      group.requests += 1;
      if (event.class !== 'ok') group.errors += 1;
      group.costMilli += event.costMilli;
      group.inputTokens += event.inputTokens;
      group.outputTokens += event.outputTokens;
      group.cachedInputTokens += event.cachedInputTokens;
      group.reasoningTokens += event.reasoningTokens;
      group.characters += event.characters;
      group.audioMs += event.audioMs;
      group.images += event.images;
      // Rounded one by one, as the counters in memory have them.
      const usdNano = event.costUsd === null ? 0 : Math.round(event.costUsd * nanoPerUsd);
      group.usdNano += usdNano;
      if (event.usageSource === 'counted') {
        group.countedTokens += event.inputTokens + event.outputTokens;
        group.countedUsdNano += usdNano;
      } else if (event.usageSource === 'estimated') {
        group.estimatedTokens += event.inputTokens + event.outputTokens;
        group.estimatedUsdNano += usdNano;
      }
    },
    buckets() {
      const rows = new Map<string, BucketRow>();
      for (const group of groups.values()) {
        const moved = bucketsOf({
          ...group,
          quotaMs: group.quotaMinute * minuteMs,
          settledMs: group.settledMinute * minuteMs,
          costUsd: group.usdNano / nanoPerUsd,
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
        if (sum === undefined) rows.set(name, { ...group });
        else for (const count of counts) sum[count] += group[count];
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

const noSums = {
  requests: 0,
  errors: 0,
  costMilli: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  characters: 0,
  audioMs: 0,
  images: 0,
  usdNano: 0,
  countedTokens: 0,
  estimatedTokens: 0,
  countedUsdNano: 0,
  estimatedUsdNano: 0,
};

const counts = Object.keys(noSums) as (keyof typeof noSums)[];

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
