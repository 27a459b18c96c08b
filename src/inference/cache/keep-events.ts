import type { FinishReason, NeutralEvent } from '../../formats/neutral/event.ts';
import type { Fault } from '../../formats/neutral/outcome.ts';
import { usdOf } from '../../formats/neutral/price.ts';
import type { AnswerPlace, KeepingSteps } from '../spine/after.ts';
import type { AttemptSink, Chunk } from '../spine/sink.ts';
import { type KeptEntry, keptBytesMax } from './kept-entry.ts';
import { LiveAnswer, sizeOf } from './live-answer.ts';

export interface KeepingEvents {
  /** Answers that call tools are kept. */
  toolCalls: boolean;
  /** Takes the answer, before its end goes on to the caller. */
  keep(entry: KeptEntry): void;
  /** An answer that goes on to the caller turns out not to be kept: nobody should wait for it. */
  lost(): void;
  /** Gets the answer when its first content goes on to the caller. Null or absent: nobody may join it. */
  begin?: ((live: LiveAnswer) => void) | null;
  /** The text that a guard had put in the place of the answer's; null: none. */
  repaired?: (() => string | null) | undefined;
}

/**
 * Collects the events of an answer, and keeps them once the answer is complete. What a turn or a choice in a separate
 * call says is a part of an answer, which is not kept.
 */
export function keepingSteps({ toolCalls, keep, lost, begin = null, repaired }: KeepingEvents): KeepingSteps {
  /** The attempts whose answer a guard ended. */
  const ended: object[] = [];
  return {
    first: {
      over(next, place) {
        if (place.job.attemptsMade !== null) return next;
        const collected = new CollectedEvents(toolCalls);
        let live: LiveAnswer | null = null;
        let isAwaited = false;
        return {
          ...passing(next),
          content() {
            const isFirst = next.content();
            isAwaited = isFirst;
            const events = isFirst && begin !== null ? collected.soFar() : null;
            if (events !== null) {
              live = liveFrom(place, events);
              begin?.(live);
            }
            return isFirst;
          },
          chunk(chunk) {
            collected.add(chunk);
            if (isAwaited && collected.soFar() === null) {
              isAwaited = false;
              if (live !== null) live.takesMore = false;
              lost();
            }
            live?.add(eventsOf(chunk));
            return next.chunk(chunk);
          },
          end(found, mark) {
            const ending = next.end(found, mark);
            // An answer that failed its checks comes when its trial is over, because no better one came.
            const isPassed = found === null && place.answer.trial !== null;
            const kept = (missed: Fault | null) => {
              if (missed !== null || !isPassed || ended.includes(place.answer)) return missed;
              const events = collected.complete();
              if (events !== null) keep(entryOf(withText(events, repaired?.() ?? null), place));
              return missed;
            };
            return ending instanceof Promise ? ending.then(kept) : kept(ending);
          },
        };
      },
    },
    last: {
      over(next, { answer }) {
        return {
          ...passing(next),
          chunk(chunk) {
            if (eventsOf(chunk).some((event) => event.type === 'finish' && event.reason === 'content-filter')) {
              ended.push(answer);
            }
            return next.chunk(chunk);
          },
        };
      },
    },
  };
}

function passing(next: AttemptSink): AttemptSink {
  return {
    start: (source) => next.start(source),
    content: () => next.content(),
    chunk: (chunk) => next.chunk(chunk),
    lose: (losses) => next.lose?.(losses),
    end: (found, mark) => next.end(found, mark),
  };
}

function eventsOf(chunk: Chunk): readonly NeutralEvent[] {
  return typeof chunk === 'string' || Buffer.isBuffer(chunk) ? [] : chunk;
}

/** The events of an answer, as long as it may be kept. */
class CollectedEvents {
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
    const isKept = this.#bytes <= keptBytesMax && mayBeKept(event, this.#toolCalls);
    if (isKept) this.#events.push(event);
    else this.#events = null;
  }
}

function mayBeKept(event: NeutralEvent, toolCalls: boolean): boolean {
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
    case 'vendor-part':
    case 'server-tool':
    case 'failed':
      return false;
    default:
      return true;
  }
}

function isComplete(reason: FinishReason, toolCalls: boolean): boolean {
  return reason === 'stop' || reason === 'stop-sequence' || (reason === 'tool-calls' && toolCalls);
}

/** Events that say something of a text, which is not there any more. */
const ofText: readonly NeutralEvent['type'][] = ['text-delta', 'text-signature', 'citation', 'logprobs'];

/** The events with this text as the only one: a hit does not pay for a repair again. Null: as they are. */
function withText(events: readonly NeutralEvent[], text: string | null): readonly NeutralEvent[] {
  if (text === null) return events;
  const others = events.filter(({ type }) => !ofText.includes(type));
  const first = events.findIndex(({ type }) => type === 'text-delta' || type === 'finish');
  const before = events.slice(0, first).filter(({ type }) => !ofText.includes(type)).length;
  return others.toSpliced(before, 0, { type: 'text-delta', choice: 0, text });
}

function liveFrom<C>({ answer, job }: AnswerPlace<C>, events: readonly NeutralEvent[]): LiveAnswer {
  const { provider, model } = answer.attempt.target;
  const live = new LiveAnswer({ provider, model, losses: job.progress.losses, endpoint: job.endpoint });
  live.add(events);
  return live;
}

function entryOf<C>(events: readonly NeutralEvent[], { answer, job }: AnswerPlace<C>): KeptEntry {
  const { target } = answer.attempt;
  const usage = events.findLast((event) => event.type === 'usage')?.usage ?? null;
  return {
    answer: events.map((event) => (event.type === 'start' ? { ...event, id: null, createdS: null } : event)),
    provider: target.provider,
    model: target.model,
    usd: usage === null ? null : usdOf(usage, target.price, job.atMs),
    losses: job.progress.losses,
    endpoint: job.endpoint,
  };
}
