import type { Claim, Delivered, Reservation } from '../../books/metering/admission.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { McpCallRecord, RouteRecord } from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import { type Job, type JobProgress, newProgress } from './job.ts';
import type { ModelCall } from './model-call.ts';
import type { SpineServices } from './services.ts';
import type { Client } from './sink.ts';

/** Facts of an admitted call that its row in the ledger keeps. */
export type ChargedCall = Pick<
  ModelCall,
  'requestId' | 'clientRequestId' | 'principal' | 'admitted' | 'tag' | 'trace' | 'atMs' | 'startedMs'
> &
  Partial<Pick<ModelCall, 'stepHeaders' | 'cacheUse' | 'prompt' | 'wishes'>>;

/** What a call costs at most, and the names under which the ledger keeps it. */
export interface Charge {
  endpoint: string;
  /** The model, or what is there in its place; '' for none. */
  alias: string;
  tier: string | null;
  costMilli: number;
  /** The end user and tag that the body names; absent or null: none. */
  user?: string | null;
  tag?: string | null;
  /** Tokens; 0 if absent. */
  inputTokensEstimate?: number;
}

/** The parts of a job that settlement reads. */
export type EndedJob = Pick<Job, 'user' | 'tag' | 'variant' | 'stream'> & {
  progress: Omit<JobProgress, 'answeredBy'> & {
    answeredBy: { target: Pick<Target, 'id' | 'price' | 'priceShare'> } | null;
  };
  client: Pick<Client, 'gone' | 'committed'>;
  mcp?: McpCallRecord | undefined;
};

type HoldParts = Pick<SpineServices, 'admission' | 'settlement' | 'clock' | 'finished'>;

/**
 * Holds what a call costs: the only way to a reservation. Nothing that costs runs before it. The failure when the plan
 * has no room for it.
 */
export async function holdCall(services: HoldParts, call: ChargedCall, charge: Charge): Promise<HeldCall | Failure> {
  const { requestId, principal, admitted, atMs, trace } = call;
  const { endpoint, alias, tier, costMilli, inputTokensEstimate = 0, user = null } = charge;
  const tag = call.tag ?? charge.tag ?? null;
  // biome-ignore format: one literal, since a spread would be a copy for every request.
  const claim: Claim = { requestId, principal, admitted, endpoint, alias, tier, user, tag, costMilli, inputTokensEstimate, atMs, trace };
  const reserved = await services.admission.reserve(claim);
  return reserved.kind === 'reserved' ? new HeldCall(services, call, claim, reserved) : reserved;
}

/** A call whose cost is held. It ends in `settle` or `release`, in a `finally`; only the first counts. */
export class HeldCall {
  readonly kind: 'held';
  readonly claim: Claim;
  readonly reserved: Reservation;
  /** Monotonic ms at which its work began. */
  startedMs: number;
  readonly #services: HoldParts;
  readonly #call: ChargedCall;

  constructor(services: HoldParts, call: ChargedCall, claim: Claim, reserved: Reservation) {
    this.kind = 'held';
    this.claim = claim;
    this.reserved = reserved;
    this.startedMs = call.startedMs;
    this.#services = services;
    this.#call = call;
  }

  /** Gives all of it back: it was held for calls that have rows of their own. */
  release(): void {
    const progress = { ...newProgress(), status: 200 };
    const ended = { user: null, stream: false, progress, client: { gone: false, committed: true } };
    this.settle(ended, undefined, 'no request');
  }

  /** Whatever way the call ended. `doneMilli`: as settlement's, less than was held. `of`: whether metrics count it. */
  settle(
    { progress, client, user, tag = null, variant = null, stream, mcp }: EndedJob,
    doneMilli?: number,
    of: 'a request' | 'no request' = 'a request',
  ): void {
    const { settlement, clock } = this.#services;
    const aborted = client.gone && progress.delivered !== 'whole';
    const target = progress.answeredBy?.target ?? null;
    const event = settlement.settle(this.reserved, {
      claim: this.claim,
      clientRequestId: this.#call.clientRequestId,
      delivery: deliveryOf(progress, aborted),
      doneMilli,
      status: aborted && !client.committed ? 499 : progress.status,
      class: aborted ? 'aborted' : progress.class,
      stream,
      aborted,
      ms: clock.monotonicMs() - this.startedMs,
      firstTokenMs: progress.firstTokenMs,
      target: target?.id ?? null,
      price: target?.price ?? null,
      usage: progress.usage,
      usageSource: progress.usageSource,
      besideUsd: progress.besideUsd,
      savedUsd: progress.savedUsd ?? null,
      cacheUse: this.#call.cacheUse,
      user,
      tag: this.#call.tag ?? tag,
      session: this.#call.wishes?.session ?? null,
      variant,
      route: this.#routeOf(progress, mcp),
    });
    if (event === null || of === 'no request') return;
    const { trace } = this.claim;
    trace?.settled(event);
    this.#services.finished(event, trace);
  }

  #routeOf(progress: EndedJob['progress'], mcp: McpCallRecord | undefined): RouteRecord {
    const { verdicts, attempts, losses, passThrough, malformedLines, cacheAgeMs, cacheSimilarity } = progress;
    const route: RouteRecord = { alias: this.claim.alias, verdicts, attempts, losses, passThrough };
    const share = progress.answeredBy?.target.priceShare;
    if (share !== undefined) route.priceShare = share;
    if (malformedLines > 0) route.malformedLines = malformedLines;
    if (mcp !== undefined) route.mcp = mcp;
    if (this.#call.prompt !== undefined) route.prompt = this.#call.prompt;
    if (cacheAgeMs !== undefined) route.cacheAgeMs = cacheAgeMs;
    if (cacheSimilarity !== undefined) route.cacheSimilarity = cacheSimilarity;
    if (this.#call.stepHeaders !== undefined) route.steps = this.#call.stepHeaders();
    return route;
  }
}

function deliveryOf(progress: Pick<JobProgress, 'delivered' | 'attempts'>, aborted: boolean): Delivered {
  if (progress.delivered === 'whole') return 'whole';
  if (progress.delivered === 'partial') return 'part';
  return aborted && progress.attempts.length > 0 ? 'abandoned' : 'nothing';
}
