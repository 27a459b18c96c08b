import type { Loss } from '../../../formats/neutral/loss.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { sumOf, type Usage } from '../../../formats/neutral/usage.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import { type Answer, answeredElsewhere } from '../answer.ts';
import type { AttemptParts, Job, PreparedBody } from '../job.ts';
import type { AnswerForm, AttemptSink, Bytes, Pace } from '../sink.ts';
import { Attempt } from './attempt.ts';
import { scrubbedFault } from './attempt-faults.ts';
import type { AttemptSeen, Trial } from './trial.ts';

/** Maximum number of concurrent calls of one request. */
const callsMax = 4;

/**
 * One attempt that makes several calls, side by side. Answered calls are kept when another fails, and the rest is for
 * the next target. In the explanation and for routing it is one attempt.
 */
export abstract class SplitTrial<S extends AttemptParts> implements Trial {
  abstract readonly shows: Trial['shows'];
  losses: readonly Loss[] = [];
  protected readonly services: S;
  protected readonly job: Job;
  protected readonly answer: Answer;
  #failed: Fault | null = null;
  readonly #calls = new Set<Attempt>();
  /** Signs of ended calls. */
  #signs = 0;
  #bytes = 0;
  #status: number | null = null;
  /** Usage of answered calls; `counted` if a part had to be estimated. */
  #usage: Usage | null = null;
  #counted = false;
  /** Usage of failed calls that may have cost something. */
  #abandoned: Usage | null = null;

  constructor(services: S, job: Job, answer: Answer) {
    this.services = services;
    this.job = job;
    this.answer = answer;
  }

  /** Number of calls that it will take, as far as that is known. */
  protected abstract readonly calls: number;
  /** Format in which the client gets the gathered results. */
  protected readonly form: AnswerForm = 'whole';

  /** Makes one call and keeps its result; false when there is nothing left to ask for. */
  protected abstract callNext(): Promise<boolean>;

  /** Everything is there: the answer's body. */
  protected abstract body(): Promise<Bytes>;

  /** Stops the work that runs concurrently with the calls, after one of them failed. */
  protected stopBeside(): void {}

  protected get attempt(): RouteAttempt {
    return this.answer.attempt;
  }

  protected get failed(): boolean {
    return this.#failed !== null;
  }

  get signs(): number {
    let signs = this.#signs;
    for (const call of this.#calls) signs += call.signs;
    return signs;
  }

  async run(): Promise<Fault | null> {
    await Promise.all(Array.from({ length: Math.min(callsMax, this.calls) }, () => this.#line()));
    if (!this.failed) await this.#give();
    return this.#failed;
  }

  stop(why: Fault): void {
    this.fail(why);
  }

  async #give(): Promise<void> {
    const body = await this.body();
    // A caller that left meanwhile has no answer.
    if (this.failed) return;
    if (!this.answer.begin(this.form, { losses: this.losses, answer: 'converted' })) {
      return this.fail(answeredElsewhere());
    }
    this.answer.chunk(body);
    this.answer.end();
  }

  /** One of the calls that run side by side, and those after it. */
  async #line(): Promise<void> {
    try {
      while (!this.failed && (await this.callNext()));
    } catch (error) {
      // A fault of this process ends the request: no other call may continue.
      this.fail(fault('cancelled', 'stopped'));
      throw error;
    }
  }

  /** The body of a whole answer; null when the call failed, and said so. */
  protected async ask(body: PreparedBody): Promise<Buffer | null> {
    const gathered = new GatheredBody();
    const call = new Attempt(this.services, this.job, this.attempt, body, gathered);
    this.#calls.add(call);
    try {
      const ended = await call.run();
      const { bytes, status, usage } = call.seen(false, ended);
      this.#bytes += bytes;
      this.#status = ended?.status ?? status ?? this.#status;
      if (ended === null) return gathered.bytes();
      this.leave(usage?.inputTokens);
      this.fail(ended);
      return null;
    } finally {
      this.#signs += call.signs;
      this.#calls.delete(call);
    }
  }

  /** A call gave what it was asked for. `isReported`: the upstream gave its usage. */
  protected took(usage: Usage, isReported: boolean): void {
    this.answer.noteFirst();
    this.#usage = sumOf(this.#usage, usage);
    if (!isReported) this.#counted = true;
  }

  /** A call may have cost this many tokens, for nothing. */
  protected leave(inputTokens: number | undefined): void {
    if (inputTokens !== undefined) this.#abandoned = sumOf(this.#abandoned, { inputTokens, outputTokens: 0 });
  }

  /** Fails the trial. The first reason counts; the other calls are stopped. */
  protected fail(reason: Fault): void {
    if (this.#failed !== null) return;
    const connection = this.job.providers.get(this.attempt.target.provider)?.connection;
    // What a codec read in an answer is in the upstream's words.
    this.#failed = connection === undefined ? reason : scrubbedFault(reason, connection);
    this.#status = reason.status ?? this.#status;
    for (const call of this.#calls) call.stop(fault('cancelled', 'stopped'));
    this.stopBeside();
  }

  seen(): AttemptSeen {
    const seen = { status: this.#status, bytes: this.#bytes };
    if (this.#usage !== null) {
      return { ...seen, usage: this.#usage, usageSource: this.#counted ? 'counted' : 'upstream', isRetained: true };
    }
    // Stopped calls that have not reported yet.
    for (const call of this.#calls) this.leave(call.seen(false, this.#failed).usage?.inputTokens);
    this.#calls.clear();
    return { ...seen, usage: this.#abandoned, usageSource: this.#abandoned === null ? 'none' : 'abandoned' };
  }
}

/** A whole answer that another reader reads. */
class GatheredBody implements AttemptSink {
  readonly #pieces: Buffer[] = [];

  start(): void {}

  content(): boolean {
    return true;
  }

  chunk(chunk: Buffer): Pace {
    this.#pieces.push(chunk);
    return 'ready';
  }

  end(found: Fault | null): Fault | null {
    return found;
  }

  bytes(): Buffer {
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
  }
}
