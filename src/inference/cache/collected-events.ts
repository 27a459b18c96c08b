import type { FinishReason, NeutralEvent } from '../../formats/neutral/event.ts';
import { usdOf } from '../../formats/neutral/price.ts';
import type { AttemptSink, Chunk } from '../spine/sink.ts';
import type { AnswerPlace } from '../spine/steps/after.ts';
import { LiveAnswer, sizeOf } from './live-answer.ts';
import { type CachedAnswer, type CachedPassed, cachedBytesMax, withoutId } from './packed-entry.ts';

export interface KeepingEvents {
  /** Answers that call tools are kept. */
  toolCalls: boolean;
  /** Takes the answer, before its end goes on to the caller. */
  keep(entry: CachedAnswer): void;
  /** An answer that goes on to the caller turns out not to be kept: nobody should wait for it. */
  lost(): void;
  /** Gets the answer when its first content goes on to the caller. Null or absent: nobody may join it. */
  begin?: ((live: LiveAnswer) => void) | null;
  /** The text that a guard had put in the place of the answer's; null: none. */
  repaired?: (() => string | null) | undefined;
  /** Requests that wait for it. Absent: none may. */
  others?: Waiting | undefined;
  /** Does what is left to do for `keep` or `lost` once the caller has its answer. */
  later(work: () => void): void;
  /** Form in which an answer is kept that passes as bytes: `events`, where others may not get its own bytes. */
  as: 'bytes' | 'events';
}

/** Requests that wait for the answer to another one. */
export interface Waiting {
  readonly waiting: number;
  /** Called with each that comes; null: nobody listens. */
  onCame: (() => void) | null;
}

/** Nothing changes. */
export function passing(next: AttemptSink): AttemptSink {
  return {
    start: (source) => next.start(source),
    content: () => next.content(),
    chunk: (chunk) => next.chunk(chunk),
    lose: (losses) => next.lose?.(losses),
    end: (found, mark) => next.end(found, mark),
  };
}

/** None, where they are bytes. */
export function eventsOf(chunk: Chunk): readonly NeutralEvent[] {
  return typeof chunk === 'string' || Buffer.isBuffer(chunk) ? [] : chunk;
}

/** The events of an answer, as long as it may be kept. */
export class CollectedEvents {
  readonly #toolCalls: boolean;
  /** Null: it is not kept. */
  #events: NeutralEvent[] | null = [];
  #bytes = 0;
  readonly #open = new Set<number>();
  readonly #finished = new Set<number>();

  constructor(toolCalls: boolean) {
    this.#toolCalls = toolCalls;
  }

  add(chunk: Chunk): void {
    if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) this.#events = null;
    else for (const event of chunk) this.#take(event);
  }

  /** Null: it may not be kept. */
  soFar(): readonly NeutralEvent[] | null {
    return this.#events;
  }

  /** Null: it is not complete, or may not be kept. */
  complete(): readonly NeutralEvent[] | null {
    const isFinished = this.#finished.size > 0 && [...this.#open].every((choice) => this.#finished.has(choice));
    return isFinished && this.#events?.at(-1)?.type === 'end' ? this.#events : null;
  }

  #take(event: NeutralEvent): void {
    if (this.#events === null) return;
    this.#bytes += sizeOf(event);
    if (event.type === 'finish') this.#finished.add(event.choice);
    else if ('choice' in event) this.#open.add(event.choice);
    const isCollected = this.#bytes <= cachedBytesMax && isCacheable(event, this.#toolCalls);
    if (isCollected) this.#events.push(event);
    else this.#events = null;
  }
}

function isCacheable(event: NeutralEvent, toolCalls: boolean): boolean {
  switch (event.type) {
    case 'finish':
      return isComplete(event.reason, toolCalls);
    case 'tool-call-start':
    case 'tool-call-delta':
      return toolCalls;
    // What a provider keeps under an id, or for a while, is not there for the next one; nor is what a tool did.
    case 'refusal-delta':
    case 'audio-delta':
    case 'media':
    case 'server-tool':
    case 'failed':
      return false;
    case 'vendor-part':
      return event.apart === true;
    default:
      return true;
  }
}

function isComplete(reason: FinishReason, toolCalls: boolean): boolean {
  return reason === 'stop' || reason === 'stop-sequence' || (reason === 'tool-calls' && toolCalls);
}

/** The answer, for requests that join it. */
export function liveFrom<C>({ answer, job }: AnswerPlace<C>, events: readonly NeutralEvent[]): LiveAnswer {
  const { provider, model } = answer.attempt.target;
  const live = new LiveAnswer({ provider, model, losses: job.progress.losses, endpoint: job.endpoint });
  live.add(events);
  return live;
}

/** The entry of a complete answer. */
export function entryOf<C>(
  events: readonly NeutralEvent[],
  { answer, job }: AnswerPlace<C>,
  passed: CachedPassed | null = null,
): CachedAnswer {
  const { target } = answer.attempt;
  const usage = events.findLast((event) => event.type === 'usage')?.usage ?? null;
  return {
    answer: passed ?? events.map(withoutId),
    provider: target.provider,
    model: target.model,
    usd: usage === null ? null : usdOf(usage, target.price, job.atMs),
    losses: job.progress.losses,
    endpoint: job.endpoint,
  };
}
