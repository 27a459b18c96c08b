import type { Failure } from '../../kernel/failure.ts';
import type { Fault } from '../neutral/outcome.ts';
import { answerKindOf } from '../routing/answer-kind.ts';
import type { AttemptEnd, HedgeReason, Route, RouteAttempt } from '../routing/route.ts';
import type { Overdue, SilenceEntry } from '../routing/silence.ts';
import { Attempt } from './attempt.ts';
import type { ContestParts, Job, PreparedBody } from './job.ts';

/**
 * One attempt, and others beside it at other targets while it stays silent. The first that has content is the caller's,
 * the others are aborted then; a failure decides only when nothing else runs.
 */
export class Contest implements Overdue {
  readonly #parts: ContestParts;
  readonly #job: Job;
  readonly #route: Route;
  readonly #running: Attempt[] = [];
  #winner: Attempt | null = null;
  /** Why it was made elsewhere as well, the last time. */
  #hedgedFor: HedgeReason | null = null;
  #resolve!: (fault: Fault | null) => void;
  #reject!: (error: unknown) => void;
  #decided = false;

  constructor(parts: ContestParts, job: Job, route: Route) {
    this.#parts = parts;
    this.#job = job;
    this.#route = route;
  }

  /** Null when the caller has the whole answer; otherwise why not. The route was told of every end. */
  run(first: RouteAttempt, body: PreparedBody): Promise<Fault | null> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#start(first, body);
    });
  }

  /** Called before an attempt's first byte for the caller; false: another one was first. */
  claim(attempt: Attempt): boolean {
    if (this.#winner !== null) return this.#winner === attempt;
    this.#winner = attempt;
    this.#endOthers(attempt);
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
      const body = await this.#job.prepare(attempt.target);
      if (this.#winner !== null || this.#decided) this.#tell(attempt, { class: 'cancelled', lost: true });
      else if (isFailure(body)) this.#tell(attempt, { class: 'not_capable' });
      else this.#start(attempt, body);
    } catch {
      // Another target's trouble is none of the answer that is still awaited.
      this.#tell(attempt, { class: 'not_capable' });
    }
  }

  #start(attempt: RouteAttempt, body: PreparedBody): void {
    const { silence, clock } = this.#parts;
    const call = new Attempt(this.#parts, this.#job, this.#route, attempt, body, this);
    const entry: SilenceEntry = {
      lane: this.#route.laneOf(attempt),
      // What is put together from a stream shows its first signs as soon as a stream does.
      kind: body.streamed ? 'stream' : answerKindOf(this.#job.needs),
      startedMs: clock.monotonicMs(),
      probe: attempt.probe,
      hedgeAfter: this.#job.stream ? this.#job.hedgeAfter : null,
      attempt: call,
      told: this,
    };
    this.#running.push(call);
    const seen = silence.began(entry);
    call.run().then(
      (fault) => {
        silence.ended(seen);
        this.#ended(call, attempt, fault);
      },
      (error) => {
        silence.ended(seen);
        this.#crashed(call, attempt, error);
      },
    );
    if (this.#running.length > 1)
      this.#job.caller.onGone(() => {
        for (const one of [...this.#running]) one.leave();
      });
  }

  #ended(call: Attempt, attempt: RouteAttempt, fault: Fault | null): void {
    this.#leaves(call);
    const lost = this.#winner !== null && this.#winner !== call;
    const end = attemptEndOf(fault);
    this.#route.ended(attempt, lost ? { ...end, lost } : end, this.#parts.clock.monotonicMs());
    if (lost || this.#decided) return;
    if (this.#winner === call || fault === null || this.#running.length === 0 || endsRequest(fault))
      this.#decide(fault);
    // The one that stays silent is still alone with the request.
    else if (this.#hedgedFor !== null) this.overdue(this.#hedgedFor);
  }

  /** A fault of ours: nothing is said against the target. */
  #crashed(call: Attempt, attempt: RouteAttempt, error: unknown): void {
    this.#leaves(call);
    this.#tell(attempt, { class: 'cancelled' });
    if (this.#decided) return;
    this.#decided = true;
    this.#endOthers(null);
    this.#reject(error);
  }

  #decide(fault: Fault | null): void {
    this.#decided = true;
    this.#endOthers(null);
    this.#resolve(fault);
  }

  #endOthers(winner: Attempt | null): void {
    if (this.#running.length === 0 || (this.#running.length === 1 && this.#running[0] === winner)) return;
    for (const other of [...this.#running]) if (other !== winner) other.lose();
  }

  #leaves(call: Attempt): void {
    if (this.#running.length === 1) this.#running.pop();
    else this.#running.splice(this.#running.indexOf(call), 1);
  }

  #tell(attempt: RouteAttempt, end: { class: 'cancelled' | 'not_capable'; lost?: boolean }): void {
    this.#route.ended(attempt, { ...end, retryAfterMs: null }, this.#parts.clock.monotonicMs());
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

function isFailure(body: PreparedBody | Failure): body is Failure {
  return 'kind' in body;
}
