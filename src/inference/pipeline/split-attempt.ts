import type { Loss } from '../neutral/loss.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { Usage } from '../neutral/usage.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import { answerHeaders } from './answer-headers.ts';
import { Attempt } from './attempt.ts';
import { BatchCaller } from './batch-caller.ts';
import type { HeaderList } from './caller.ts';
import { type Job, newProgress, type PreparedBody } from './job.ts';
import { tellAttempt } from './record-attempt.ts';
import type { Services } from './services.ts';

/** Calls of one request that run at one time. */
const callsMax = 4;

/**
 * One try at one target that takes several calls, side by side: what was answered is kept when a call fails, and the
 * rest is for the next target. To the explanation and to routing it is one attempt.
 */
export abstract class SplitAttempt {
  losses: readonly Loss[] = [];
  failed: Fault | null = null;
  protected readonly job: Job;
  protected readonly attempt: RouteAttempt;
  readonly #services: Pick<Services, 'clock' | 'transport'>;
  readonly #route: Route;
  readonly #calls = new Set<BatchCaller>();
  #bytes = 0;
  #status: number | null = null;
  #firstMs: number | null = null;
  /** Of what was answered; `counted` when some of it had to be estimated. */
  #usage: Usage | null = null;
  #counted = false;
  /** Of calls that failed and may have cost something. */
  #abandoned: Usage | null = null;

  constructor(services: Pick<Services, 'clock' | 'transport'>, job: Job, attempt: RouteAttempt, route: Route) {
    this.#services = services;
    this.job = job;
    this.attempt = attempt;
    this.#route = route;
  }

  /** Makes one call and keeps what it gives; false when there is nothing left to ask for. */
  protected abstract callNext(): Promise<boolean>;

  /** Something failed: what runs beside the calls is to end too. */
  protected stop(): void {}

  /** `calls`: how many it will take, as far as that is known. Null when all is there. */
  async run(calls: number): Promise<Fault | null> {
    this.job.caller.onGone(() => this.fail(fault('cancelled', 'the caller closed the connection')));
    await Promise.all(Array.from({ length: Math.min(callsMax, calls) }, () => this.#line()));
    return this.failed;
  }

  /** One of the calls that run side by side, and those after it. */
  async #line(): Promise<void> {
    try {
      while (this.failed === null && (await this.callNext()));
    } catch (error) {
      // A fault of ours ends the request: no call may go on beside it.
      this.fail(fault('cancelled', 'stopped'));
      throw error;
    }
  }

  /** The body of a whole answer; null when the call failed, and said so. */
  protected async ask(body: PreparedBody, inputTokensEstimate: number): Promise<Buffer | null> {
    const caller = new BatchCaller();
    const call: Job = { ...this.job, stream: false, inputTokensEstimate, caller, progress: newProgress() };
    this.#calls.add(caller);
    try {
      const ended = await new Attempt(this.#services, call, untold, this.attempt, body).run();
      const [record] = call.progress.attempts;
      this.#bytes += record?.bytes ?? 0;
      this.#status = ended?.status ?? record?.status ?? this.#status;
      if (ended === null) return caller.bytes!;
      const abandoned = record?.usage?.inputTokens;
      if (abandoned !== undefined)
        this.#abandoned = sumOf(this.#abandoned, { inputTokens: abandoned, outputTokens: 0 });
      this.fail(ended);
      return null;
    } finally {
      this.#calls.delete(caller);
    }
  }

  /** A call gave what it was asked for. `told`: the upstream said what it used. */
  protected took(usage: Usage, told: boolean): void {
    const nowMs = this.#services.clock.monotonicMs();
    if (this.#firstMs === null) {
      this.#firstMs = nowMs - this.attempt.startedMs;
      this.#route.firstToken(this.attempt, nowMs);
    }
    this.#usage = sumOf(this.#usage, usage);
    if (!told) this.#counted = true;
  }

  /** The first one counts; the calls beside it are stopped. */
  protected fail(reason: Fault): void {
    if (this.failed !== null) return;
    this.failed = reason;
    this.#status = reason.status ?? this.#status;
    for (const call of this.#calls) call.leave();
    this.stop();
  }

  /** All calls as one attempt of the explanation; what was answered is the request's, whoever answers the rest. */
  record(): void {
    const { progress } = this.job;
    const own = this.#usage;
    if (own !== null) {
      progress.usage = sumOf(progress.usage, own);
      if (progress.usageSource !== 'counted') progress.usageSource = this.#counted ? 'counted' : 'upstream';
      progress.firstTokenMs ??= this.#firstMs;
    }
    const usage = own ?? this.#abandoned;
    const source = this.#counted ? 'counted' : 'upstream';
    const seen = {
      status: this.#status,
      bytes: this.#bytes,
      firstTokenMs: this.#firstMs,
      usage,
      usageSource: own !== null ? source : usage === null ? 'none' : 'abandoned',
    } as const;
    tellAttempt(this.job, this.attempt, seen, this.failed, this.#services.clock.monotonicMs());
  }
}

/** Runs it and, once everything is there, gives the answer out; a Fault moves what is missing to the next target. */
export async function runSplit(
  trial: SplitAttempt,
  calls: number,
  { job, attempt, deliver }: { job: Job; attempt: RouteAttempt; deliver(headers: HeaderList): Promise<void> },
): Promise<Fault | null> {
  try {
    if ((await trial.run(calls)) === null) {
      job.progress.losses = trial.losses;
      job.progress.answeredBy = attempt;
      await deliver(answerHeaders(job, attempt, trial));
      // Whoever left meanwhile has no answer.
      if (job.caller.gone) trial.failed ??= fault('cancelled', 'the caller closed the connection');
    }
  } finally {
    // What was answered is paid for, also when a fault of ours lets nobody have it.
    trial.record();
  }
  if (trial.failed !== null) return trial.failed;
  job.progress.delivered = 'whole';
  job.progress.status = 200;
  return null;
}

function sumOf(before: Usage | null, own: Usage): Usage {
  if (before === null) return own;
  const { images } = own;
  return {
    inputTokens: before.inputTokens + own.inputTokens,
    outputTokens: before.outputTokens + own.outputTokens,
    ...(images !== undefined && { images: (before.images ?? 0) + images }),
  };
}

/** The attempt's own first answer is told, not those of each call. */
const untold: Pick<Route, 'firstToken'> = { firstToken() {} };
