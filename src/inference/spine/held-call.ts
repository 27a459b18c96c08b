import type { Principal } from '../../books/auth/principal.ts';
import type { CacheUse } from '../../books/ledger/settled-request.ts';
import type { Admitted, Claim, RequestFacts, Reservation } from '../../books/metering/admission.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { RouteRecord, RoutingPreferences, RulesRecord } from '../../routing/route.ts';
import type { EndedJob, JobProgress } from './job.ts';
import type { SpineServices } from './services.ts';
import type { HeaderList } from './sink.ts';

/** Facts of an admitted call that its row in the ledger keeps. */
export interface ChargedCall {
  /** Ours: `req_…`. */
  requestId: string;
  /** The caller's x-request-id when it is a sane one. */
  clientRequestId: string | null;
  principal: Principal;
  admitted: Admitted;
  /** Tag by which its use is summed, of `x-culvert-tag`; null: its body may have it. */
  tag: string | null;
  /** Null: nobody traces it. */
  trace: Trace | null;
  /** Use of the cache of its model; absent: none. */
  cacheUse?: CacheUse;
  /** The prompt that it or its variant names, as `name@3`; absent: none. */
  prompt?: string;
  /** Changes by rules for routes; absent: there are none. */
  rules?: RulesRecord;
  /** Findings of steps, as headers; absent: none applies. */
  stepHeaders?: (() => HeaderList) | undefined;
  /** Session of its headers; absent: it has none. */
  preferences?: Pick<RoutingPreferences, 'session'>;
  /** Its session where neither headers nor body name one: the trace of its caller. Absent: there is none. */
  run?: string | undefined;
  /**
   * It is for a provider's own batch API. `prepared`: it runs up to where it would be sent, and nobody may wait for its
   * answer. `answeredBy`: the batch there that has its answer, which is to be paid. Absent: it is asked now.
   */
  batched?: 'prepared' | { answeredBy: string } | undefined;
  /** Wall-clock and monotonic ms of arrival. */
  atMs: number;
  startedMs: number;
}

/** Maximum cost of a call, and the names under which the ledger keeps it. */
export interface Charge extends Pick<Claim, 'endpoint' | 'alias' | 'tier' | 'costMilli' | 'user' | 'tag'> {
  /** Tokens; 0 if absent. */
  inputTokensEstimate?: number;
  furtherModels?: Claim['furtherModels'] | undefined;
}

export function newProgress(calls = 1): JobProgress {
  return {
    attempts: [],
    losses: [],
    malformedLines: 0,
    verdicts: [],
    passThrough: false,
    answeredBy: null,
    delivered: 'nothing',
    calls,
    mark: undefined,
    firstTokenMs: null,
    usage: null,
    usageSource: 'none',
    besideUsd: 0,
    heldBack: null,
    status: 0,
    class: 'ok',
  };
}

type HoldParts = Pick<SpineServices, 'admission' | 'settlement' | 'clock' | 'finished'>;

/** A call whose cost is held. It ends in `settle` or `release`, in a `finally`; only the first counts. */
export interface HeldCall {
  readonly kind: 'held';
  readonly claim: Claim;
  readonly reserved: Reservation;
  /** Monotonic ms at which its work began. */
  startedMs: number;
  /** For a reservation that waited: its work has begun. */
  began(): void;
  /**
   * Whatever way the call ended. `doneMilli`: as settlement's, less than was held. `counts`: in metrics; `in limits`: in
   * these alone, and it is settled later.
   */
  settle(ended: EndedJob, doneMilli?: number, counts?: 'a request' | 'no request' | 'in limits'): void;
  /** Gives all of it back: it was held for calls that have separate rows. */
  release(): void;
}

/** Holds what a call costs: the only way to a reservation, before all that costs. The failure when there is no room. */
export async function holdCall(services: HoldParts, call: ChargedCall, charge: Charge): Promise<HeldCall | Failure> {
  const { requestId, principal, admitted, atMs, trace } = call;
  const { endpoint, alias, tier, costMilli, inputTokensEstimate = 0, user = null } = charge;
  const tag = call.tag ?? charge.tag ?? null;
  // biome-ignore format: one literal, since a spread would be a copy for every request.
  const claim: Claim = { requestId, principal, admitted, endpoint, alias, tier, user, tag, costMilli, inputTokensEstimate, atMs };
  if (charge.furtherModels !== undefined) claim.furtherModels = charge.furtherModels;
  const reservedMs = trace === null ? 0 : services.clock.monotonicMs();
  const reserved = await services.admission.reserve(claim);
  if (trace !== null) noteStep(services, trace, 'reserve', reservedMs, reserved);
  if (reserved.kind !== 'reserved') return reserved;
  const held: HeldCall = {
    kind: 'held',
    claim,
    reserved,
    startedMs: call.startedMs,
    began: () => services.settlement.began(reserved, claim),
    settle(ended, doneMilli, counts = 'a request') {
      const { progress, client, stream } = ended;
      const aborted = client.disconnected && progress.delivered !== 'whole';
      const target = progress.answeredBy?.target ?? null;
      const ofRun = principal.run === undefined ? null : `run:${principal.run.id}`;
      const settledMs = trace === null ? 0 : services.clock.monotonicMs();
      const facts: RequestFacts = {
        claim,
        clientRequestId: call.clientRequestId,
        delivery:
          (aborted || progress.ranOut) && progress.delivered === 'nothing' && progress.attempts.length > 0
            ? 'abandoned'
            : progress.delivered,
        doneMilli,
        status: aborted && !client.committed ? 499 : progress.status,
        class: aborted ? 'aborted' : progress.class,
        stream,
        aborted,
        ms: (progress.endedMs ?? services.clock.monotonicMs()) - held.startedMs,
        firstTokenMs: progress.firstTokenMs,
        target: target?.id ?? null,
        price: target?.price ?? null,
        usage: progress.usage,
        usageSource: progress.usageSource,
        besideUsd: progress.besideUsd,
        savedUsd: progress.savedUsd ?? null,
        cacheUse: call.cacheUse,
        user,
        tag: call.tag ?? ended.tag ?? null,
        session: call.preferences?.session ?? ofRun ?? ended.session ?? call.run ?? null,
        variant: ended.variant ?? null,
        route: routeOf(call, alias, ended),
      };
      const end = counts === 'in limits' ? counts : 'for good';
      const event = services.settlement.settle(reserved, facts, end);
      if (event === null) return;
      // It covers the request's part: the commit comes after it.
      if (trace !== null) noteStep(services, trace, 'settle', settledMs, reserved);
      if (counts === 'no request') return;
      trace?.settled(event);
      services.finished(event, trace);
    },
    release() {
      const progress = { ...newProgress(), status: 200 };
      const ended = { stream: false, progress, client: { disconnected: false, committed: true } };
      held.settle(ended, undefined, 'no request');
    },
  };
  return held;
}

/** A call of the stores is a step of its request's trace. */
function noteStep(
  { clock }: HoldParts,
  trace: Trace,
  name: string,
  startedMs: number,
  { kind }: Reservation | Failure,
): void {
  trace.step({ name, startedMs, endedMs: clock.monotonicMs(), error: kind === 'reserved' ? null : kind });
}

function routeOf(call: ChargedCall, alias: string, { progress, mcp, agent }: EndedJob): RouteRecord {
  const { verdicts, attempts, losses, passThrough, malformedLines, cacheAgeMs, cacheSimilarity } = progress;
  const route: RouteRecord = { alias, verdicts, attempts, losses, passThrough };
  const share = progress.answeredBy?.target.priceShare;
  if (share !== undefined) route.priceShare = share;
  if (malformedLines > 0) route.malformedLines = malformedLines;
  if (mcp !== undefined) route.mcp = mcp;
  if (agent !== undefined) route.agent = agent;
  if (call.rules !== undefined) route.rules = call.rules;
  if (call.prompt !== undefined) route.prompt = call.prompt;
  if (cacheAgeMs !== undefined) route.cacheAgeMs = cacheAgeMs;
  if (cacheSimilarity !== undefined) route.cacheSimilarity = cacheSimilarity;
  if (typeof call.batched === 'object') route.batch = call.batched.answeredBy;
  if (call.stepHeaders !== undefined) route.steps = call.stepHeaders();
  return route;
}
