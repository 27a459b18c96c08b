import type { Counted } from '../../books/metering/counter-scope.ts';
import type { BucketRow, Held, QuotaSeed, RecentCall, Scope } from '../../books/metering/counters.ts';
import type { SpanName } from '../../books/metering/window.ts';
import { hourMs, minuteMs, secondMs } from '../../kernel/clock.ts';

/** A running request as Redis keeps it: its units, the instant at which they count, and the scopes that count it. */
export type OpenEntry = Pick<Held, 'requestId' | 'quotaMs' | 'costMilli' | 'scopes'>;

/** Reads `quotaMs|milli-units|scopes`. */
export function readEntry(requestId: string, text: string): OpenEntry {
  const [quotaMs, costMilli, ...scopes] = text.split('|');
  return { requestId, quotaMs: Number(quotaMs), costMilli: Number(costMilli), scopes: scopes.join('|').split('\n') };
}

/** The first fields of a scope's hash, and the running requests that it counts or no longer counts. */
export interface ScopeSeed {
  /** Field, value… (lua-windows.ts). */
  fields: readonly string[];
  running: readonly { requestId: string; quotaMs: number; costMilli: number }[];
  settled: readonly string[];
}

export interface SeedFacts {
  seed: QuotaSeed;
  calls: readonly RecentCall[];
  /** Running requests in Redis before the ledger was asked. */
  entries: readonly OpenEntry[];
  /** By the server's time. */
  nowMs: number;
  scopesOf(counted: Counted): readonly Scope[];
  callMilliIn(scope: Scope, account: string, call: RecentCall): number;
}

/**
 * Buckets of settled requests, and the units of every request that runs: those that the ledger has open, and those that
 * only Redis knows, since their reservation is on its way. A request that the ledger has settled is in the buckets.
 */
export function seedScope(account: string, scope: Scope, facts: SeedFacts): ScopeSeed {
  const { seed, entries, nowMs } = facts;
  const sums = new Sums();
  // `creditScope` of books/metering/counter-scope.ts, of which the books have one bucket.
  const isCredit = scope.startsWith('c:');
  for (const row of seed.buckets) if (row.scope === scope && !isCredit) addRow(sums, row, nowMs);
  const running = new Map<string, { requestId: string; quotaMs: number; costMilli: number }>();
  for (const row of seed.open) if (facts.scopesOf(row).includes(scope)) running.set(row.requestId, row);
  const settled: string[] = [];
  for (const entry of entries) {
    if (!entry.scopes.includes(scope)) continue;
    if (seed.settled.has(entry.requestId)) settled.push(entry.requestId);
    else if (!running.has(entry.requestId)) running.set(entry.requestId, entry);
  }
  for (const { quotaMs, costMilli } of running.values()) {
    sums.add('um', Math.floor(quotaMs / minuteMs), costMilli);
    sums.add('uh', Math.floor(quotaMs / hourMs), costMilli);
  }
  for (const call of facts.calls)
    sums.add('cs', Math.floor(Math.min(call.atMs, nowMs) / secondMs), facts.callMilliIn(scope, account, call));
  const fields = [...sums.fields(nowMs), ...(isCredit ? creditFields(scope, seed.buckets) : [])];
  return { fields, running: [...running.values()], settled };
}

/** The period that never ends, with all that was spent: see lua-windows.ts. */
function creditFields(scope: Scope, buckets: QuotaSeed['buckets']): string[] {
  const used = buckets.reduce((sum, row) => sum + (row.scope === scope ? row.usdNano : 0), 0);
  const begun = ['dT', '1', 'p:credit:f', '1', 'p:credit:a', '1', 'p:credit:e', '1'];
  return used === 0 ? begun : [...begun, 'p:credit:u', String(used)];
}

function addRow(sums: Sums, row: BucketRow, nowMs: number): void {
  const grain = row.grainMs === minuteMs ? 'm' : 'h';
  sums.add(`u${grain}`, row.bucket, row.units);
  sums.add(`t${grain}`, row.bucket, row.tokens);
  sums.add(`d${grain}`, row.bucket, row.usdNano);
  // The ledger knows only the minute: counted as late as possible, so that nobody gets more.
  if (grain === 'm' && (row.bucket + 2) * minuteMs > nowMs - secondMs)
    sums.add('ts', Math.floor(Math.min((row.bucket + 1) * minuteMs - 1, nowMs) / secondMs), row.tokens);
}

/** Measure and grain of the buckets, and the spans that are totalled over them (books/metering/window.ts). */
const totals: readonly {
  buckets: string;
  total: string;
  bucketMs: number;
  spanMs: number;
  span: SpanName;
  retentionMs?: number;
}[] = [
  { buckets: 'cs', total: 'c1', bucketMs: secondMs, spanMs: minuteMs, span: 'minute' },
  { buckets: 'ts', total: 't1', bucketMs: secondMs, spanMs: minuteMs, span: 'minute' },
  ...['u', 't', 'd'].flatMap((measure) => [
    { buckets: `${measure}m`, total: `${measure}5`, bucketMs: minuteMs, spanMs: 5 * hourMs, span: '5h' as const },
    { buckets: `${measure}h`, total: `${measure}7`, bucketMs: hourMs, spanMs: 7 * 24 * hourMs, span: 'week' as const },
    {
      buckets: `${measure}h`,
      total: `${measure}30`,
      bucketMs: hourMs,
      spanMs: 30 * 24 * hourMs,
      span: 'month' as const,
      // Calendar months are longer.
      ...(measure === 'd' && { retentionMs: (31 * 24 + 1) * hourMs }),
    },
  ]),
];

class Sums {
  readonly #byBuckets = new Map<string, Map<number, number>>();

  add(buckets: string, bucket: number, amount: number): void {
    if (amount === 0) return;
    let sums = this.#byBuckets.get(buckets);
    if (sums === undefined) {
      sums = new Map();
      this.#byBuckets.set(buckets, sums);
    }
    sums.set(bucket, (sums.get(bucket) ?? 0) + amount);
  }

  fields(nowMs: number): string[] {
    const fields: string[] = [];
    let newestMs = nowMs;
    // A clock that ran ahead may have counted in the future: time goes on from there.
    for (const { buckets, bucketMs } of totals)
      for (const bucket of this.#byBuckets.get(buckets)?.keys() ?? []) newestMs = Math.max(newestMs, bucket * bucketMs);
    const live = new Map<string, number>();
    for (const { buckets, total, bucketMs, spanMs, retentionMs = spanMs } of totals) {
      const first = Math.floor((newestMs - spanMs) / bucketMs);
      let sum = 0;
      let oldest = Number.POSITIVE_INFINITY;
      for (const [bucket, amount] of this.#byBuckets.get(buckets) ?? []) {
        if (bucket >= Math.floor((newestMs - retentionMs) / bucketMs)) live.set(`${buckets}${bucket}`, amount);
        if (bucket < first) continue;
        sum += amount;
        oldest = Math.min(oldest, bucket);
      }
      if (sum > 0) fields.push(total, String(sum), `${total}p`, String(oldest));
    }
    for (const [field, amount] of live) fields.push(field, String(amount));
    fields.push('l', String(newestMs));
    return fields;
  }
}
