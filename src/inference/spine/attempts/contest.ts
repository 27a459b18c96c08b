import { type Fault, fault, type OutcomeClass } from '../../../formats/neutral/outcome.ts';
import { usdOf } from '../../../formats/neutral/price.ts';
import { sumOf } from '../../../formats/neutral/usage.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { withOne } from '../../../kernel/json.ts';
import type { Trace } from '../../../kernel/trace.ts';
import { answerKindOf } from '../../../routing/lane.ts';
import type { AttemptEnd, AttemptRecord, HedgeReason, Route, RouteAttempt } from '../../../routing/route.ts';
import type { Overdue, SilenceWatch } from '../../../routing/silence.ts';
import { Answer, type AnswerContest, answeredElsewhere } from '../answer.ts';
import { besideUsd } from '../beside-usd.ts';
import type { ContestParts, Job } from '../job.ts';
import type { Bytes } from '../sink.ts';
import type { AttemptSeen, Trial } from './trial.ts';

/** The work of one attempt for `answer`; a Failure when its target cannot take the request. */
export type MakeTrial<C = Bytes> = (answer: Answer<C>) => Trial | Failure | Promise<Trial | Failure>;

/**
 * One attempt, and others at other targets while it stays silent. The first that has content becomes the client's
 * answer, and the others are stopped then. A failure decides only if nothing else runs.
 */
export class Contest<C> implements Overdue<Answer<C>>, AnswerContest<C> {
  readonly clock: Clock;
  readonly job: Job<C>;
  readonly route: Route;
  readonly #silence: SilenceWatch;
  readonly #makeTrial: MakeTrial<C>;
  #running: Answer<C>[] = [];
  /** The first attempt that found fault with the request itself, or with its length; null: none. */
  refusal: Fault | null = null;
  #winner: Answer<C> | null = null;
  /** Why it was made elsewhere as well, the last time. */
  #hedgedFor: HedgeReason | null = null;
  readonly #over = Promise.withResolvers<Fault | null>();
  #decided = false;

  constructor(parts: Pick<ContestParts, 'clock' | 'silence'>, job: Job<C>, route: Route, makeTrial: MakeTrial<C>) {
    this.clock = parts.clock;
    this.#silence = parts.silence;
    this.job = job;
    this.route = route;
    this.#makeTrial = makeTrial;
  }

  /** Null if the client has the whole answer; otherwise why not. The route has got every end. */
  run(answer: Answer<C>, trial: Trial): Promise<Fault | null> {
    this.#watchClient();
    this.#start(answer, trial);
    return this.#over.promise;
  }

  claim(answer: Answer<C>): boolean {
    if (this.#winner !== null) return this.#winner === answer;
    this.#winner = answer;
    // Before the others are stopped: what they cost is not the caller's.
    this.job.progress.answeredBy = answer.attempt;
    if (this.#running.length > 1 || this.#running[0] !== answer) this.#dropOthers();
    return true;
  }

  overdue(reason: HedgeReason): boolean {
    if (this.#winner !== null || this.#decided) return true;
    const attempt = this.route.hedge(reason, this.clock.monotonicMs());
    if (attempt === null) return false;
    this.#hedgedFor = reason;
    void this.#join(attempt, reason);
    return true;
  }

  stalled(answer: Answer<C>): void {
    this.route.stalled(answer.attempt, this.clock.monotonicMs());
  }

  async #join(attempt: RouteAttempt, reason: HedgeReason): Promise<void> {
    try {
      const answer = new Answer(this, attempt, reason);
      const trial = await this.#makeTrial(answer);
      if (this.#winner !== null || this.#decided) this.#giveBack(attempt, { class: 'cancelled', lost: true });
      else if (this.job.client.disconnected) this.#giveBack(attempt, { class: 'cancelled' });
      else if (isFailure(trial)) this.#giveBack(attempt, { class: 'not_capable' });
      else this.#start(answer, trial);
    } catch {
      // Another target's trouble is none of the answer that is still awaited.
      this.#giveBack(attempt, { class: 'not_capable' });
    } finally {
      this.#watchClient();
    }
  }

  /** Making a trial may have put another listener in our place, such as one that ends the fetching of a picture. */
  #watchClient(): void {
    if (this.#decided) return;
    const { client } = this.job;
    if (client.disconnected) this.#left();
    else client.onDisconnect(() => this.#left());
  }

  #start(answer: Answer<C>, trial: Trial): void {
    answer.trial = trial;
    this.#running = withOne(this.#running, answer);
    const { attempt } = answer;
    const { stream, query, deadlineMs } = this.job;
    if (trial.shows !== null) {
      const nowMs = this.clock.monotonicMs();
      answer.seen = this.#silence.began({
        lane: attempt.lane,
        // An answer made from a stream shows its first signs as soon as a stream does.
        kind: trial.shows === 'stream' ? 'stream' : answerKindOf(query.needs),
        startedMs: nowMs,
        halfwayMs: nowMs + (deadlineMs - nowMs) / 2,
        inputTokens: query.needs.inputTokensEstimate,
        maxFirstTokenMs: stream ? (attempt.target.maxFirstTokenMs ?? null) : null,
        probe: attempt.probe,
        hedgeAfter: stream ? query.hedge.after : null,
        attempt: answer,
        observer: this,
      });
    }
    trial.run().then(
      (outcome) => this.#ended(answer, outcome),
      (error) => this.#crashed(answer, error),
    );
  }

  /** Nobody waits for any of the running ones. */
  #left(): void {
    const why = fault('cancelled', 'the caller closed the connection');
    for (const { trial } of [...this.#running]) trial!.stop(why);
  }

  #ended(answer: Answer<C>, outcome: Fault | null): void {
    if (answer.trial === null) return;
    try {
      this.#close(answer, answer.trial, outcome);
    } catch (error) {
      return this.#crash(answer, error);
    }
    if (this.#decided) return;
    if (outcome !== null && isRefusal(outcome.class)) this.refusal ??= outcome;
    if (this.#winner === answer || outcome === null || this.#running.length === 0 || nobodyWaits(outcome)) {
      this.#decided = true;
      if (this.#running.length > 0) this.#dropOthers();
      this.#over.resolve(outcome);
    }
    // The one that stays silent is still alone with the request.
    else if (this.#hedgedFor !== null) this.overdue(this.#hedgedFor);
  }

  #crashed(answer: Answer<C>, error: unknown): void {
    const { trial } = answer;
    if (trial === null) return;
    this.#leaves(answer);
    const ours = fault('gateway_fault', 'the gateway could not give the answer out');
    // Its result serves nobody, and may still have to be paid for.
    const { isRetained: _, ...seen } = trial.seen(false, ours);
    const wasted = seen.usage === null ? seen : { ...seen, usageSource: 'abandoned' as const };
    recordAttempt(this.job, answer, wasted, ours, this.clock.monotonicMs());
    this.#crash(answer, error);
  }

  /** A fault of ours: the target is not blamed. */
  #crash(answer: Answer<C>, error: unknown): void {
    this.#giveBack(answer.attempt, { class: 'cancelled' });
    if (this.#decided) return;
    // The one that stays silent may answer still.
    if (this.#winner !== answer && this.#running.length > 0) return;
    this.#decided = true;
    this.#dropOthers();
    this.#over.reject(error);
  }

  /**
   * Attempts that run concurrently with the winner, or for no caller any more. They are reported immediately, because
   * the request may end now.
   */
  #dropOthers(): void {
    if (this.#running.length === 0 || (this.#running.length === 1 && this.#running[0] === this.#winner)) return;
    const why = answeredElsewhere();
    for (const answer of [...this.#running]) {
      if (answer === this.#winner) continue;
      const trial = answer.trial!;
      trial.stop(why);
      this.#close(answer, trial, why);
    }
  }

  #close(answer: Answer<C>, trial: Trial, outcome: Fault | null): void {
    this.#leaves(answer);
    const nowMs = this.clock.monotonicMs();
    const served = this.job.progress.answeredBy === answer.attempt;
    const lost = this.#winner !== null && this.#winner !== answer;
    const end = outcome === null ? answered : attemptEndOf(outcome);
    this.route.ended(answer.attempt, lost ? { ...end, lost } : end, nowMs);
    recordAttempt(this.job, answer, trial.seen(served, outcome), outcome, nowMs);
  }

  #leaves(answer: Answer<C>): void {
    answer.trial = null;
    if (answer.seen !== null) this.#silence.ended(answer.seen);
    if (this.#running.length === 1) this.#running.pop();
    else this.#running.splice(this.#running.indexOf(answer), 1);
  }

  #giveBack(attempt: RouteAttempt, end: { class: 'cancelled' | 'not_capable'; lost?: boolean }): void {
    this.route.ended(attempt, { ...end, retryAfterMs: null }, this.clock.monotonicMs());
  }
}

/** Characters kept of an upstream's message about its limit. */
const limitWordsMax = 500;

/** Report to a route of an attempt that failed so. */
function attemptEndOf(fault: Fault): AttemptEnd {
  const end = { class: fault.class, retryAfterMs: fault.retryAfterMs ?? null, status: fault.status ?? null };
  if (fault.class === 'rate_limited') return { ...end, message: fault.message.slice(0, limitWordsMax) };
  if (fault.tooLong !== undefined) return { ...end, tooLong: fault.tooLong };
  if (fault.lacks !== undefined) return { ...end, lacks: fault.lacks };
  return fault.class === 'not_capable' ? { ...end, unmet: fault.message } : end;
}

/**
 * The request itself or its caller's own credential was found wanting, or it is too long, or not to be answered for its
 * content: should nobody else answer, its words are the caller's.
 */
export function isRefusal(outcome: OutcomeClass): boolean {
  return (
    outcome === 'caller_fault' || outcome === 'too_long' || outcome === 'filtered' || outcome === 'caller_credential'
  );
}

const answered: AttemptEnd = Object.freeze({ class: 'ok', retryAfterMs: null, status: null });

function nobodyWaits({ class: outcome }: Fault): boolean {
  return outcome === 'cancelled' || outcome === 'deadline';
}

/** An attempt that has ended, as its `Answer` leaves it. */
export interface EndedAttempt {
  attempt: RouteAttempt;
  firstTokenMs: number | null;
  hedge: HedgeReason | null;
}

/** Adds one ended attempt to the explanation; its usage is the request's if it served the client. */
export function recordAttempt<C>(
  job: TracedJob<C>,
  ended: EndedAttempt,
  seen: AttemptSeen,
  outcome: Fault | null,
  nowMs: number,
): void {
  const { progress, trace, startedMs: arrivedMs } = job;
  const { attempt, firstTokenMs } = ended;
  const { usage, usageSource, status, bytes } = seen;
  const isRanOut = outcome?.class === 'deadline' && job.isCallersDeadline && usage !== null;
  if (isRanOut) progress.ranOut = true;
  const isLeft = isRanOut || outcome?.class === 'cancelled';
  const { target, credential, startedMs } = attempt;
  const isPriced = usage !== null && (target.price ?? usage.reportedUsdNano) != null;
  const costUsd = isPriced ? usdOf(usage, target.price, job.atMs) : null;
  const isAnswer = progress.answeredBy === attempt;
  const isRetained = seen.isRetained === true && usage !== null;
  if (isAnswer || isRetained) {
    const before = progress.usage;
    progress.usage = usage === null || before === null ? (usage ?? before) : sumOf(before, usage);
    // Each part costs what its own target does.
    if (isAnswer && before !== null) {
      progress.besideUsd += besideUsd([{ usage, answeredBy: attempt, besideUsd: 0 }], progress, job.atMs);
    }
    if (progress.usageSource !== 'counted') progress.usageSource = usageSource;
    progress.firstTokenMs ??= firstTokenMs;
    progress.malformedLines += seen.malformedLines ?? 0;
  } else if (seen.reported === true && isLeft && progress.answeredBy === null) {
    // The client left before any content: the possible cost is known, and our estimate would be a guess.
    progress.usage = usage;
    progress.usageSource = 'upstream';
  }
  // Nobody has answered, so the request has no price: what was done for a client who left has its target's.
  if (!isAnswer && (isRetained || (isLeft && progress.answeredBy === null))) progress.besideUsd += costUsd ?? 0;
  const record: AttemptRecord = {
    target: target.id,
    provider: target.provider,
    model: target.model,
    credential: credential.id,
    class: outcome?.class ?? 'ok',
    status,
    startMs: startedMs - arrivedMs,
    ms: nowMs - startedMs,
    firstTokenMs,
    bytes,
    usage,
    usageSource,
    costUsd,
    message: outcome?.message ?? null,
  };
  progress.attempts = withOne(progress.attempts, record);
  if (job.attempted !== undefined) job.attempted(record);
  if (trace !== null) traceAttempt(trace, job, ended, seen, record);
}

type TracedJob<C> = Pick<
  Job<C>,
  'attempted' | 'progress' | 'atMs' | 'startedMs' | 'isCallersDeadline' | 'trace' | 'providers' | 'endpoint' | 'stream'
>;

function traceAttempt<C>(
  trace: Trace,
  { providers, endpoint, stream }: TracedJob<C>,
  { attempt, hedge }: EndedAttempt,
  { answeredAs = null, finishReason = null }: Pick<AttemptSeen, 'answeredAs' | 'finishReason'>,
  record: AttemptRecord,
): void {
  const connection = providers.get(record.provider)?.connection;
  trace.attempt({
    part: attempt,
    endpoint,
    provider: record.provider,
    type: connection?.provider.id ?? record.provider,
    origin: connection?.origin ?? null,
    credential: record.credential,
    model: record.model,
    answeredAs,
    finishReason,
    streamed: stream,
    number: attempt.number,
    hedge,
    startedMs: attempt.startedMs,
    ms: record.ms,
    firstTokenMs: record.firstTokenMs,
    status: record.status,
    class: record.class,
    message: record.message,
    usage: record.usage,
    usageSource: record.usageSource,
    costUsd: record.costUsd,
  });
}
