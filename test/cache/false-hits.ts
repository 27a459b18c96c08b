import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Principal } from '../../src/books/auth/principal.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import { readCacheDirectives } from '../../src/inference/cache/cache-directives.ts';
import { cacheKeyOf, filterOf } from '../../src/inference/cache/cache-key.ts';
import type { Landed } from '../../src/inference/cache/flight.ts';
import { cachedEvents } from '../../src/inference/cache/packed-entry.ts';
import { SemanticCache } from '../../src/inference/cache/semantic/semantic-cache.ts';
import { canonicalConversation } from '../../src/inference/families/chat/canonical.ts';
import type { Alias, AliasCache } from '../../src/inference/models/alias.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { builtInHedge, defaultPreferences } from '../../src/routing/route.ts';
import { memoryCache } from '../memory-cache.ts';
import { targetOf } from '../simulation/routing-samples.ts';

/** One question to a cache, and its only right answer. */
export interface LabelledQuestion {
  truth: string;
  body: Record<string, unknown>;
  /** Who asks; absent: `keyA`. */
  by?: Principal;
  alias?: Alias;
  headers?: Record<string, string>;
}

export const keyA: Principal = {
  keyId: 'a',
  keyName: 'a',
  tenant: 'acme/a',
  account: 'acme',
  plan: 'basic',
  allowedModels: null,
  limits: null,
  guards: [],
};

/** 14 right answers in a row are enough for it. */
const semantic = { model: 'embed', errorMax: 0.2, sample: 0, deadlineMs: 200 };

export function aliasOf(over: Partial<Alias> = {}, cache: Partial<AliasCache> = {}): Alias {
  return {
    id: 'chat',
    type: 'chat',
    listedAs: 'chat',
    tier: null,
    cost: 1,
    attempts: 1,
    hedge: builtInHedge,
    ownedBy: 'up',
    createdS: 1,
    dimensions: null,
    listedDimensions: null,
    candidates: [{ target: targetOf('up/m'), rank: 0 }],
    totalMs: 60_000,
    cache: { ttlMs: 3_600_000, scope: 'key', toolCalls: false, semantic, ...cache },
    ...over,
  };
}

const embedding = aliasOf({ id: 'embed', type: 'embedding', candidates: [{ target: targetOf('up/e'), rank: 0 }] });

/**
 * What a model's cache does with questions, as `createAnswerCache` puts it together, over a memory. Its embeddings find
 * all questions equal: only the filter and the difference check are between two of them.
 */
export function labelledCache() {
  const store = memoryCache(() => 1_750_000_000_000, { scopeBytes: 1e9, totalBytes: 1e9 });
  const cache = new SemanticCache({
    store,
    clock: { wallMs: () => 1_750_000_000_000 },
    calls: { embed: async (_, texts) => texts.map(() => [1, 0]), judge: async () => null },
    random: { next: () => 0.5 },
    onChecked() {},
  });
  const answers = new Map<string, Landed>();

  return {
    /** What the cache answers; null: the model is asked, and the cache learns what it says. */
    async ask({ truth, body, by = keyA, alias = aliasOf(), headers = {} }: LabelledQuestion): Promise<string | null> {
      const wish = readCacheDirectives(headers);
      const { cache: rule } = alias;
      const raw = Buffer.from(JSON.stringify({ ...body, model: alias.id }));
      const canonical = canonicalConversation(raw, 'openai-chat', 'question');
      if (isFailure(canonical)) throw new Error(JSON.stringify(canonical));
      if (isFailure(wish) || rule === undefined || canonical.elsewhere === true) return null;
      const call = { principal: by, preferences: defaultPreferences, callerHeaders: headers };
      const { candidates: targets } = alias;
      const facts = {
        alias,
        rule,
        providers: new Map(),
        targets,
        call,
        repairs: false,
        endpoint: 'chat',
        form: 'events' as const,
      };
      const own = cacheKeyOf({ ...facts, facts: { stream: false } }, canonical);
      const at = (digest: string) => answers.get(`${own.scope} ${digest}`) ?? null;
      const equal = at(own.digest);
      if (equal !== null) return textIn(equal);
      const filter = filterOf({ ...facts, facts: { stream: false } }, canonical, embedding);
      const { question } = canonical;
      const entry = { answer: answerOf(truth), provider: 'up', model: 'm', usd: null, losses: [], endpoint: 'chat' };
      const similar =
        question === undefined || filter === null || rule.semantic === undefined || wish.exact
          ? null
          : await cache.ask({
              rule: rule.semantic,
              text: question.text,
              filter,
              answerKey: own,
              row: { keyId: by.keyId, model: alias.id, tag: null },
              answerOf: async (digest) => at(digest),
            });
      if (similar !== null && 'landed' in similar) return textIn(similar.landed);
      answers.set(`${own.scope} ${own.digest}`, { entry, atMs: 1 });
      if (similar !== null) {
        similar.learn(entry);
        await nextTurn();
      }
      return null;
    },
  };
}

function answerOf(text: string): NeutralEvent[] {
  return [
    { type: 'text-delta', choice: 0, text },
    { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
    { type: 'end' },
  ];
}

function textIn({ entry: { answer } }: Landed): string {
  const [first] = cachedEvents(answer) ?? [];
  return first?.type === 'text-delta' ? first.text : '';
}
