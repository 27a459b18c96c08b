import type { StreamMark } from '../../formats/dialects/dialect.ts';
import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import type { Fault } from '../../formats/neutral/outcome.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { PassedTaker } from '../spine/pass-through.ts';
import type { AttemptSink, AttemptSource, Chunk, Pace } from '../spine/sink.ts';
import type { AnswerPlace, KeepingSteps, PassedReader, PassedReading } from '../spine/steps/after.ts';
import { CollectedEvents, entryOf, eventsOf, type KeepingEvents, liveFrom, passing } from './collected-events.ts';
import type { LiveAnswer } from './live-answer.ts';
import { type CachedPassed, cachedBytesMax } from './packed-entry.ts';
import { isRenewable } from './renewed-passed.ts';

/** Collects the events of an answer, and keeps them once it is complete: no turn, and no choice in a separate call. */
export function keepingSteps(keeping: KeepingEvents): KeepingSteps {
  const { toolCalls, keep, lost, begin = null, repaired } = keeping;
  /** The attempts whose answer a guard ended. */
  const ended: object[] = [];
  return {
    passed: (next, place, reading) => new PassedKeeping(keeping, next, place, reading),
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
            const outcome = (missed: Fault | null) => {
              if (missed !== null || !isPassed || ended.includes(place.answer)) return missed;
              const events = collected.complete();
              if (events !== null) keep(entryOf(withText(events, repaired?.() ?? null), place));
              return missed;
            };
            return ending instanceof Promise ? ending.then(outcome) : outcome(ending);
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

/** Events that say something of a text, which is not there any more. */
const ofText: readonly NeutralEvent['type'][] = ['text-delta', 'text-signature', 'citation', 'logprobs'];

/** The events with this text as the only one: a hit does not pay for a repair again. Null: as they are. */
function withText(events: readonly NeutralEvent[], text: string | null): readonly NeutralEvent[] {
  if (text === null) return events;
  const first = events.findIndex(({ type }) => type === 'text-delta' || type === 'finish');
  return events.flatMap((event, at): NeutralEvent[] => [
    ...(at === first ? [{ type: 'text-delta', choice: 0, text } as const] : []),
    ...(ofText.includes(event.type) ? [] : [event]),
  ]);
}

/** Bytes of a stream that wait until they are read. */
const unreadBytesMax = 256 * 1024;

/**
 * Keeps an answer that goes on to its caller as the bytes that came. A stream is read when it is over, or at once as long
 * as others wait for it. What else is kept of an answer, and when, is as for one of events.
 */
class PassedKeeping<C> implements AttemptSink, PassedTaker {
  readonly #keeping: KeepingEvents;
  readonly #next: AttemptSink;
  readonly #place: AnswerPlace<C>;
  readonly #reading: PassedReading;
  readonly #isPart: boolean;
  readonly #collected: CollectedEvents;
  readonly #copy: StreamCopy;
  /** The bytes of a whole answer. */
  #whole: Buffer | null = null;
  #live: LiveAnswer | null = null;
  #isAwaited = false;

  constructor(keeping: KeepingEvents, next: AttemptSink, place: AnswerPlace<C>, reading: PassedReading) {
    this.#keeping = keeping;
    this.#next = next;
    this.#place = place;
    this.#reading = reading;
    this.#isPart = place.job.attemptsMade !== null;
    this.#collected = new CollectedEvents(keeping.toolCalls);
    this.#copy = new StreamCopy(reading);
  }

  start(source: AttemptSource): void {
    this.#next.start(source);
  }

  piece(chunk: Buffer): void {
    if (this.#isPart) return;
    this.#copy.add(chunk);
    if (this.#copy.unreadBytes > unreadBytesMax || this.#isWaitedFor()) this.#take(this.#copy.read());
  }

  whole(bytes: Buffer, value: JsonObject): void {
    if (this.#isPart || bytes.length > cachedBytesMax) return;
    const events = readSafely(() => this.#reading.whole(value));
    if (events === null) return;
    this.#whole = bytes;
    this.#take(events);
  }

  content(): boolean {
    this.#isAwaited = this.#next.content();
    const { begin, others } = this.#keeping;
    if (!this.#isAwaited || begin == null || this.#isPart || !this.#reading.form.streamed) return this.#isAwaited;
    const events = this.#collected.soFar();
    this.#live = liveFrom(this.#place, events ?? []);
    this.#live.takesMore = events !== null;
    begin(this.#live);
    if (others !== undefined) others.onCame = () => this.#take(this.#copy.read());
    return true;
  }

  chunk(chunk: Chunk): Pace {
    if (!this.#isPart) this.#take(eventsOf(chunk));
    return this.#next.chunk(chunk);
  }

  lose(losses: readonly Loss[]): void {
    this.#next.lose?.(losses);
  }

  end(found: Fault | null, mark?: StreamMark): ReturnType<AttemptSink['end']> {
    // Those who have joined it get its last events before they get its end.
    if (found === null && !this.#isPart && this.#isWaitedFor()) this.#take(this.#copy.finish());
    const ending = this.#next.end(found, mark);
    if (found !== null || this.#isPart || this.#place.answer.trial === null) return ending;
    const ended = (missed: Fault | null) => {
      if (missed === null) this.#ended();
      return missed;
    };
    return ending instanceof Promise ? ending.then(ended) : ended(ending);
  }

  #isWaitedFor(): boolean {
    const { others } = this.#keeping;
    return others !== undefined && others.waiting > 0;
  }

  #take(events: readonly NeutralEvent[]): void {
    if (events.length === 0) return;
    this.#collected.add(events);
    if (this.#isAwaited && this.#collected.soFar() === null) {
      this.#isAwaited = false;
      if (this.#live !== null) this.#live.takesMore = false;
      this.#keeping.lost();
    }
    this.#live?.add(events);
  }

  #ended(): void {
    if (this.#whole !== null || this.#copy.isFinished) return this.#keep();
    if (this.#live !== null) this.#live.takesMore = false;
    const finish = () => {
      if (this.#copy.isFinished) return;
      this.#take(this.#copy.finish());
      this.#keep();
    };
    const { others, later } = this.#keeping;
    if (others !== undefined) others.onCame = finish;
    later(finish);
  }

  #keep(): void {
    const { as, keep, lost } = this.#keeping;
    const events = this.#copy.isRead ? this.#collected.complete() : null;
    if (events === null) return lost();
    const { id = null } = events.find((event) => event.type === 'start') ?? {};
    const form = { ...this.#reading.form, id };
    const bytes = this.#whole ?? this.#copy.all();
    const isRenewed = as === 'bytes' && bytes !== null && isRenewable(form);
    keep(entryOf(events, this.#place, isRenewed ? ({ form, bytes } satisfies CachedPassed) : null));
  }
}

/** The bytes of a stream, and how far they have been read. */
class StreamCopy {
  readonly #reading: PassedReading;
  #reader: PassedReader | null = null;
  /** Null: they are too many to be kept. */
  #pieces: Buffer[] | null = [];
  #bytes = 0;
  #unread: Buffer[] = [];
  unreadBytes = 0;
  isFinished = false;
  #isBroken = false;

  constructor(reading: PassedReading) {
    this.#reading = reading;
  }

  /** Whether there is an answer that could be read. */
  get isRead(): boolean {
    return !this.#isBroken && (this.#reader?.fault ?? null) === null;
  }

  add(chunk: Buffer): void {
    const piece = Buffer.from(chunk);
    this.#bytes += piece.length;
    this.unreadBytes += piece.length;
    this.#unread.push(piece);
    if (this.#bytes > cachedBytesMax) this.#pieces = null;
    else this.#pieces?.push(piece);
  }

  /** The events of what came since the last call. */
  read(): readonly NeutralEvent[] {
    if (this.isFinished) return [];
    this.#reader ??= this.#reading.stream();
    const reader = this.#reader;
    const pieces = this.#unread;
    this.#unread = [];
    this.unreadBytes = 0;
    return this.#safely(() => pieces.flatMap((piece) => reader.push(piece) ?? []));
  }

  /** The same, and of the end. None where nothing came: the answer is whole, or one of events. */
  finish(): readonly NeutralEvent[] {
    const events = this.#bytes === 0 ? [] : [...this.read(), ...this.#safely(() => this.#reader?.finish() ?? [])];
    this.isFinished = true;
    return events;
  }

  #safely(work: () => readonly NeutralEvent[]): readonly NeutralEvent[] {
    const events = this.#isBroken ? null : readSafely(work);
    if (events === null) this.#isBroken = true;
    return events ?? [];
  }

  /** Null: there are too many. */
  all(): Buffer | null {
    return this.#pieces === null || this.#bytes === 0 ? null : Buffer.concat(this.#pieces);
  }
}

/** Null: nobody can read it. The caller has the answer all the same. */
function readSafely(work: () => readonly NeutralEvent[] | null): readonly NeutralEvent[] | null {
  try {
    return work();
  } catch {
    return null;
  }
}
