import type { PassingFacts } from '../../formats/dialects/dialect.ts';
import { isContent, type NeutralEvent, standsForContent } from '../../formats/neutral/event.ts';
import { type Fault, fault } from '../../formats/neutral/outcome.ts';
import type { Usage } from '../../formats/neutral/usage.ts';
import { parsedJson, withOne } from '../../kernel/json.ts';
import { upstreamBodyBytesMax } from '../../kernel/limits.ts';
import type { Bytes, Chunk } from './sink.ts';

/**
 * Turns the bytes of an upstream into those for the caller: forwarded (pass-through.ts) or converted (converted.ts), as
 * a stream or whole. It takes pieces of any size; the attempt looks at the fields after each step. A stream ends
 * cleanly only if the upstream's end mark was seen.
 */
export interface AnswerReader extends Readonly<Pick<PassingFacts, 'usage' | 'answeredAs' | 'finishReason' | 'mark'>> {
  /** Content of this chunk for the client; null when none (a whole answer shows all at `finish`). */
  push(chunk: Buffer): Chunk | null;
  /** The upstream's body ended. A stream's last bytes, or the whole answer; null when `fault` says it is none. */
  finish(): Chunk | null;
  /** Content events so far: they feed the timers, and the first one commits the headers. */
  readonly contentEvents: number;
  /** The upstream's end mark has been read: all that follows is not part of the answer. */
  readonly done: boolean;
  /** Set once the answer turned out to be an error, unreadable or cut. Earlier results of push are still good. */
  readonly fault: Fault | null;
  /** Lines of a converted stream that were skipped as unreadable. */
  readonly malformedLines: number;
  /** Rough count of output tokens that passed, for when the upstream never says; absent: none, as in sound. */
  readonly outputTokensSeen?: number;
}

/** An answer that ends normally without content, and for which the provider counted nothing either. */
export const emptyAnswer = Object.freeze(fault('malformed', 'the answer is empty'));

/**
 * True if the provider counted no output. If it did, an answer without content is the model's intention: some say
 * nothing more after results of tools.
 */
export function countsNoOutput(usage: Usage | null): boolean {
  return usage === null || usage.outputTokens === 0;
}

/** True if these are all events of an empty answer. Withheld, cut off or paused ones give a reason, so they are not. */
export function isEmptyAnswer(events: readonly NeutralEvent[]): boolean {
  return events.at(-1)?.type === 'end' && events.every((event) => !isContent(event) && !standsForContent(event));
}

/** A whole answer that another reader reads, and may find to be none. */
export class GatheredWhole implements AnswerReader {
  readonly contentEvents = 0;
  readonly malformedLines = 0;
  readonly done = false;
  readonly usage = null;
  fault: Fault | null = null;
  readonly #body: WholeBody = new WholeBody();

  push(chunk: Buffer): null {
    this.fault ??= this.#body.add(chunk);
    return null;
  }

  finish(): Bytes | null {
    return this.fault === null ? this.#body.bytes() : null;
  }
}

/** A stream where a whole answer was requested, or the other way round, and nobody to convert it. */
export class UnlikeAnswer implements AnswerReader {
  readonly contentEvents = 0;
  readonly malformedLines = 0;
  readonly done = false;
  readonly usage = null;
  readonly fault: Fault;

  constructor(streamRequested: boolean) {
    this.fault = fault('malformed', streamRequested ? 'answered whole, not as a stream' : 'answered as a stream');
  }

  push(): null {
    return null;
  }

  finish(): null {
    return null;
  }
}

const smallChunkBytes = 1_024;

/** A body gathered whole, up to `upstreamBodyBytesMax`. */
export class WholeBody {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Buffer for small chunks: each would be a separate object, which is larger than a token. */
  #small: Buffer | null = null;
  #smallBytes = 0;

  add(chunk: Buffer): Fault | null {
    this.#bytes += chunk.length;
    if (this.#bytes > upstreamBodyBytesMax) return fault('malformed', 'sent an answer of over 64 MB');
    if (this.#chunks.length > 0 && chunk.length <= smallChunkBytes) this.#addSmall(chunk);
    else {
      this.#closeSmall();
      this.#chunks = withOne(this.#chunks, chunk);
    }
    return null;
  }

  #addSmall(chunk: Buffer): void {
    if (this.#small !== null && this.#smallBytes + chunk.length > this.#small.length) this.#closeSmall();
    this.#small ??= Buffer.allocUnsafeSlow(16 * smallChunkBytes);
    this.#smallBytes += chunk.copy(this.#small, this.#smallBytes);
  }

  #closeSmall(): void {
    if (this.#small !== null) this.#chunks.push(this.#small.subarray(0, this.#smallBytes));
    this.#small = null;
    this.#smallBytes = 0;
  }

  bytes(): Buffer {
    this.#closeSmall();
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#bytes);
    // A byte order mark: not every client of the caller's skips it.
    return all[0] === 0xef && all[1] === 0xbb && all[2] === 0xbf ? all.subarray(3) : all;
  }
}

export function tooLargeEvent(): Fault {
  return fault('malformed', 'sent an event that is too large');
}

/** Reads JSON. `text`: of these bytes, where there is one. */
export function parseAnswer(bytes: Buffer, text?: string): { value: unknown; fault: Fault | null } {
  if (bytes.length === 0) return { value: null, fault: fault('malformed', 'sent an empty answer') };
  const value = parsedJson(text ?? bytes.toString('utf8'));
  return { value, fault: value === undefined ? fault('malformed', 'sent an answer that is not JSON') : null };
}
