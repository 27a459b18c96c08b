import type { UsageEvent } from '../../books/metering/ledger.ts';
import { aliasFor } from '../../config/alias-pattern.ts';
import { cachesPrompts } from '../../inference/models/create-alias.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { Finding } from '../finding.ts';
import type { AdminParts } from '../parts.ts';

const spanMs = 24 * 3_600_000;
const rowsMax = 1_000;
/** Shorter prompts are not kept everywhere, and save little. */
const inputTokensMin = 2_048;
const requestsMin = 20;
const cachedShareMin = 0.1;

type Uncached = Finding & { state: 'warning'; page: 'models'; account: null };

/** Aliases whose prompts are long and come from no cache, though their provider has one; of the newest requests. */
export async function promptCacheTroubles({ ledger, clock, snapshots }: AdminParts): Promise<Uncached[]> {
  const sinceMs = clock.wallMs() - spanMs;
  const query = { accounts: null, where: { class: 'ok' }, sinceMs, untilMs: null, after: null, cursor: null };
  try {
    const { events } = await ledger.list({ ...query, limit: rowsMax });
    const { config, models, providers } = snapshots.current;
    const targets = new Map([...models.targets()].map((target) => [target.id, target]));
    const isLong = ({ target: id, usageSource, inputTokens }: UsageEvent): boolean => {
      const target = targets.get(id ?? '');
      if (target === undefined || usageSource !== 'upstream' || inputTokens < inputTokensMin) return false;
      const caching = providers.get(target.provider)?.connection.provider.promptCaching?.(target.model) ?? null;
      return caching !== null;
    };
    return [...Map.groupBy(events.filter(isLong), ({ alias }) => alias)].flatMap(([alias, requests]) => {
      const model = aliasFor(config.models, alias)?.model;
      const modelCachesPrompts = model !== undefined && cachesPrompts(model);
      return findingOf(alias, requests, modelCachesPrompts);
    });
  } catch (error) {
    // Without the database nothing is known of requests.
    if (error instanceof FailureError) return [];
    throw error;
  }
}

function findingOf(alias: string, requests: readonly UsageEvent[], modelCachesPrompts: boolean): Uncached[] {
  const input = requests.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
  const cached = requests.reduce((sum, { cachedInputTokens }) => sum + cachedInputTokens, 0);
  if (requests.length < requestsMin || cached >= input * cachedShareMin) return [];
  const share = `${Math.round((cached / input) * 100)}%`;
  const message = `Of the input of ${requests.length} long requests for '${alias}', ${share} came from its provider's cache.`;
  const fix = modelCachesPrompts
    ? 'The beginning of its prompts probably changes. Put what stays the same first (tools, instructions, documents), and dates, ids and questions last.'
    : `Set prompt_cache: auto for '${alias}'. If that changes nothing, the beginning of its prompts changes: put what stays the same first, and dates, ids and questions last.`;
  return [
    { check: `prompt cache of ${alias}`, state: 'warning', message, fix, page: 'models', id: alias, account: null },
  ];
}
