import { z } from 'zod';
import type { Operator } from '../books/auth/operator.ts';
import type { CacheScopeStats } from '../books/metering/cache-store.ts';
import type { CacheUses, PromptCacheDay } from '../books/metering/ledger.ts';
import type { CheckedHits } from '../inference/spine/answer-cache.ts';
import type { Records } from './directory.ts';
import { definedMembers, filter, listOf, pageFields, pastInstant, timeField } from './fields.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import { inOrderOf, pageByText } from './page.ts';
import type { AdminParts } from './parts.ts';
import { periodOf } from './requests.ts';

const sumFields = {
  entries: z.int().describe('Answers that are kept.'),
  bytes: z.int().describe('Bytes on the disk or in Redis.'),
};

const cacheRow = z.object({
  model: z.string(),
  scope: z
    .string()
    .nullable()
    .describe('Who shares the answers, such as `key` or `account` with an id; null: all scopes of the model.'),
  ...sumFields,
  oldest: timeField.describe('When the oldest of them was given, ISO 8601, UTC.'),
});

const modelRow = z.object({
  model: z.string(),
  ...sumFields,
  hits: z.int().describe('Requests in the range that a kept answer served.'),
  semantic_hits: z.int().describe('Those of the hits that answered a question of the same meaning.'),
  misses: z.int().describe('Requests in the range that looked for an answer and found none.'),
  hit_rate: z.number().nullable().describe('hits / (hits + misses); null: there was no look-up.'),
  saved_usd: z.number().describe('USD that the hits saved.'),
  checked_hits: z
    .int()
    .describe('Hits by meaning that this process compared with what the model says, since its start.'),
  false_hits: z.int().describe('Those of the checked hits where the model said something else.'),
});

const promptCacheDay = z.object({
  day: z.string().describe('Such as 2026-11-20, UTC.'),
  requests: z.int().describe("Requests that read the provider's cache or wrote to it."),
  cached_input_tokens: z.int().describe('Tokens that providers read from their caches.'),
  cache_write_tokens: z.int().describe('Tokens that providers wrote to their caches.'),
  saved_usd: z.number().describe('USD that this saved. Below zero: writing cost more.'),
});

const cacheReply = listOf(cacheRow).extend({
  ...sumFields,
  models: z.array(modelRow).describe('What is kept of each model, and what came of its requests in the range.'),
  prompt_cache: z
    .array(promptCacheDay)
    .describe("What providers' own caches did in the range, by day. A day without reading and writing has no row."),
  from: timeField.describe('Start of the range.'),
  to: timeField.describe('End of the range.'),
});

export type CacheReply = z.output<typeof cacheReply>;

const clearedReply = z.object({ cleared: z.int().describe('Answers that were removed.') });

export type CacheClearedReply = z.output<typeof clearedReply>;

/** `/cache`: answers that are kept for equal requests. */
export function cacheOperations(parts: AdminParts, records: Records): Operation[] {
  const { cache, cacheChecked, ledger, clock } = parts;
  return [
    jsonOperation({
      route: 'GET /cache',
      area: 'models',
      summary: 'Lists how many answers are kept, by model or by scope.',
      query: z.strictObject({
        ...pageFields,
        model: filter('Only answers of this model.'),
        group_by: z.enum(['model', 'scope']).default('model').describe('What a row is.'),
        from: pastInstant('Start of the range of hits and misses. Default: 30 days before `to`.').optional(),
        to: pastInstant('End of the range of hits and misses. Default: now.').optional(),
      }),
      reply: cacheReply,
      async run({ query, operator }) {
        const hasRequestedModel = ({ model }: { model: string }) => (query.model ?? model) === model;
        const range = periodOf(query, clock.wallMs());
        const of = { accounts: operator.accounts, ...definedMembers({ model: query.model }), ...range };
        const [used, days] = await Promise.all([ledger.cacheUses(of), ledger.promptCacheDays(of)]);
        const all = await cache.stats().catch((error: unknown) => unavailable(parts, error));
        const isSeen = await seenBy(records, operator);
        const stats = all.filter((row) => hasRequestedModel(row) && isSeen(row.scope));
        const rows =
          query.group_by === 'scope' ? stats.map(({ ...row }) => ({ ...row, scope: row.scope })) : byModel(stats);
        const textOf = ({ model, scope }: StatsRow) => `${model} ${scope ?? ''}`;
        const page = pageByText(inOrderOf<StatsRow>(rows, textOf), textOf, query);
        return {
          ...sumOf(stats),
          models: modelRows(stats, used, cacheChecked?.() ?? new Map()),
          prompt_cache: days.map(promptCacheRow),
          from: new Date(range.fromMs).toISOString(),
          to: new Date(range.toMs).toISOString(),
          data: page.rows.map(({ oldestMs, ...row }) => ({ ...row, oldest: new Date(oldestMs).toISOString() })),
          next_cursor: page.next,
        };
      },
    }),
    jsonOperation({
      route: 'DELETE /cache',
      area: 'models',
      summary: 'Removes the answers that meet all given fields; without fields, all answers.',
      query: z.strictObject({
        key: filter('Only answers to requests of this key, by its id.'),
        model: filter('Only answers of this model.'),
        tag: filter('Only answers to requests with this tag.'),
      }),
      reply: clearedReply,
      async run({ query, operator }) {
        const { key: keyId, model, tag } = query;
        const which = definedMembers({ keyId, model, tag });
        const cleared = await cache.clear(which).catch((error: unknown) => unavailable(parts, error));
        const subject = Object.values(which).join(' ') || 'all';
        await records.apply([], {
          actor: operator.name,
          action: 'cache.clear',
          subject,
          before: null,
          after: { cleared },
        });
        return { cleared };
      },
    }),
  ];
}

/** Models with answers or requests, in the order of their names. */
function modelRows(
  stats: readonly CacheScopeStats[],
  uses: readonly CacheUses[],
  checks: ReadonlyMap<string, CheckedHits>,
): z.input<typeof modelRow>[] {
  const storedOfModel = new Map(byModel(stats).map(({ model, entries, bytes }) => [model, { entries, bytes }]));
  const used = new Map(uses.map((row) => [row.model, row]));
  return [...new Set([...storedOfModel.keys(), ...used.keys()])].sort().map((model) => {
    const { hits, semanticHits, misses, savedUsd } = used.get(model) ?? noUses;
    return {
      model,
      ...(storedOfModel.get(model) ?? { entries: 0, bytes: 0 }),
      hits,
      semantic_hits: semanticHits,
      misses,
      hit_rate: hits + misses === 0 ? null : hits / (hits + misses),
      saved_usd: savedUsd,
      checked_hits: checks.get(model)?.checked ?? 0,
      false_hits: checks.get(model)?.wrong ?? 0,
    };
  });
}

function promptCacheRow(row: PromptCacheDay): z.input<typeof promptCacheDay> {
  return {
    day: row.day,
    requests: row.requests,
    cached_input_tokens: row.cachedInputTokens,
    cache_write_tokens: row.cacheWriteTokens,
    saved_usd: row.savedUsd,
  };
}

const noUses = { hits: 0, semanticHits: 0, misses: 0, savedUsd: 0 };

type StatsRow = Omit<CacheScopeStats, 'scope'> & { scope: string | null };

function unavailable({ onStoreError }: AdminParts, error: unknown): never {
  onStoreError(error);
  const message = `The cache cannot be asked: ${error instanceof Error ? error.message : String(error)}. Retry it.`;
  return refuse({ kind: 'overloaded', message });
}

/** An operator of some accounts sees the scopes of these accounts and of their keys. */
async function seenBy(records: Records, { accounts }: Operator): Promise<(scope: string) => boolean> {
  if (accounts === null) return () => true;
  const { keys } = await records.current(accounts);
  const seen = new Set([...accounts.map((id) => `account ${id}`), ...keys.map(({ id }) => `key ${id}`)]);
  return (scope) => seen.has(scope);
}

function byModel(stats: readonly CacheScopeStats[]): StatsRow[] {
  return [...Map.groupBy(stats, ({ model }) => model)].map(([model, rows]) => ({
    model,
    scope: null,
    ...sumOf(rows),
    oldestMs: rows.reduce((oldest, row) => Math.min(oldest, row.oldestMs), Number.POSITIVE_INFINITY),
  }));
}

function sumOf(rows: readonly CacheScopeStats[]): { entries: number; bytes: number } {
  return rows.reduce((sum, { entries, bytes }) => ({ entries: sum.entries + entries, bytes: sum.bytes + bytes }), {
    entries: 0,
    bytes: 0,
  });
}
