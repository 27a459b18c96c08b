import type { Failure } from '../../kernel/failure.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import { answerKindOf } from '../routing/lane.ts';
import type { AttemptEnd, HedgeReason, Route, RouteAttempt } from '../routing/route.ts';
import type { Overdue, Seen, Watched } from '../routing/silence.ts';
import { Answer, answeredElsewhere, type Claims } from './answer.ts';
import type { ContestParts, Job } from './job.ts';
import { recordAttempt } from './record-attempt.ts';
import type { Trial } from './trial.ts';

/**
 * One attempt, and others beside it at other targets while it stays silent. The first that has content is the client's,
 * the others are stopped then; a failure decides only when nothing else runs.
 */
export class Contest<C> implements Overdue, Claims<C> {
  readonly #parts: ContestParts;
  readonly #job: Job<C>;
  readonly #route: Route;
  readonly #running: Contestant<C>[] = [];
  #winner: Answer<C> | null = null;
  /** Why it was made elsewhere as well, the last time. */
  #hedgedFor: HedgeReason | null = null;
  #resolve!: (fault: Fault | null) => void;
  #reject!: (error: unknown) => void;
  #decided = false;

  constructor(parts: ContestParts, job: Job<C>, route: Route) {
    this.#parts = parts;
    this.#job = job;
    this.#route = route;
  }

  /** The answer that an attempt may become. */
  answerOf(attempt: RouteAttempt): Answer<C> {
    return new Answer(this.#parts.clock, this.#job, this.#route, attempt, this);
  }

  /** Null when the client has the whole answer; otherwise why not. The route was told of every end. */
  run(answer: Answer<C>, trial: Trial): Promise<Fault | null> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#watchClient();
      this.#start(answer, trial);
    });
  }

  claim(answer: Answer<C>): boolean {
    if (this.#winner !== null) return this.#winner === answer;
    this.#winner = answer;
    this.#dropOthers();
    return true;
  }

  overdue(reason: HedgeReason): boolean {
    if (this.#winner !== null || this.#decided) return true;
    const attempt = this.#route.hedge(reason, this.#parts.clock.monotonicMs());
    if (attempt === null) return false;
    this.#hedgedFor = reason;
    void this.#join(attempt);
    return true;
  }

  async #join(attempt: RouteAttempt): Promise<void> {
    try {
      const answer = this.answerOf(attempt);
      const trial = await this.#job.trial(answer);
      if (this.#winner !== null || this.#decided) this.#tell(attempt, { class: 'cancelled', lost: true });
      else if (this.#job.client.gone) this.#tell(attempt, { class: 'cancelled' });
      else if (isFailure(trial)) this.#tell(attempt, { class: 'not_capable' });
      else this.#start(answer, trial);
    } catch {
      // Another target's trouble is none of the answer that is still awaited.
      this.#tell(attempt, { class: 'not_capable' });
    } finally {
      this.#watchClient();
    }
  }

  /** Making a trial may have put another listener in our place, such as one that ends the fetching of a picture. */
  #watchClient(): void {
    if (this.#decided) return;
    const { client } = this.#job;
    if (client.gone) this.#left();
    else client.onGone(() => this.#left());
  }

  #start(answer: Answer<C>, trial: Trial): void {
    const { silence, clock } = this.#parts;
    const one = new Contestant(answer, trial);
    this.#running.push(one);
    const { shows } = trial;
    if (shows !== null) {
      const { attempt } = answer;
      one.seen = silence.began({
        lane: attempt.lane,
        // What is put together from a stream shows its first signs as soon as a stream does.
        kind: shows === 'stream' ? 'stream' : answerKindOf(this.#job.needs),
        startedMs: clock.monotonicMs(),
        probe: attempt.probe,
        hedgeAfter: this.#job.stream ? this.#job.hedgeAfter : null,
        attempt: one,
        told: this,
      });
    }
    trial.run().then(
      (outcome) => this.#ended(one, outcome),
      (error) => this.#crashed(one, error),
    );
  }

  /** Nobody waits for any of those that run. */
  #left(): void {
    const why = fault('cancelled', 'the caller closed the connection');
    for (const { trial } of [...this.#running]) trial.stop(why);
  }

  #ended(one: Contestant<C>, outcome: Fault | null): void {
    if (one.over) return;
    const { answer } = one;
    try {
      this.#close(one, outcome);
    } catch (error) {
      return this.#crash(answer, error);
    }
    if (this.#decided) return;
    if (this.#winner === answer || outcome === null || this.#running.length === 0 || endsRequest(outcome))
      this.#decide(outcome);
    // The one that stays silent is still alone with the request.
    else if (this.#hedgedFor !== null) this.overdue(this.#hedgedFor);
  }

  #crashed(one: Contestant<C>, error: unknown): void {
    if (one.over) return;
    this.#leaves(one);
    const { answer, trial } = one;
    const ours = fault('gateway_fault', 'the gateway could not give the answer out');
    // What it made serves nobody, and may still have to be paid for.
    const { kept: _, ...seen } = trial.seen(false, ours);
    const wasted = seen.usage === null ? seen : { ...seen, usageSource: 'abandoned' as const };
    recordAttempt(this.#job, answer, wasted, ours, this.#parts.clock.monotonicMs());
    this.#crash(answer, error);
  }

  /** A fault of ours: nothing is said against the target. */
  #crash({ attempt }: Answer<C>, error: unknown): void {
    this.#tell(attempt, { class: 'cancelled' });
    if (this.#decided) return;
    // The one that stays silent may answer still.
    if (this.#winner?.attempt !== attempt && this.#running.length > 0) return;
    this.#decided = true;
    this.#dropOthers();
    this.#reject(error);
  }

  #decide(outcome: Fault | null): void {
    this.#decided = true;
    this.#dropOthers();
    this.#resolve(outcome);
  }

  /** Those that run beside the winner, or for nobody any more. They are told of at once: the request may end now. */
  #dropOthers(): void {
    if (this.#running.length === 0 || (this.#running.length === 1 && this.#running[0]!.answer === this.#winner)) return;
    const why = answeredElsewhere();
    for (const one of [...this.#running]) {
      if (one.answer === this.#winner) continue;
      one.trial.stop(why);
      this.#close(one, why);
    }
  }

  #close(one: Contestant<C>, outcome: Fault | null): void {
    this.#leaves(one);
    const { answer, trial } = one;
    const nowMs = this.#parts.clock.monotonicMs();
    const served = this.#job.progress.answeredBy === answer.attempt;
    const lost = this.#winner !== null && this.#winner !== answer;
    const end = attemptEndOf(outcome);
    this.#route.ended(answer.attempt, lost ? { ...end, lost } : end, nowMs);
    recordAttempt(this.#job, answer, trial.seen(served, outcome), outcome, nowMs);
  }

  #leaves(one: Contestant<C>): void {
    one.over = true;
    if (one.seen !== null) this.#parts.silence.ended(one.seen);
    if (this.#running.length === 1) this.#running.pop();
    else this.#running.splice(this.#running.indexOf(one), 1);
  }

  #tell(attempt: RouteAttempt, end: { class: 'cancelled' | 'not_capable'; lost?: boolean }): void {
    this.#route.ended(attempt, { ...end, retryAfterMs: null }, this.#parts.clock.monotonicMs());
  }
}

/** One of those that run, as silence is watched for. */
class Contestant<C> implements Watched {
  seen: Seen | null = null;
  over = false;
  readonly answer: Answer<C>;
  readonly trial: Trial;

  constructor(answer: Answer<C>, trial: Trial) {
    this.answer = answer;
    this.trial = trial;
  }

  get signs(): number {
    return this.trial.signs;
  }

  get awaiting(): boolean {
    return !this.answer.begun;
  }
}

/** What a route is told of an attempt that ended so; null: it was answered. */
export function attemptEndOf(fault: Fault | null): AttemptEnd {
  if (fault === null) return answered;
  const end = { class: fault.class, retryAfterMs: fault.retryAfterMs ?? null, status: fault.status ?? null };
  return fault.class === 'not_capable' ? { ...end, unmet: fault.message } : end;
}

const answered: AttemptEnd = Object.freeze({ class: 'ok', retryAfterMs: null, status: null });

/** Nobody else could answer it better, or nobody waits any more. */
function endsRequest({ class: outcome }: Fault): boolean {
  return outcome === 'caller_fault' || outcome === 'cancelled' || outcome === 'deadline';
}

function isFailure(trial: Trial | Failure): trial is Failure {
  return 'kind' in trial;
}
