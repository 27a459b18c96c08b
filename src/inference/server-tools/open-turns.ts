import { nanoUsd } from '../../books/metering/counter-scope.ts';
import { usdOf } from '../../formats/neutral/price.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Job } from '../spine/job.ts';

export interface AnswerOfTurns {
  /** Its job; how it was delivered is known once it has ended. */
  job: Pick<Job, 'progress'>;
  /** Whether the caller has the beginning of a stream. */
  isShown(): boolean;
  nowMs(): number;
}

/** Turns of one answer that are settled with it: while the caller has nothing of it, nobody knows whether they cost anything. */
export class OpenTurns {
  /** Used by them so far; no limit counts it yet. */
  readonly used = { tokens: 0, usdNano: 0 };
  readonly #answer: AnswerOfTurns;
  readonly #answered = Promise.withResolvers<void>();
  readonly #plans: Promise<unknown>[] = [];

  constructor(answer: AnswerOfTurns) {
    this.#answer = answer;
  }

  count({ progress: { usage, answeredBy }, atMs }: Job): void {
    if (usage === null) return;
    this.used.tokens += usage.inputTokens + usage.outputTokens;
    this.used.usdNano += nanoUsd(usdOf(usage, answeredBy?.target.price ?? null, atMs));
  }

  /** Resolves when the turn that `plan` runs has called `ended`, or with the plan, which may be refused. */
  run(plan: (ended: (job: Job) => Promise<void>) => Promise<Failure | null>): Promise<Failure | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Failure | null>();
    const { job: whole, isShown, nowMs } = this.#answer;
    const planned = plan(async (job) => {
      if (isShown()) return;
      job.progress.endedMs = nowMs();
      this.count(job);
      resolve(null);
      await this.#answered.promise;
      if (whole.progress.delivered === 'nothing') job.progress.delivered = 'nothing';
    });
    planned.then(resolve, reject);
    this.#plans.push(planned);
    return promise;
  }

  async settle(): Promise<void> {
    this.#answered.resolve();
    await Promise.all(this.#plans);
  }
}
