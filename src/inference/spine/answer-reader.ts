import type { StreamMark } from '../dialects/dialect.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { Usage } from '../neutral/usage.ts';
import type { Chunk } from './sink.ts';

/**
 * Turns what an upstream sends into what the caller gets: forwarded (pass-through.ts) or converted (converted.ts),
 * as a stream or whole. Fed in any cut; the attempt looks at the fields after each step. A stream ends cleanly only if the
 * upstream's own end mark was seen.
 */
export interface AnswerReader {
  /** What this chunk lets the client see; null when nothing (a whole answer shows all at `finish`). */
  push(chunk: Buffer): Chunk | null;
  /** The upstream's body ended. A stream's last bytes, or the whole answer; null when `fault` says it is none. */
  finish(): Chunk | null;
  /** Nothing more is read, though the answer has not ended. */
  abandon?(): void;
  /** Content events so far: they feed the timers, and the first one commits the headers. */
  readonly contentEvents: number;
  /** The upstream's own end mark has been read: whatever it still sends is not part of the answer. */
  readonly done: boolean;
  /** Set once the answer turned out to be an error, unreadable or cut. What push returned is still good. */
  readonly fault: Fault | null;
  /** What the upstream said it used, or null. */
  readonly usage: Usage | null;
  /** Lines of a converted stream that were skipped as unreadable. */
  readonly malformedLines: number;
  /** Rough count of output tokens that passed: for when the upstream never says. */
  readonly outputTokensSeen: number;
  /** Where the caller's stream stands, for dialects whose error frame must know. */
  readonly mark?: StreamMark | undefined;
}
