import { serverPrincipal } from '../../books/auth/principal.ts';
import type { CacheStore } from '../../books/metering/cache-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { systemRandom } from '../../kernel/random.ts';
import type { AliasCache } from '../models/alias.ts';
import type { AnswerGate, Canonical } from '../models/steps.ts';
import type {
  AnswerCache,
  CacheExplained,
  CacheQuestion,
  CacheTurn,
  CheckedHits,
  InnerCalls,
} from '../spine/answer-cache.ts';
import type { CachedForm, Endpoint, Plan, PlannedRequest } from '../spine/endpoint.ts';
import type { ModelCall } from '../spine/model-call.ts';
import type { RequestBody } from '../spine/request-body.ts';
import type { SpineServices } from '../spine/services.ts';
import { refuse, type Sink } from '../spine/sink.ts';
import { type CacheDirectives, readCacheDirectives } from './cache-directives.ts';
import { cacheKeyOf, filterOf, type KeyFacts, type PartedKey } from './cache-key.ts';
import type { KeepingEvents } from './collected-events.ts';
import { type Flight, Flights } from './flight.ts';
import { joinStream } from './join-stream.ts';
import { KeepingSink } from './keep-bytes.ts';
import { keepingSteps } from './keep-events.ts';
import { LiveAnswer } from './live-answer.ts';
import { look, notCached, write } from './look-up.ts';
import type { CachedAnswer } from './packed-entry.ts';
import { RecentParts } from './recent-parts.ts';
import { answerHeld, givenTo, replay } from './replay.ts';
import type { SemanticCache, Similar } from './semantic/semantic-cache.ts';

export interface AnswerCacheParts {
  store: CacheStore;
  clock: Clock;
  /** `error`: the store was slow or gone, or what it gave is damaged. That is a miss, too. */
  cacheLookup(outcome: 'hit' | 'semantic' | 'miss' | 'error', savedUsd: number): void;
  /** A later hit of a semantic cache was compared with what the model says. */
  cacheChecked(isRight: boolean): void;
  /** Models of this server; asked for once a model has `semantic`. */
  calls(): Promise<InnerCalls>;
}

/** Answers of equal requests, which one process asks for once. */
export function createAnswerCache(parts: AnswerCacheParts): AnswerCache {
  const flights = new Flights();
  const recent = new RecentParts();
  const checked = new Map<string, CheckedHits>();
  let semantic: Promise<SemanticCache> | null = null;
  const openSemantic = () => {
    semantic ??= openSemanticCache(parts, checked);
    return semantic;
  };

  return {
    explain: (question) => explained(parts, recent, question),
    checked: () => checked,
    waiting: () => flights.waiting(),
    enter: (services, endpoint, planned, input) =>
      enter({ ...parts, flights, recent, openSemantic }, services, endpoint, planned, input),
    async share(services, endpoint, planned, input) {
      const { shareWork } = await import('./share-work.ts');
      return shareWork({ ...parts, flights }, services, endpoint, planned, input);
    },
  };
}

interface Entered extends AnswerCacheParts {
  flights: Flights;
  recent: RecentParts;
  openSemantic(): Promise<SemanticCache>;
}

/** Name under which equal requests wait for one answer; null: this one neither waits nor is waited for. */
function flightPlace(
  { scope, digest }: PartedKey,
  { use, maxAgeS, exact }: CacheDirectives,
  { batched, gate }: ModelCall,
): string | null {
  const isPlain = use === 'any' && maxAgeS === null && !exact;
  // Nothing answers a line that is only prepared: others would wait for it in vain.
  if (!isPlain || batched !== undefined) return null;
  // An answer that a guard's service judges is kept late, or not at all: nobody else waits for that.
  return gate?.judge == null ? `${scope} ${digest}` : `${scope} ${digest} judged`;
}

/** Directives of the caller. An answer of a batch is paid: it is kept, and charged though one is kept already. */
function directivesOf({ callerHeaders, batched }: ModelCall): CacheDirectives | Failure {
  const named = readCacheDirectives(callerHeaders);
  return isFailure(named) || typeof batched !== 'object' || named.use === 'off' ? named : { ...named, use: 'refresh' };
}

/** Requests that a caller waits for in turn, each of which its own limits refuse. */
const handOversMax = 16;

/** The port's `enter`. */
async function enter<I, R extends RequestBody, P extends Plan>(
  parts: Entered,
  services: SpineServices,
  endpoint: Endpoint<I, R, P>,
  planned: PlannedRequest<R, P>,
  input: I,
): Promise<CacheTurn<P>> {
  const { clock, cacheLookup, flights } = parts;
  const { call, plan, request } = planned;
  const directives = directivesOf(call);
  if (isFailure(directives)) return refused(call, directives);
  const rule = plan.alias.cache;
  const form = rule === undefined || directives.use === 'off' ? null : (endpoint.keeps?.(request) ?? null);
  const part = rule?.semantic === undefined || directives.exact ? undefined : 'question';
  const canonical = form === null ? null : await canonicalOf(endpoint, planned, input, part);
  if (rule === undefined || form === null || canonical === null) {
    return directives.use === 'only' ? refused(call, notCached) : goingOn(planned, 'bypass', {}, () => {});
  }
  const { providers } = planned.snapshot;
  const { id: name } = endpoint;
  const { alias, chosen } = plan;
  const { targets } = plan.query;
  const facts = { alias, rule, providers, targets, chosen, call, endpoint: name, form, facts: request.facts };
  const key = cacheKeyOf(facts, canonical);
  const keyed: Keyed = { ...parts, key, rule, directives, tag: call.tag ?? request.facts.tag ?? null };

  const at = flightPlace(key, directives, call);
  let turn = flights.join(at);
  // A guard may find something in the whole that none of its parts shows.
  const isJoinable = form === 'events' && plan.form === 'events' && (call.gate ?? call.answerTexts) === undefined;
  let similar: Similar | null = null;
  const misses = lateMisses(parts);
  try {
    const join = isJoinable ? (live: LiveAnswer) => joined(services, endpoint, planned, live) : null;
    const equalNow = () =>
      turn.under === undefined
        ? look({ ...keyed, ...misses })
        : turn.under.wait(call.client, leftMs(clock, planned), join);
    let equal = await equalNow();
    for (let others = 0; equal === 'refused'; others += 1) {
      turn = flights.join(others < handOversMax ? at : null);
      equal = await equalNow();
    }
    if (equal instanceof LiveAnswer) {
      cacheLookup('hit', equal.usd ?? 0);
      return 'answered';
    }
    similar = equal === null ? await askSimilar(keyed, planned, facts, canonical) : null;
    const landed = similar !== null && 'landed' in similar ? similar.landed : equal;
    const given = landed === null ? null : givenTo(endpoint, planned, landed.entry, clock.wallMs());
    if (landed !== null && given !== null) {
      turn.flight?.land(landed);
      turn.remove();
      cacheLookup(landed.similarity === undefined ? 'hit' : 'semantic', landed.entry.usd ?? 0);
      await replay(services, endpoint, planned, landed, given);
      return 'answered';
    }
  } catch (error) {
    turn.flight?.land(null);
    turn.remove();
    throw error;
  }
  misses.report();
  if (directives.use === 'only') return refused(call, notCached);

  const isLabelled = canonical.labelled === true;
  const { flight, remove } = turn;
  return missed(keyed, planned, { form, endpoint: name, isJoinable, isLabelled, flight, remove, similar });
}

/** A request whose model is asked. */
interface Missed {
  form: CachedForm;
  endpoint: string;
  /** Others may take its stream while it comes. */
  isJoinable: boolean;
  /** The request names its user, or has a label for a provider's records, and its answer may repeat either. */
  isLabelled: boolean;
  /** Requests that wait for its answer; null: the answer is for this one alone. */
  flight: Flight | null;
  remove(): void;
  similar: Similar | null;
}

function missed<R, P extends Plan>(
  keyed: Keyed,
  planned: PlannedRequest<R, P>,
  { form, endpoint, isJoinable, isLabelled, flight, remove, similar }: Missed,
): CacheTurn<P> {
  const { clock, recent, key, rule } = keyed;
  const { call, plan } = planned;
  let live: LiveAnswer | null = null;
  const keep = (entry: CachedAnswer) => {
    if (live !== null) live.usd = entry.usd;
    const landed = { entry, atMs: clock.wallMs() };
    recent.add(`${key.scope} ${plan.alias.id}`, key.parts);
    flight?.land(landed);
    write(keyed, call, plan.alias.id, landed);
    remove();
    if (similar !== null && 'learn' in similar) similar.learn(entry);
  };
  const client = flight === null ? call.client : flight.clientOf(call.client);
  const begun = (begins: LiveAnswer) => {
    live = begins;
    flight?.begin(begins);
  };
  // Others are not bound by a time that this caller sets.
  const isLed = isJoinable && call.preferences.timeoutMs === null;
  const sink = flight?.sinkOf(call.sink, (failed) => live?.end(failed)) ?? call.sink;
  const lost = () => {
    flight?.land(null);
    remove();
  };
  const { repaired } = call.gate ?? {};
  /** The answer has ended, and is not read yet. */
  let isUnread = false;
  const later = (work: () => void) => {
    isUnread = true;
    setImmediate(work);
  };
  const as = isLabelled || rule.semantic !== undefined ? 'events' : 'bytes';
  const keeping = {
    keep,
    lost,
    begin: isLed ? begun : null,
    repaired,
    others: flight ?? undefined,
    later,
    as,
  } as const;
  const keeper = keeperOf(keeping, form, rule, sink, endpoint);
  return goingOn(planned, 'miss', { client, sink, ...keeper, cacheUse: 'miss' }, (refused) => {
    if (isUnread) return;
    live?.end({ failure: { kind: 'internal' }, headers: [] });
    if (refused?.kind === 'quota-exceeded') flight?.land('refused');
    lost();
  });
}

/** Gives a request the stream that an equal one gets. */
function joined<I, R extends RequestBody, P extends Plan>(
  services: SpineServices,
  endpoint: Endpoint<I, R, P>,
  planned: PlannedRequest<R, P>,
  live: LiveAnswer,
): Promise<void> {
  return answerHeld(services, endpoint, planned, 'hit', (trials, job) => joinStream(trials, job, live, services.clock));
}

/** Holds a miss back: what is not kept for an equal question may be kept for a similar one. */
function lateMisses({ cacheLookup }: Pick<AnswerCacheParts, 'cacheLookup'>) {
  let missed = false;
  return {
    cacheLookup(...[outcome, savedUsd]: Parameters<typeof cacheLookup>): void {
      if (outcome === 'miss') missed = true;
      else cacheLookup(outcome, savedUsd);
    },
    report(): void {
      if (missed) cacheLookup('miss', 0);
    },
  };
}

/** Sink that collects the answer for `keep`. */
function keeperOf(
  { keep, lost, ...live }: Omit<KeepingEvents, 'toolCalls'>,
  form: CachedForm,
  { toolCalls }: AliasCache,
  sink: Sink,
  endpoint: string,
): Pick<ModelCall, 'keeping'> | Pick<ModelCall, 'sink'> {
  return form === 'events'
    ? { keeping: keepingSteps({ toolCalls, keep, lost, ...live }) }
    : { sink: new KeepingSink(sink, endpoint, { keep, lost }) };
}

async function openSemanticCache(
  { calls, cacheChecked, ...parts }: AnswerCacheParts,
  checked: Map<string, CheckedHits>,
): Promise<SemanticCache> {
  const { SemanticCache } = await import('./semantic/semantic-cache.ts');
  return new SemanticCache({
    ...parts,
    random: systemRandom,
    calls: await calls(),
    onChecked(model, isRight) {
      const counts = checked.get(model) ?? { checked: 0, wrong: 0 };
      checked.set(model, { checked: counts.checked + 1, wrong: counts.wrong + (isRight ? 0 : 1) });
      cacheChecked(isRight);
    },
  });
}

/** Looks for the answer to a similar question. Null: none may serve this request, and its answer serves no other. */
async function askSimilar(
  keyed: Keyed,
  { call, plan, snapshot }: Pick<PlannedRequest<unknown, Plan>, 'call' | 'plan' | 'snapshot'>,
  facts: KeyFacts,
  canonical: Canonical,
): Promise<Similar | null> {
  const { key, rule, directives, tag } = keyed;
  const { question } = canonical;
  if (question === undefined || rule.semantic === undefined || directives.use === 'refresh') return null;
  const filter = filterOf(facts, canonical, snapshot.models.resolve(rule.semantic.model, serverPrincipal));
  if (filter === null) return null;
  const cache = await keyed.openSemantic();
  return cache.ask({
    rule: rule.semantic,
    text: question.text,
    filter,
    answerKey: key,
    row: { keyId: call.principal.keyId, model: plan.alias.id, tag },
    answerOf: (digest) => look({ ...keyed, cacheLookup() {}, key: { scope: key.scope, digest } }),
  });
}

const repairing: AnswerGate = { request: null, judge: null, repaired: () => null };

async function explained(
  parts: AnswerCacheParts,
  recent: RecentParts,
  { alias, snapshot, targets, endpoint, form, facts, canonical, ...call }: CacheQuestion,
): Promise<CacheExplained> {
  const { cache: rule } = alias;
  const isOpen = form === null || canonical === null || canonical.elsewhere === true;
  if (rule === undefined || isOpen) return { outcome: 'bypass', ageS: null, differs: null };
  const { providers } = snapshot;
  const directives = { use: 'any', maxAgeS: null, exact: true } as const;
  const keyed = (gate?: AnswerGate) =>
    cacheKeyOf({ alias, rule, providers, targets, call: { ...call, gate }, endpoint, form, facts }, canonical);
  const lookAt = (key: PartedKey) => look({ ...parts, cacheLookup() {}, key, rule, directives });
  const key = keyed();
  // No guard runs here, so nobody knows whether one would repair the answer.
  const landed = (await lookAt(key)) ?? (await lookAt(keyed(repairing)));
  if (landed === null) {
    return { outcome: 'miss', ageS: null, differs: recent.differing(`${key.scope} ${alias.id}`, key.parts) };
  }
  return { outcome: 'hit', ageS: Math.floor((parts.clock.wallMs() - landed.atMs) / 1_000), differs: null };
}

/** A request with the place of its answer. */
interface Keyed extends AnswerCacheParts {
  key: PartedKey;
  rule: AliasCache;
  directives: CacheDirectives;
  tag: string | null;
  recent: RecentParts;
  openSemantic(): Promise<SemanticCache>;
}

function refused({ sink, admitted }: ModelCall, failure: Failure): 'answered' {
  refuse(sink, failure, admitted.headers);
  return 'answered';
}

function goingOn<R, P extends Plan>(
  { call, plan }: PlannedRequest<R, P>,
  outcome: 'miss' | 'bypass',
  changed: Partial<Pick<ModelCall, 'client' | 'sink' | 'keeping' | 'cacheUse'>>,
  end: (refused: Failure | null) => void,
): CacheTurn<P> {
  const headers = [...(plan.headers ?? []), 'x-culvert-cache', outcome];
  return { call: { ...call, ...changed }, plan: { ...plan, headers }, end };
}

/** Parts of a request by which others are compared with it; null: they are not known. */
async function canonicalOf<I, R extends RequestBody, P extends Plan>(
  { readable }: Endpoint<I, R, P>,
  { call, request }: PlannedRequest<R, P>,
  input: I,
  part?: 'question',
): Promise<Canonical | null> {
  const found = request.canonical?.(part) ?? (await readable?.(call, input)?.canonical(part));
  // What is stored elsewhere may change there.
  return found === undefined || isFailure(found) || found.elsewhere === true ? null : found;
}

function leftMs(clock: Clock, { call, plan }: Pick<PlannedRequest<unknown, Plan>, 'call' | 'plan'>): number {
  const { totalMs } = plan.alias;
  const allowedMs = Math.min(totalMs, call.preferences.timeoutMs ?? totalMs);
  return Math.max(0, call.startedMs + allowedMs - clock.monotonicMs());
}
