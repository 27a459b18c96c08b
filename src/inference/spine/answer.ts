import type {
  AnswerFold,
  AnswerHead,
  CallerDialect,
  StreamEncoder,
  StreamMark,
} from '../../formats/dialects/dialect.ts';
import { type Loss, lossComment, lossesOf, lossHeader, lossHeaderName } from '../../formats/neutral/loss.ts';
import { type Fault, fault } from '../../formats/neutral/outcome.ts';
import { usdOf } from '../../formats/neutral/price.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type JsonObject, withOne } from '../../kernel/json.ts';
import { largeEventBytesMax } from '../../kernel/limits.ts';
import type { HedgeReason, Route, RouteAttempt } from '../../routing/route.ts';
import type { Seen, Watched } from '../../routing/silence.ts';
import type { Target } from '../../routing/target.ts';
import type { Trial } from './attempts/trial.ts';
import type { Job } from './job.ts';
import type { AnswerForm, AttemptSink, AttemptSource, Bytes, Chunk, HeaderList, Pace } from './sink.ts';
import { withoutNames } from './steps/changed-headers.ts';

/** Facts of an answer for the client, in addition to its body. */
export interface AnswerFacts {
  losses: readonly Loss[];
  /** Content-Type of the answer that the client gets, where that is not JSON. */
  answerType?: string | undefined;
  answer: 'pass-through' | 'converted';
}

/** Concurrent attempts, one of which may answer. */
export interface AnswerContest<C> {
  readonly clock: Clock;
  readonly job: Job<C>;
  readonly route: Pick<Route, 'firstToken'>;
  /** Notes who answers. False: another one was first. */
  claim(answer: Answer<C>): boolean;
}

/**
 * Answer that one attempt may become: of concurrent and successive attempts, one begins it. Bytes reach the client only
 * after the first content; until then another attempt may replace it. Unfinished images are not content.
 */
export class Answer<C = Bytes> implements Watched {
  /** Ms from dispatch to the first content; null: none has come. */
  firstTokenMs: number | null = null;
  /** False: it is the client's, and no other attempt can answer. */
  awaiting = true;
  readonly attempt: RouteAttempt;
  /** Reason why it runs concurrently with another one; null: it does not. */
  readonly hedge: HedgeReason | null;
  /** Trial that makes it; null: it does not run yet, or has ended. */
  trial: Trial | null = null;
  /** State of the watch for silence; null: it says nothing. */
  seen: Seen | null = null;
  readonly #contest: AnswerContest<C>;

  constructor(contest: AnswerContest<C>, attempt: RouteAttempt, hedge: HedgeReason | null = null) {
    this.#contest = contest;
    this.attempt = attempt;
    this.hedge = hedge;
  }

  get signs(): number {
    return this.trial?.signs ?? 0;
  }

  get paused(): boolean {
    return this.trial?.paused ?? true;
  }

  /** Notes the time of the first content, once. */
  noteFirst(): void {
    if (this.firstTokenMs !== null) return;
    const nowMs = this.#contest.clock.monotonicMs();
    this.firstTokenMs = nowMs - this.attempt.startedMs;
    this.#contest.route.firstToken(this.attempt, nowMs);
  }

  /** From now on no other attempt can answer. False: another one was first. */
  begin(form: AnswerForm, facts: AnswerFacts): boolean {
    if (!this.#contest.claim(this)) return false;
    this.awaiting = false;
    this.noteFirst();
    const { progress, sink } = this.#contest.job;
    progress.losses = facts.losses;
    progress.passThrough = facts.answer === 'pass-through';
    if (form !== 'whole') progress.delivered = 'partial';
    const costUsd = form === 'whole' ? this.#costUsd() : null;
    sink.start(form, this.headers(facts, costUsd === null ? noHeaders : usdHeader(costUsd)));
    return true;
  }

  /** Cost of a whole answer; null if its target has no price, or its use is found out later. */
  #costUsd(): number | null {
    const { endpoint, progress, atMs } = this.#contest.job;
    const usage = this.trial === null ? progress.usage : this.trial.seen(true, null).usage;
    if (usage === null || (measuredLater.has(endpoint) && usage.audioMs === undefined)) return null;
    const trialUsd = usdOf(usage, this.attempt.target.price, atMs);
    return trialUsd === null ? null : trialUsd + progress.besideUsd;
  }

  /** The headers that say who answered, over how many attempts, for how much and what was left out (design §6). */
  headers(facts: Omit<AnswerFacts, 'answer'>, usd: HeaderList = noHeaders): HeaderList {
    const { job } = this.#contest;
    // An answer that was held back has been counted among the attempts.
    const before = job.attemptsMade === null ? job.progress.attempts.length : job.attemptsMade();
    const made = before + (job.progress.heldBack !== null && this.trial === null ? 0 : 1);
    const { target } = this.attempt;
    // At once: a list that grows is copied, with more room than it needs.
    const headers = whoHeadersOf(target).concat(['x-culvert-attempts', String(made)], costHeaders(job), usd);
    if (facts.losses.length > 0) headers.push(lossHeaderName, lossHeader(facts.losses));
    if (facts.answerType !== undefined) headers.push('content-type', facts.answerType);
    const { callersLimits } = this.attempt;
    if (callersLimits !== undefined) headers.push(...withoutNames(callersLimits, job.headers));
    if (target.simulated) headers.push('x-culvert-simulated', 'true');
    return headers;
  }

  chunk(chunk: C): Pace {
    return this.#contest.job.sink.chunk(chunk);
  }

  end(): void {
    const { progress, sink } = this.#contest.job;
    progress.delivered = 'whole';
    progress.status = 200;
    sink.end(null);
  }

  /** Parts that turned out to have no place in the client's format after the headers were sent. */
  lose(losses: readonly Loss[]): void {
    const { progress } = this.#contest.job;
    progress.losses = [...progress.losses, ...losses];
  }

  /** A stream broke off here. */
  markAt(mark: StreamMark | undefined): void {
    this.#contest.job.progress.mark = mark;
  }

  /** Calls back whenever the client can take more. */
  onDrain(listener: () => void): void {
    this.#contest.job.client.onDrain(listener);
  }
}

export function answeredElsewhere(): Fault {
  return fault('cancelled', 'another target answered first');
}

/** Maximum size before the first content: role chunks, message_start. */
const heldBytesMax = 1024 * 1024;
/**
 * A stream of Responses repeats instructions and tools in up to three events before its content, and may escape a
 * character of two bytes by six.
 */
const repeatsMax = 3 * 3;
/** Estimated size of a held event. */
const eventBytes = 64;

/** A stream, held back until its first content: what fails before that leaves no trace. */
export class StreamedAnswer<C extends Chunk> implements AttemptSink {
  readonly #answer: Answer<C>;
  #facts: AnswerFacts;
  #source: AttemptSource | null = null;
  /** Null once the answer has begun. */
  #held: C[] | null = [];
  #heldBytes = 0;
  readonly #heldBytesMax: number;

  /** `repeatable`: bytes of the request, where its answer may repeat parts of it. */
  constructor(answer: Answer<C>, facts: AnswerFacts, repeatable = 0) {
    this.#answer = answer;
    this.#facts = facts;
    this.#heldBytesMax = Math.min(heldBytesMax + repeatsMax * repeatable, largeEventBytesMax);
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
    if (this.#heldBytes > this.#heldBytesMax) {
      const mb = Math.round(this.#heldBytesMax / heldBytesMax);
      this.#source?.stop(fault('malformed', `sent over ${mb} MB before any content`));
    }
    return 'ready';
  }

  /** Reports losses in a comment once the headers have left: every reader of events skips comments. */
  lose(losses: readonly Loss[]): void {
    if (this.#held !== null) this.#facts = { ...this.#facts, losses: [...this.#facts.losses, ...losses] };
    else {
      this.#answer.lose(losses);
      this.#answer.chunk(lossComment(losses) as Chunk as C);
    }
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
  #facts: AnswerFacts;
  #chunks: C[] = [];

  constructor(answer: Answer<C>, facts: AnswerFacts) {
    this.#answer = answer;
    this.#facts = facts;
  }

  start(): void {}

  content(): boolean {
    return true;
  }

  chunk(chunk: C & Chunk): Pace {
    this.#chunks = withOne(this.#chunks, chunk);
    return 'ready';
  }

  lose(losses: readonly Loss[]): void {
    this.#facts = { ...this.#facts, losses: [...this.#facts.losses, ...losses] };
  }

  end(found: Fault | null): Fault | null {
    if (found !== null) return found;
    if (!this.#answer.begin('whole', this.#facts)) return answeredElsewhere();
    for (const chunk of this.#chunks) this.#answer.chunk(chunk);
    this.#answer.end();
    return null;
  }
}

/** Form in which events are written for the client: in its dialect, as frames of a stream or as a whole answer. */
export interface WrittenFor {
  dialect: Pick<CallerDialect, 'encodeStream' | 'fold'>;
  head: AnswerHead;
  stream: boolean;
  /** Given the items of an answer that a later request may name; absent: none may. */
  keep?: (items: readonly JsonObject[]) => void;
}

/** The first event of an answer, with the name that its model has for the client. */
export function withModel<E extends { model: string | null }>(event: E, { answerModel }: AnswerHead): E {
  return answerModel === undefined ? event : { ...event, model: answerModel };
}

/** Writes events in the client's dialect, for the sink after it; bytes pass unchanged. */
export class EncodedAnswer implements AttemptSink {
  readonly #next: AttemptSink;
  readonly #client: WrittenFor;
  #encoder: StreamEncoder | null = null;
  #fold: AnswerFold | null = null;

  constructor(next: AttemptSink, client: WrittenFor) {
    this.#next = next;
    this.#client = client;
  }

  start(source: AttemptSource): void {
    this.#next.start(source);
  }

  content(): boolean {
    return this.#next.content();
  }

  chunk(chunk: Chunk): Pace {
    if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) return this.#next.chunk(chunk);
    const { dialect, head, stream, keep } = this.#client;
    if (!stream) {
      this.#fold ??= dialect.fold(head);
      for (const event of chunk) this.#fold.add(event.type === 'start' ? withModel(event, head) : event);
      return 'ready';
    }
    this.#encoder ??= dialect.encodeStream(head);
    const isRenamed = head.answerModel !== undefined;
    let written = '';
    for (const event of chunk) {
      const frames = this.#encoder.step(event.type === 'start' && isRenamed ? withModel(event, head) : event);
      if (event.type === 'end') {
        if (this.#encoder.lost !== undefined) this.#lose(this.#encoder.lost);
        // Before its last frame is out: the next request may name them at once.
        if (keep !== undefined && this.#encoder.items !== undefined) keep(this.#encoder.items());
      }
      written += frames;
    }
    return written === '' ? 'ready' : this.#next.chunk(written);
  }

  end(found: Fault | null, mark?: StreamMark): ReturnType<AttemptSink['end']> {
    if (found !== null) return this.#next.end(found, this.#encoder?.mark?.() ?? mark);
    const { keep } = this.#client;
    if (this.#fold !== null) {
      // Joining the answer may lose more.
      const whole = JSON.stringify(this.#fold.result());
      if (this.#fold.lost !== undefined) this.#lose(this.#fold.lost);
      this.#next.chunk(whole);
    }
    const missed = this.#next.end(null);
    if (missed === null && keep !== undefined && this.#fold?.items !== undefined) keep(this.#fold.items());
    return missed;
  }

  #lose(lost: ReadonlySet<string>): void {
    if (lost.size > 0) this.#next.lose?.(lossesOf(lost));
  }
}

const noHeaders: HeaderList = [];

/** Targets live as long as their snapshot, and are the same for all of its answers. */
const whoHeaders = new WeakMap<Target, HeaderList>();

/** The headers that say which target answered. */
function whoHeadersOf(target: Target): HeaderList {
  const made = whoHeaders.get(target);
  if (made !== undefined) return made;
  const headers = ['x-culvert-provider', headerSafe(target.provider), 'x-culvert-model', headerSafe(target.model)];
  whoHeaders.set(target, headers);
  return headers;
}

/** Headers known before anybody has answered: limits, and the cost of an answer. */
export function costHeaders(job: Pick<Job, 'headers' | 'costMilli'>): HeaderList {
  return ['x-culvert-cost', String(job.costMilli / 1_000)].concat(job.headers);
}

/** Endpoints where the length of the sound may be known only after the answer. */
const measuredLater: ReadonlySet<string> = new Set(['transcription', 'translation']);

const usdHeaderName = 'x-culvert-cost-usd';

function usdHeader(costUsd: number): HeaderList {
  return [usdHeaderName, usdText(costUsd)];
}

/** Up to nine decimals, without an exponent. */
function usdText(usd: number): string {
  const isShort = usd >= 1e-6 && usd < 1e6;
  return isShort ? String(Math.round(usd * 1e9) / 1e9) : usd.toFixed(9).replace(/\.?0+$/, '');
}

/** The headers of one of several answers that become one: with what this one and those before it cost together. */
export function withCostOfAll(headers: HeaderList, before: HeaderList): HeaderList {
  const priced = [before, headers].filter((list) => list.includes(usdHeaderName));
  const usd = priced.reduce((sum, list) => sum + Number(list[list.indexOf(usdHeaderName) + 1]), 0);
  return priced.length === 0 ? headers : [...withoutNames(headers, [usdHeaderName]), ...usdHeader(usd)];
}

/** Text for a header: model ids come from upstreams and callers, a header holds only whole, printable ASCII. */
export function headerSafe(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed());
}
