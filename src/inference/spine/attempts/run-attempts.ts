import { engineProvider } from '../../../engines/embedding-engine.ts';
import type { Fault, OutcomeClass } from '../../../formats/neutral/outcome.ts';
import type { Clock } from '../../../kernel/clock.ts';
import {
  type Failure,
  FailureError,
  isFailure,
  type LastingCause,
  statusOf,
  type UpstreamsFailed,
} from '../../../kernel/failure.ts';
import { incapable } from '../../../routing/capability.ts';
import { createRoute } from '../../../routing/create-route.ts';
import type { AttemptRecord, Route, RouteAttempt, RouteStep, UpstreamLimit } from '../../../routing/route.ts';
import { Answer } from '../answer.ts';
import type { ContestParts, Job } from '../job.ts';
import type { Bytes } from '../sink.ts';
import { refusalHeaders } from '../steps/changed-headers.ts';
import { Contest, isRefusal, type MakeTrial } from './contest.ts';

/** Steps that a family adds to the attempts at its requests. */
export interface AttemptSteps<C = Bytes> {
  /** The work of one attempt. */
  trial: MakeTrial<C>;
  /** Another way to an answer when every target has failed without one; absent: none. Ends the client's answer. */
  lastResort?: () => Promise<void>;
  /** Adds to a refusal of every converter; absent: its words stay. */
  remedy?: (failure: Failure) => Promise<Failure>;
}

/**
 * Attempts until the client has an answer, nothing is left to try, the client has gone or the deadline has passed. Ends
 * the client's answer in every case; never throws for an upstream's fault.
 */
export async function runAttempts<C>(
  parts: ContestParts,
  job: Job<C>,
  steps: AttemptSteps<C>,
  given?: Route,
): Promise<void> {
  const { client, progress, query } = job;
  const { clock, health, retryBudget, random } = parts;
  const route = given ?? createRoute(query, { health, retryBudget, random, nowMs: clock.monotonicMs() });
  /** The first one is the answer, whatever a second opinion or a larger context ends with. */
  let refusal: Fault | null = null;
  let unencodable: Failure | null = null;
  const unable: string[] = [];
  try {
    for (;;) {
      if (client.disconnected) return left(job);
      const step = route.next(clock.monotonicMs());
      if (step.kind === 'exhausted') {
        const refused = progress.attempts.length > 0 || unencodable === null ? null : withTargets(unencodable, unable);
        return await lastWay(job, steps, refused ?? exhausted(step, job, route, refusal), refused !== null);
      }
      const delayMs = step.kind === 'wait' ? step.ms : step.delayMs;
      // The route waits once: what it says next is why.
      if (step.kind === 'wait' && delayMs >= job.deadlineMs - clock.monotonicMs()) continue;
      if (delayMs > 0 && !(await pause(parts, job, delayMs))) {
        if (step.kind === 'attempt') giveBack(route, step.attempt, 'cancelled', clock);
        return client.disconnected ? left(job) : end(job, refusal === null ? failed(job) : refusedBy(job, refusal));
      }
      if (step.kind === 'wait') continue;
      let fault: Fault | null;
      try {
        const contest = new Contest(parts, job, route, steps.trial);
        const answer = new Answer(contest, step.attempt);
        const made = steps.trial(answer);
        const trial = made instanceof Promise ? await made : made;
        if (isFailure(trial)) {
          unencodable = trial;
          unable.push(step.attempt.target.id);
          giveBack(route, step.attempt, 'not_capable', clock);
          continue;
        }
        // Converting a large body takes a while; nothing else tells that the caller left meanwhile.
        if (client.disconnected) {
          giveBack(route, step.attempt, 'cancelled', clock);
          return left(job);
        }
        fault = await contest.run(answer, trial);
        refusal ??= contest.refusal;
      } catch (error) {
        // A fault of ours: the target is not blamed, and the caller gets a 500 unless it says what it is.
        giveBack(route, step.attempt, 'cancelled', clock);
        if (error instanceof FailureError) return end(job, error.failure);
        progress.class = 'internal';
        progress.status = client.committed ? 200 : 500;
        throw error;
      }
      if (fault === null) return;
      if (fault.class === 'cancelled') return left(job);
      if (progress.delivered === 'nothing' && fault.class === 'deadline' && progress.heldBack !== null)
        return await progress.heldBack();
      if (progress.delivered !== 'nothing' || fault.class === 'deadline') {
        const last = progress.delivered === 'nothing' ? refusal : isRefusal(fault.class) ? fault : null;
        // One that lacks what is asked for does not speak for one that was still asked.
        return end(job, last === null || last.lacks === true ? failed(job, fault) : refusedBy(job, last));
      }
    }
  } finally {
    const verdicts = route.verdicts();
    progress.verdicts = progress.verdicts.length === 0 ? verdicts : [...verdicts, ...progress.verdicts];
  }
}

/** A refusal that a converter words for whichever target it is. */
function withTargets(failure: Failure, targets: readonly string[]): Failure {
  if (failure.kind !== 'invalid-request') return failure;
  return { ...failure, message: `${failure.message} (${targets.slice(0, targetsNamedMax).join(', ')})` };
}

const targetsNamedMax = 3;

/** Nothing is left to try: a held-back answer, the family's last resort, or the failure. `isOfConverters`: it is the refusal of all of them. */
async function lastWay<C>(
  job: Job<C>,
  { remedy, lastResort }: AttemptSteps<C>,
  found: Failure,
  isOfConverters: boolean,
): Promise<void> {
  if (job.progress.heldBack !== null) return await job.progress.heldBack();
  const failure = isOfConverters ? ((await remedy?.(found)) ?? found) : found;
  if (lastResort !== undefined && !isSettled(failure)) return await lastResort();
  end(job, failure);
}

/** No other way of asking changes it. */
function isSettled({ kind }: Failure): boolean {
  return kind === 'upstream-refused' || kind === 'guard-blocked' || kind === 'guard-unanswered';
}

/** An attempt that was not made: its target is not blamed. */
function giveBack(route: Route, attempt: RouteAttempt, outcome: 'cancelled' | 'not_capable', clock: Clock): void {
  route.ended(attempt, { class: outcome, retryAfterMs: null }, clock.monotonicMs());
}

/** The client left before the answer was complete. 499 is the ledger's word for it; nobody receives it. */
function left<C>(job: Job<C>): void {
  const { progress, client, sink } = job;
  progress.status = client.committed ? 200 : 499;
  progress.class = 'aborted';
  // It still reads.
  if (client.cutFor !== null) sink.end({ failure: client.cutFor, headers: [], mark: progress.mark });
}

function end<C>(job: Job<C>, failure: Failure): void {
  const { progress, client, sink } = job;
  progress.class = failure.kind;
  // Where the status line is out, what the ledger keeps is what the client saw.
  progress.status = client.committed ? 200 : statusOf(failure);
  sink.end({ failure, headers: refusalHeaders(job, progress.callersLimits), mark: progress.mark });
}

function exhausted<C>(
  step: Extract<RouteStep, { kind: 'exhausted' }>,
  job: Job<C>,
  route: Route,
  refusal: Fault | null,
): Failure {
  const { attempts } = job.progress;
  if (step.reason === 'caller-fault' && refusal !== null) return refusedBy(job, refusal);
  if (step.reason === 'no-capable-target') return incapable(job.query.alias, step.unmet);
  const last = attempts.at(-1);
  if (last?.message != null) {
    if (attempts.every((attempt) => isOurs(attempt, 503))) return { kind: 'overloaded', message: last.message };
    if (attempts.every((attempt) => isOurs(attempt, 501))) return { kind: 'unsupported', message: last.message };
  }
  const limited = attempts.every(({ class: end }) => end === 'rate_limited' || end === 'caller_fault');
  if (!limited || step.soonestMs === null) return failed(job, null, route.untried() ? 'some' : 'none');
  const { limitedBy } = step;
  // A wait for the engines of this machine is not a limit of a provider.
  if (limitedBy !== null && !limitedBy.some(({ provider }) => provider === engineProvider)) {
    return upstreamsLimited(job, limitedBy, step.soonestMs);
  }
  return {
    kind: 'no-target',
    model: job.query.alias,
    retryAfterMs: step.soonestMs,
    message: `Every provider of model '${job.query.alias}' is unavailable or rate-limited right now${engineReason(job)}${boundReason(job)}. Retry in ${Math.max(1, Math.ceil(step.soonestMs / 1_000))} s.`,
  };
}

/** In words that say whose limit it is; how they end is what Codex reads the wait from (clients.md §2b). */
function upstreamsLimited<C>(job: Job<C>, limits: readonly UpstreamLimit[], waitMs: number): Failure {
  const { alias } = job.query;
  const messages = limits.map(({ provider, message }) => `${provider}: ${message ?? 'rate-limited'}`).join('; ');
  const waitS = Math.max(1, Math.ceil(waitMs / 1_000));
  const message = `Rate limit exceeded at every provider of model '${alias}' (${messages})${boundReason(job)}. This is the provider's limit, not your plan's. Try again in ${waitS}s.`;
  return { kind: 'upstreams-limited', model: alias, retryAfterMs: waitMs, message };
}

/** Why this machine could not do the attempt: 503 for no room in its queue, 501 for a program that it lacks. */
function isOurs({ class: outcome, status }: AttemptRecord, why: 503 | 501): boolean {
  return outcome === 'gateway_fault' && status === why;
}

/** Why nobody else was asked. */
function boundReason<C>({ bound }: Job<C>): string {
  return bound === null ? '' : ` (only one credential reaches what '${bound}' names)`;
}

/** Words of the engines of this machine: the progress of a download. */
function engineReason<C>({ progress }: Job<C>): string {
  const message = progress.attempts.findLast(({ provider }) => provider === engineProvider)?.message;
  return message == null ? '' : ` (${message})`;
}

function refusedBy<C>(job: Job<C>, fault: Fault): Failure {
  if (fault.failure !== undefined) return fault.failure;
  if (fault.callersLimits !== undefined) job.progress.callersLimits = fault.callersLimits;
  const provider = job.progress.attempts.find((attempt) => isRefusal(attempt.class))?.provider ?? 'upstream';
  return {
    kind: 'upstream-refused',
    status: statusForCaller(fault),
    message: fault.message,
    provider,
    param: fault.param ?? null,
    ...(fault.code !== undefined && { code: fault.code }),
    ...(fault.tooLong !== undefined && { tooLong: fault.tooLong }),
    ...(fault.class === 'caller_credential' && { retryAfterMs: fault.retryAfterMs ?? null }),
    ...(fault.members !== undefined && { members: fault.members }),
  };
}

/** Some say with another status that a prompt is too long, or what is wrong with a request: 401 and 403 are about keys here. */
function statusForCaller({ class: outcome, status }: Fault): number {
  if (outcome === 'too_long') return status === 413 ? 413 : 400;
  if (outcome === 'caller_fault' && (status === 401 || status === 403)) return 400;
  return status !== null && status >= 400 && status < 500 && status !== 422 ? status : 400;
}

/** Attempts that end so will end so again, until the operator has done something. */
const lastingCauses: Partial<Record<OutcomeClass, LastingCause['cause']>> = {
  bad_credential: 'credential',
  quota_exhausted: 'quota',
  model_unavailable: 'model',
  region_blocked: 'region',
};

/** Node's codes for a certificate that is over, of another name or by an unknown issuer, where the transport's words end. */
const certificateRefused = /\((?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_|SELF_SIGNED_|UNABLE_TO_)\w+\)$/;

function lastingIn(attempts: readonly AttemptRecord[]): Pick<UpstreamsFailed, 'lasting'> {
  const lasting = attempts.flatMap(({ provider, class: outcome, message }) => {
    const isUntrusted = outcome === 'unreachable' && certificateRefused.test(message ?? '');
    const cause = isUntrusted ? 'certificate' : lastingCauses[outcome];
    return cause === undefined ? [] : [{ provider, cause }];
  });
  return lasting.length > 0 && lasting.length === attempts.length ? { lasting } : {};
}

/** `last`: what ended the answer. `rest`: whether targets are left that a later try may reach. */
function failed<C>(job: Job<C>, last: Fault | null = null, rest: 'none' | 'some' = 'none'): Failure {
  const { attempts } = job.progress;
  return {
    kind: 'upstreams-failed',
    model: job.query.alias,
    attempts: attempts.map((attempt) => ({ provider: attempt.provider, reason: attempt.message ?? attempt.class })),
    ...(rest === 'none' && lastingIn(attempts)),
    ...(job.progress.delivered !== 'nothing' && { begun: true, ...(last !== null && reportedIn(last)) }),
  };
}

/** For callers. What concerns the operator's credential or account is not theirs. */
function reportedIn({ class: outcome, status, code, members }: Fault): Pick<UpstreamsFailed, 'reported'> {
  if (outcome !== 'rate_limited' && outcome !== 'transient' && outcome !== 'malformed') return {};
  const isShown = status !== null && (status === 429 || status >= 500);
  return {
    reported: {
      ...(isShown && { status }),
      ...(code !== undefined && { code }),
      ...(members !== undefined && { members }),
    },
  };
}

/** False when the caller left or the deadline came first. */
function pause<C>(parts: ContestParts, job: Job<C>, ms: number): Promise<boolean> {
  const leftMs = job.deadlineMs - parts.clock.monotonicMs();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(ms < leftMs), Math.min(ms, Math.max(0, leftMs)));
    job.client.onDisconnect(() => {
      clearTimeout(timer);
      resolve(false);
    });
  });
}
