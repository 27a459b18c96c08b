import type { Failure } from '../../kernel/failure.ts';
import type { StreamMark } from '../dialects/dialect.ts';

/** Flat list name, value, name, value…: what node:http takes without building an object. */
export type HeaderList = readonly string[];

/**
 * The waiting caller, as the pipeline sees it: the socket is behind it. Exactly one of `answer`, `refuse` and
 * `endStream` or `failStream` ends it; all are no-ops once the caller has gone.
 */
export interface Caller {
  /** The connection closed before the answer was complete. */
  readonly gone: boolean;
  /** Whether response headers have been sent. */
  readonly committed: boolean;
  /** Called once, when the caller goes or stops reading for `readerStallTimeoutMs`; replaces an earlier listener. */
  onGone(listener: () => void): void;
  /** Called whenever a reader that was behind has caught up; replaces an earlier listener. */
  onDrain(listener: () => void): void;

  /** JSON, unless the headers name another `content-type`. */
  answer(status: number, headers: HeaderList, body: Buffer | string): void;
  /** An error answer in the route's dialect. */
  refuse(failure: Failure, headers: HeaderList): void;

  /**
   * A stream will follow. Until `startStream`, silence of `keepAliveAfterMs` commits `earlyHeaders` with an SSE
   * comment, then repeats the comment; failures are in-stream from then on.
   */
  expectStream(earlyHeaders: HeaderList): void;
  /** With a `content-type` of its own it is a stream of bytes, else one of events. */
  startStream(headers: HeaderList): void;
  /** False: the reader is behind; stop reading upstream until `onDrain`. */
  write(chunk: Buffer | string): boolean;
  endStream(): void;
  /**
   * Ends a committed stream by an error frame of the dialect, one of bytes by a reset of the connection; never by what
   * looks like a clean end.
   */
  failStream(failure: Failure, mark?: StreamMark): void;
}
