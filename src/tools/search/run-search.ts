import { setTimeout as pause } from 'node:timers/promises';
import { type Fault, type FaultClass, fault } from '../../formats/neutral/outcome.ts';
import { noNeeds } from '../../formats/neutral/request.ts';
import type { FailedAttempt, Failure } from '../../kernel/failure.ts';
import type { Random } from '../../kernel/random.ts';
import { createRoute } from '../../routing/create-route.ts';
import type { Health } from '../../routing/health.ts';
import type { RetryBudget } from '../../routing/rolling-counts.ts';
import { builtInHedge, type Route, type RouteStep } from '../../routing/route.ts';
import { askCorpus, type Corpus, corpusWarning, emptyCorpus } from './corpus.ts';
import type { ConfiguredEngine } from './engine-targets.ts';
import { mergeHits, type SearchHit } from './merge-hits.ts';
import { type EngineOutcome, type QueryParts, queryEngine } from './query-engine.ts';
import type { SearchQuery } from './search-engine.ts';

export interface SearchRunParts extends QueryParts {
  random: Random;
  /** State of engines only; survives changes of the configuration. */
  health: Health;
  retryBudget: RetryBudget;
  corpus: Corpus;
  /** An engine was asked, not the pages of the caller; `end` is `ok` or the class of its fault. */
  onAttempt(engine: string, end: string): void;
  /** For the operator's log: other engines hide from every caller what only he can mend. */
  onTrouble(message: string): void;
}

/** One question on its way: whose it is, until when (monotonic ms), and whether anybody still waits. */
export interface SearchRun {
  tenant: string;
  query: SearchQuery;
  deadlineMs: number;
  signal: AbortSignal;
}

export interface FoundHits {
  kind: 'found';
  hits: readonly SearchHit[];
  provider: string;
  warnings: readonly string[];
}

const attemptsMax = 4;

/** Asks one engine after the other, as the router says, until one answers. Never rejects. */
export async function runSearch(
  parts: SearchRunParts,
  engines: readonly ConfiguredEngine[],
  run: SearchRun,
): Promise<FoundHits | Failure> {
  const tried: Tried[] = [];
  for (let left = engines; ; ) {
    const end = await follow(parts, left, run, tried);
    if (end !== 'refused') return end;
    // An engine that cannot be asked this says nothing of the others: they get a separate route.
    left = engines.filter((engine) => !tried.some((one) => one.engine === engine));
    if (left.length === 0) return failureOf(tried, null);
  }
}

function isOperators(faultClass: FaultClass): boolean {
  return faultClass === 'bad_credential' || faultClass === 'quota_exhausted' || faultClass === 'model_unavailable';
}

interface Tried {
  engine: ConfiguredEngine;
  fault: Fault;
}

async function follow(
  parts: SearchRunParts,
  engines: readonly ConfiguredEngine[],
  run: SearchRun,
  tried: Tried[],
): Promise<FoundHits | Failure | 'refused'> {
  const { clock } = parts;
  const route = routeOver(parts, engines, run.tenant);
  for (;;) {
    const nowMs = clock.monotonicMs();
    if (run.signal.aborted || nowMs >= run.deadlineMs) return failureOf(tried, null);
    const step = route.next(nowMs);
    if (step.kind === 'exhausted') return step.reason === 'caller-fault' ? 'refused' : failureOf(tried, step);
    const delayMs = step.kind === 'wait' ? step.ms : step.delayMs;
    const rested = delayMs === 0 || (await rest(delayMs, run, nowMs));
    if (step.kind === 'wait') {
      if (!rested) return failureOf(tried, null);
      continue;
    }
    const { attempt } = step;
    const engine = engines.find(({ target }) => target === attempt.target)!;
    const found = rested ? await ask(parts, engine, run) : fault('cancelled', 'there was no time left');
    const endMs = clock.monotonicMs();
    if (engine.driver !== null && found.class !== 'caller_fault') parts.onAttempt(engine.name, found.class);
    if (found.class === 'ok') {
      route.firstToken(attempt, endMs);
      route.ended(attempt, { class: 'ok', retryAfterMs: null }, endMs);
      return { kind: 'found', hits: found.hits, provider: engine.name, warnings: found.warnings };
    }
    route.ended(attempt, { class: found.class, retryAfterMs: found.retryAfterMs ?? null, status: found.status }, endMs);
    tried.push({ engine, fault: found });
    if (isOperators(found.class)) parts.onTrouble(`search engine ${engine.name}: ${found.message}`);
  }
}

function routeOver(
  { health, retryBudget, random, clock }: SearchRunParts,
  engines: readonly ConfiguredEngine[],
  tenant: string,
): Route {
  const targets = engines.map(({ target }) => ({ target, rank: 0 }));
  const query = { alias: 'search', tenant, targets, needs: noNeeds, conversation: null, attemptsMax } as const;
  return createRoute(
    { ...query, fallback: 'allowed', callerDialect: 'openai-chat', hedge: builtInHedge },
    { health, retryBudget, random, nowMs: clock.monotonicMs() },
  );
}

/** False when there is no time for it, or nobody waits. */
async function rest(ms: number, { deadlineMs, signal }: SearchRun, nowMs: number): Promise<boolean> {
  if (nowMs + ms >= deadlineMs) return false;
  return pause(ms, true, { signal }).catch(() => false);
}

function ask(
  parts: SearchRunParts,
  { driver, settings, target }: ConfiguredEngine,
  run: SearchRun,
): Promise<EngineOutcome> {
  if (driver === null) return searchStoredPages(parts, run);
  const timeoutMs = Math.min(target.timeouts.totalMs, run.deadlineMs - parts.clock.monotonicMs());
  return queryEngine(parts, { driver, settings }, run.query, { timeoutMs, signal: run.signal });
}

async function searchStoredPages({ corpus }: SearchRunParts, { tenant, query }: SearchRun): Promise<EngineOutcome> {
  if (query.source !== 'web') return fault('caller_fault', `it holds no ${query.source}`, 400);
  try {
    const raw = await askCorpus(corpus, tenant, query);
    // 404: of this tenant alone, so nothing that health should learn.
    if (raw === null) return fault('caller_fault', emptyCorpus, 404);
    return { class: 'ok', hits: mergeHits(raw, query, query.offset), warnings: [corpusWarning] };
  } catch {
    return fault('transient', 'the kept pages cannot be read right now');
  }
}

function failureOf(tried: readonly Tried[], step: Extract<RouteStep, { kind: 'exhausted' }> | null): Failure {
  const cooling = tried.every(({ fault: one }) => one.class === 'rate_limited');
  if (cooling && step !== null && step.soonestMs !== null) {
    const message = 'Every search engine is failing or rate-limited right now.';
    return { kind: 'no-target', model: 'search', retryAfterMs: step.soonestMs, message };
  }
  const attempts: FailedAttempt[] = tried.map(({ engine, fault: { message } }) => ({
    provider: engine.name,
    reason: message,
  }));
  const [first] = tried;
  if (first !== undefined && tried.every(({ fault: one }) => one.class === 'caller_fault')) {
    if (tried.every(({ fault: one }) => one.message === emptyCorpus))
      return { kind: 'overloaded', message: emptyCorpus };
    const message = attempts.map(({ reason }) => reason).join('; ');
    return { kind: 'upstream-refused', status: 400, message, provider: first.engine.name, param: null };
  }
  const isRefused = first !== undefined && tried.every(({ fault: one }) => one.class === 'bad_credential');
  const lasting = attempts.map(({ provider }) => ({ provider, cause: 'credential' as const }));
  return { kind: 'upstreams-failed', model: 'search', attempts, ...(isRefused && { lasting }) };
}
