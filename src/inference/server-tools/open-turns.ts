import { nanoUsd } from '../../books/metering/counter-scope.ts';
import { usdOf } from '../../formats/neutral/price.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Job } from '../spine/job.ts';

/** Runs one turn, which calls `ended` at its end. The failure of its reservation; null: there was one. */
type TurnPlan = (ended: (job: Job) => Promise<void>) => Promise<Failure | null>;

/** Turns of one answer that are settled with it: while the caller has nothing of it, nobody knows whether they cost anything. */
export class OpenTurns {
  /** Used by them so far; no limit counts it yet. */
  used = { tokens: 0, usdNano: 0 };
  readonly #nowMs: () => number;
  /** Whether the caller has the beginning of a stream. */
  readonly #isShown: () => boolean;
  #answered = Promise.withResolvers<'charged' | 'free'>();
  readonly #plans: Promise<unknown>[] = [];

  constructor(nowMs: () => number, isShown: () => boolean) {
    this.#nowMs = nowMs;
    this.#isShown = isShown;
  }

  count({ progress: { usage, answeredBy }, atMs }: Job): void {
    if (usage === null) return;
    this.used.tokens += usage.inputTokens + usage.outputTokens;
    this.used.usdNano += nanoUsd(usdOf(usage, answeredBy?.target.price ?? null, atMs));
  }

  /** Resolves when the turn has ended, or with the failure of its reservation. */
  async run(plan: TurnPlan): Promise<Failure | null> {
    const refused = await this.#run(plan);
    if (refused?.kind !== 'quota-exceeded' || this.used.tokens === 0) return refused;
    // Or the same request could be made again and again, and no budget would count its turns.
    await this.settle('charged');
    return this.#run(plan);
  }

  async settle(how: 'charged' | 'free'): Promise<void> {
    this.#answered.resolve(how);
    this.#answered = Promise.withResolvers();
    this.used = { tokens: 0, usdNano: 0 };
    await Promise.all(this.#plans.splice(0));
  }

  #run(plan: TurnPlan): Promise<Failure | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Failure | null>();
    const planned = plan(async (job) => {
      if (this.#isShown()) return;
      job.progress.endedMs = this.#nowMs();
      this.count(job);
      resolve(null);
      if ((await this.#answered.promise) === 'free') job.progress.delivered = 'nothing';
    });
    planned.then(resolve, reject);
    this.#plans.push(planned);
    return promise;
  }
}
