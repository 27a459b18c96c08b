import type { Failure } from '../../kernel/failure.ts';
import type { Job } from '../spine/job.ts';

/** Runs one turn, which calls `ended` at its end. The failure of its reservation; null: there was one. */
type TurnPlan = (ended: (job: Job) => Promise<void>) => Promise<Failure | null>;

/** Turns of one answer that are settled with it: while the caller has nothing of it, nobody knows whether they cost anything. */
export class OpenTurns {
  readonly #nowMs: () => number;
  /** Whether the caller has the beginning of a stream. */
  readonly #isShown: () => boolean;
  readonly #answered = Promise.withResolvers<'charged' | 'ran out' | 'free'>();
  readonly #plans: Promise<unknown>[] = [];

  constructor(nowMs: () => number, isShown: () => boolean) {
    this.#nowMs = nowMs;
    this.#isShown = isShown;
  }

  /** Limits count a turn once it has ended: other requests of its account may run until the answer has. */
  count(job: Job): void {
    if (job.progress.delivered === 'whole') job.held?.settle(job, undefined, 'in limits');
  }

  /** Resolves when the turn has ended, or with the failure of its reservation. */
  run(plan: TurnPlan): Promise<Failure | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Failure | null>();
    const planned = plan(async (job) => {
      if (this.#isShown()) return;
      job.progress.endedMs = this.#nowMs();
      this.count(job);
      resolve(null);
      const how = await this.#answered.promise;
      // A turn of which nothing came is charged as a separate request.
      if (how === 'charged' || job.progress.delivered === 'nothing') return;
      job.progress.delivered = 'nothing';
      if (how === 'ran out') job.progress.ranOut = true;
    });
    planned.then(resolve, reject);
    this.#plans.push(planned);
    return promise;
  }

  /** `ran out`: the caller's deadline has passed. */
  async settle(how: 'charged' | 'ran out' | 'free'): Promise<void> {
    this.#answered.resolve(how);
    await Promise.all(this.#plans);
  }
}
