import type { CacheStore } from '../../books/metering/cache-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { AliasCache } from '../models/alias.ts';
import type { Canonical } from '../models/steps.ts';
import type { AnswerCache, CacheExplained, CacheQuestion, CacheTurn } from '../spine/answer-cache.ts';
import type { Asked, Endpoint, Plan } from '../spine/endpoint.ts';
import type { ModelCall } from '../spine/model-call.ts';
import type { RequestBody } from '../spine/request-body.ts';
import { refuse } from '../spine/sink.ts';
import { cacheKeyOf, type PartedKey } from './cache-key.ts';
import { type CacheWish, readCacheWish } from './cache-wish.ts';
import { Flight, type Landed } from './flight.ts';
import { KeepingSink } from './keep-bytes.ts';
import { keepingSteps } from './keep-events.ts';
import { type KeptEntry, packEntry, unpackEntry } from './kept-entry.ts';
import { RecentParts } from './recent-parts.ts';
import { replay } from './replay.ts';

export interface AnswerCacheParts {
  store: CacheStore;
  clock: Clock;
  /** `error`: the store was slow or gone, or what it gave is damaged. That is a miss, too. */
  onLook(outcome: 'hit' | 'miss' | 'error', savedUsd: number): void;
}

/** A look-up that takes longer is a miss. */
const lookMsMax = 20;
/** Equal requests find an answer here while it is written, but no longer. */
const writeMsMax = 1_000;

/** Answers of equal requests, which one process asks for once. */
export function createAnswerCache(parts: AnswerCacheParts): AnswerCache {
  const { clock, onLook } = parts;
  /** By scope and digest. */
  const flights = new Map<string, Flight>();
  const recent = new RecentParts();

  return {
    explain: (asked) => explained(parts, recent, asked),
    waiting: () => [...flights.values()].reduce((sum, flight) => sum + flight.waiting, 0),
    async enter(services, endpoint, asked, input) {
      const { call, plan, request } = asked;
      const wish = readCacheWish(call.callerHeaders);
      if ('kind' in wish) return refused(call, wish);
      const rule = plan.alias.cache;
      const form = rule === undefined || wish.use === 'off' ? null : (endpoint.keeps?.(request) ?? null);
      const canonical = form === null ? null : await canonicalOf(endpoint, call, input);
      if (rule === undefined || form === null || canonical === null) {
        return wish.use === 'only' ? refused(call, notCached) : goingOn(asked, 'bypass', {}, () => {});
      }
      const { providers } = asked.snapshot;
      const { id: name } = endpoint;
      const facts = { alias: plan.alias, rule, providers, call, endpoint: name, form, facts: request.facts };
      const key = cacheKeyOf(facts, canonical);
      const keyed: Keyed = { ...parts, key, rule, wish, tag: call.tag ?? request.facts.tag ?? null };

      const at = `${key.scope} ${key.digest}`;
      const isShared = wish.use === 'any' && wish.maxAgeS === null;
      const under = isShared ? flights.get(at) : undefined;
      const flight = isShared && under === undefined ? new Flight() : null;
      if (flight !== null) flights.set(at, flight);
      const remove = () => {
        if (flights.get(at) === flight) flights.delete(at);
      };
      try {
        const landed = under === undefined ? await look(keyed) : await under.wait(call.client, leftMs(clock, asked));
        if (landed !== null) {
          flight?.land(landed);
          remove();
          onLook('hit', landed.entry.usd ?? 0);
          await replay(services, endpoint, asked, landed);
          return 'answered';
        }
      } catch (error) {
        flight?.land(null);
        remove();
        throw error;
      }
      if (wish.use === 'only') return refused(call, notCached);

      let isKept = false;
      const keep = (entry: KeptEntry) => {
        isKept = true;
        const landed = { entry, atMs: clock.wallMs() };
        recent.add(`${key.scope} ${plan.alias.id}`, key.parts);
        flight?.land(landed);
        void write(keyed, call, plan.alias.id, landed).then(remove);
      };
      const client = flight === null ? call.client : flight.clientOf(call.client);
      const kept =
        form === 'events'
          ? { keeping: keepingSteps({ toolCalls: rule.toolCalls, keep }) }
          : { sink: new KeepingSink(call.sink, name, keep) };
      return goingOn(asked, 'miss', { client, ...kept, cacheUse: 'miss' }, () => {
        flight?.land(null);
        if (!isKept) remove();
      });
    },
  };
}

async function explained(
  parts: AnswerCacheParts,
  recent: RecentParts,
  { alias, snapshot, endpoint, form, facts, canonical, ...call }: CacheQuestion,
): Promise<CacheExplained> {
  const { cache: rule } = alias;
  const isOpen = form === null || canonical === null || canonical.elsewhere === true;
  if (rule === undefined || isOpen) return { outcome: 'bypass', ageS: null, differs: null };
  const key = cacheKeyOf({ alias, rule, providers: snapshot.providers, call, endpoint, form, facts }, canonical);
  const wish = { use: 'any', maxAgeS: null } as const;
  const landed = await look({ ...parts, onLook() {}, key, rule, wish, tag: null });
  if (landed === null) {
    return { outcome: 'miss', ageS: null, differs: recent.differing(`${key.scope} ${alias.id}`, key.parts) };
  }
  return { outcome: 'hit', ageS: Math.floor((parts.clock.wallMs() - landed.atMs) / 1_000), differs: null };
}

/** A request with the place of its answer. */
interface Keyed extends AnswerCacheParts {
  key: PartedKey;
  rule: AliasCache;
  wish: CacheWish;
  tag: string | null;
}

const notCached: Failure = {
  kind: 'not-cached',
  message: "No answer is kept for this request, and x-culvert-cache is 'only'. Leave the header out to ask the model.",
};

function refused({ sink, admitted }: ModelCall, failure: Failure): 'answered' {
  refuse(sink, failure, admitted.headers);
  return 'answered';
}

function goingOn<R, P extends Plan>(
  { call, plan }: Asked<R, P>,
  said: 'miss' | 'bypass',
  changed: Partial<Pick<ModelCall, 'client' | 'sink' | 'keeping' | 'cacheUse'>>,
  end: () => void,
): CacheTurn<P> {
  const headers = [...(plan.headers ?? []), 'x-culvert-cache', said];
  return { call: { ...call, ...changed }, plan: { ...plan, headers }, end };
}

/** Null: nobody can say what this request has in common with others. */
async function canonicalOf<I, R extends RequestBody, P extends Plan>(
  { readable }: Endpoint<I, R, P>,
  call: ModelCall,
  input: I,
): Promise<Canonical | null> {
  const found = await readable?.(call, input)?.canonical();
  // What lies elsewhere may change there.
  return found?.ok === true && found.value.elsewhere !== true ? found.value : null;
}

function leftMs(clock: Clock, { call, plan }: Pick<Asked<unknown, Plan>, 'call' | 'plan'>): number {
  const { totalMs } = plan.alias;
  const allowedMs = Math.min(totalMs, call.wishes.timeoutMs ?? totalMs);
  return Math.max(0, call.startedMs + allowedMs - clock.monotonicMs());
}

/** The kept answer that the caller and the operator take; null: there is none. */
async function look({ store, clock, onLook, key, rule, wish }: Keyed): Promise<Landed | null> {
  if (wish.use === 'refresh') return null;
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('the cache is slow')), lookMsMax);
    });
    const found = await Promise.race([store.get(key.scope, key.digest), late]);
    const ageMs = found === null ? 0 : clock.wallMs() - found.atMs;
    const isFresh = ageMs < rule.ttlMs && (wish.maxAgeS === null || ageMs < wish.maxAgeS * 1_000);
    const entry = found === null || !isFresh ? null : unpackEntry(found.body, key);
    const isDamaged = found !== null && isFresh && entry === null;
    if (found === null || entry === null) onLook(isDamaged ? 'error' : 'miss', 0);
    return found === null || entry === null ? null : { entry, atMs: found.atMs };
  } catch {
    onLook('error', 0);
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves once it is written, or after a while. Never rejects. */
async function write(
  { store, onLook, key, rule, tag }: Keyed,
  { principal }: ModelCall,
  model: string,
  { entry, atMs }: Landed,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, writeMsMax);
  });
  const body = packEntry(entry, key);
  const kept = { atMs, expiresAtMs: atMs + rule.ttlMs, keyId: principal.keyId, model, tag, body };
  const writing = store.put(key.scope, key.digest, kept).catch(() => onLook('error', 0));
  await Promise.race([writing, late]);
  clearTimeout(timer);
}
