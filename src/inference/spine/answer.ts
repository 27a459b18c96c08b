import type { Clock } from '../../kernel/clock.ts';
import type { StreamMark } from '../dialects/dialect.ts';
import type { Loss } from '../neutral/loss.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import { answerHeaders } from './answer-headers.ts';
import type { Job } from './job.ts';
import type { AnswerForm, AttemptSink, AttemptSource, Bytes, Chunk, HeaderList, Pace } from './sink.ts';

/** What the client is told of an answer beside its body. */
export interface AnswerFacts {
  losses: readonly Loss[];
  /** Content-Type of the answer that the client gets, where that is not JSON. */
  answerType?: string | undefined;
  answer: 'pass-through' | 'converted';
}

/** Which attempt of those that run side by side may answer. */
export interface Claims<C> {
  /** False: another one was first. */
  claim(answer: Answer<C>): boolean;
}

/**
 * The answer that one attempt may become: of those that run beside each other, and after each other, one is begun. Bytes
 * reach the client only after the first content; until then another attempt may replace it. Unfinished pictures are no
 * content.
 */
export class Answer<C = Bytes> {
  /** Ms from dispatch to the first content; null: none has come. */
  firstTokenMs: number | null = null;
  /** It is the client's: no other attempt can answer. */
  begun = false;
  readonly attempt: RouteAttempt;
  readonly #clock: Clock;
  readonly #job: Job<C>;
  readonly #route: Pick<Route, 'firstToken'>;
  readonly #claims: Claims<C>;

  constructor(clock: Clock, job: Job<C>, route: Pick<Route, 'firstToken'>, attempt: RouteAttempt, claims: Claims<C>) {
    this.#clock = clock;
    this.#job = job;
    this.#route = route;
    this.attempt = attempt;
    this.#claims = claims;
  }

  /** Whoever makes the answer has begun to. */
  noteFirst(): void {
    if (this.firstTokenMs !== null) return;
    const nowMs = this.#clock.monotonicMs();
    this.firstTokenMs = nowMs - this.attempt.startedMs;
    this.#route.firstToken(this.attempt, nowMs);
  }

  /** From now on no other attempt can answer. False: another one was first. */
  begin(form: AnswerForm, facts: AnswerFacts): boolean {
    if (!this.#claims.claim(this)) return false;
    this.begun = true;
    this.noteFirst();
    const { progress, sink } = this.#job;
    progress.answeredBy = this.attempt;
    progress.losses = facts.losses;
    progress.passThrough = facts.answer === 'pass-through';
    if (form !== 'whole') progress.delivered = 'partial';
    sink.start(form, this.headers(facts));
    return true;
  }

  headers(facts: Omit<AnswerFacts, 'answer'>): HeaderList {
    return answerHeaders(this.#job, this.attempt, facts);
  }

  chunk(chunk: C): Pace {
    return this.#job.sink.chunk(chunk);
  }

  end(): void {
    const { progress, sink } = this.#job;
    progress.delivered = 'whole';
    progress.status = 200;
    sink.end(null);
  }

  /** A stream broke off here. */
  markAt(mark: StreamMark | undefined): void {
    this.#job.progress.mark = mark;
  }

  /** Calls back whenever the client can take more. */
  onDrain(listener: () => void): void {
    this.#job.client.onDrain(listener);
  }
}

export function answeredElsewhere(): Fault {
  return fault('cancelled', 'another target answered first');
}

/** What may gather before the first content: role chunks, message_start. */
const heldBytesMax = 1024 * 1024;
/** An event's, roughly. */
const eventBytes = 64;

/** A stream, held back until its first content: what fails before that leaves no trace. */
export class StreamedAnswer<C extends Chunk> implements AttemptSink {
  readonly #answer: Answer<C>;
  readonly #facts: AnswerFacts;
  #source: AttemptSource | null = null;
  /** Null once the answer has begun. */
  #held: C[] | null = [];
  #heldBytes = 0;

  constructor(answer: Answer<C>, facts: AnswerFacts) {
    this.#answer = answer;
    this.#facts = facts;
  }

  start(source: AttemptSource): void {
    this.#source = source;
  }

  content(): boolean {
    const held = this.#held!;
    if (!this.#answer.begin('events', this.#facts)) return false;
    this.#answer.onDrain(() => this.#source?.resume());
    this.#held = null;
    for (const chunk of held) this.#answer.chunk(chunk);
    return true;
  }

  chunk(chunk: C): Pace {
    if (this.#held === null) return this.#answer.chunk(chunk);
    this.#held.push(chunk);
    this.#heldBytes += typeof chunk === 'string' || Buffer.isBuffer(chunk) ? chunk.length : chunk.length * eventBytes;
    if (this.#heldBytes > heldBytesMax) this.#source?.stop(fault('malformed', 'sent over 1 MB before any content'));
    return 'ready';
  }

  end(found: Fault | null, mark?: StreamMark): Fault | null {
    if (found !== null) {
      if (this.#held === null) this.#answer.markAt(mark);
      return found;
    }
    if (this.#held !== null && !this.content()) return answeredElsewhere();
    this.#answer.end();
    return null;
  }
}

/** An answer in one piece, which nobody sees before it is whole. */
export class WholeAnswer<C> implements AttemptSink {
  readonly #answer: Answer<C>;
  readonly #facts: AnswerFacts;
  readonly #chunks: C[] = [];

  constructor(answer: Answer<C>, facts: AnswerFacts) {
    this.#answer = answer;
    this.#facts = facts;
  }

  start(): void {}

  content(): boolean {
    return true;
  }

  chunk(chunk: C & Chunk): Pace {
    this.#chunks.push(chunk);
    return 'ready';
  }

  end(found: Fault | null): Fault | null {
    if (found !== null) return found;
    if (!this.#answer.begin('whole', this.#facts)) return answeredElsewhere();
    for (const chunk of this.#chunks) this.#answer.chunk(chunk);
    this.#answer.end();
    return null;
  }
}
