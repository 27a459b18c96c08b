import type { StreamMark } from '../../formats/dialects/dialect.ts';
import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import type { Fault } from '../../formats/neutral/outcome.ts';
import type { Failure } from '../../kernel/failure.ts';

/** Flat list name, value, name, value…: what node:http takes without building an object. */
export type HeaderList = readonly string[];

export type Bytes = Buffer | string;

/** Output of an attempt: bytes for the client, unchanged, or events to be written in its dialect. */
export type Chunk = Bytes | readonly NeutralEvent[];

/** `behind`: the receiver has enough for now, and says when it is ready again. */
export type Pace = 'ready' | 'behind';

/** In one piece, as server-sent events, or as a stream of other bytes. */
export type AnswerForm = 'whole' | 'events' | 'bytes';

/**
 * Takes the answer of a request. Sinks compose: one that converts, keeps or joins answers passes them on to another.
 * `end` is called once; all calls are no-ops once the client has gone.
 */
export interface Sink<C = Bytes> {
  /** From now on no other attempt can replace this answer. JSON, unless the headers name another `content-type`. */
  start(form: AnswerForm, headers: HeaderList, status?: number): void;
  chunk(chunk: C): Pace;
  /** Null: all has come. */
  end(failed: Failed | null): void;
  /** Resolves when all that it got has gone on; absent: it goes on at once. */
  readonly finished?: Promise<void>;
  /** Why an answer that had come was refused on its way; null or absent: it was not. */
  readonly refusal?: Refusal | null;
}

/** The refusal of an answer by what its texts pass. `begun`: a part of it has gone on. */
export interface Refusal {
  failure: Failure;
  begun: boolean;
}

/** Why there is no answer, or none to its end. */
export interface Failed {
  failure: Failure;
  /** Sent with an answer that has not been started. */
  headers: HeaderList;
  /** Place of a started stream, for dialects whose error frame must know. */
  mark?: StreamMark | undefined;
}

/** The caller that waits for the answer. */
export interface Client {
  /** It left before the answer was complete. */
  readonly disconnected: boolean;
  /** Why this server cut the answer off, which counts as if the caller had left; null: it has not. */
  readonly cutFor: Failure | null;
  /** A status line has been sent. */
  readonly committed: boolean;
  /** Called once, when it leaves or stops reading for `readerStallTimeoutMs`; replaces an earlier listener. */
  onDisconnect(listener: () => void): void;
  /** Called whenever a reader that was behind has caught up; replaces an earlier listener. */
  onDrain(listener: () => void): void;
}

/** The client on the connection of a request, and where its answer goes. */
export interface Delivery extends Client, Sink {
  /**
   * A stream of events will follow. Until it starts, silence of `keepAliveAfterMs` commits `earlyHeaders` with an SSE
   * comment, then repeats the comment; failures are in-stream from then on.
   */
  expect(earlyHeaders: HeaderList): void;
}

/** Takes what one attempt yields, which another attempt may yet replace. */
export interface AttemptSink {
  /** Called once, before everything else. */
  start(source: AttemptSource): void;
  /** The next chunk holds the first content. False: another attempt was first, and this one is over. */
  content(): boolean;
  chunk(chunk: Chunk): Pace;
  /** Parts of the answer without a place in the client's format. Before its last chunk. */
  lose?(losses: readonly Loss[]): void;
  /**
   * Null: all has come. Returns the final result of the attempt: a sink may find that the answer is none. `mark`: the
   * position of a stream of the upstream's bytes.
   */
  end(fault: Fault | null, mark?: StreamMark): Fault | null | Promise<Fault | null>;
}

/** Source of an attempt's chunks. */
export interface AttemptSource {
  /** A sink that was behind is ready again. */
  resume(): void;
  /** The chunks are not an answer. */
  stop(fault: Fault): void;
}

/** An answer that is there already. */
export function sendWhole(sink: Sink, headers: HeaderList, body: Bytes, status = 200): void {
  sink.start('whole', headers, status);
  sink.chunk(body);
  sink.end(null);
}

/** An error answer, in the dialect of its route. */
export function refuse(sink: Sink, failure: Failure, headers: HeaderList): void {
  sink.end({ failure, headers });
}
