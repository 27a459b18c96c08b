/** One server-sent event. The dialects know the same shape. */
export interface SseEvent {
  /** The `event:` field, '' when absent. */
  event: string;
  /** The `data:` lines joined by \n. */
  data: string;
}

/** An event with its bytes: `splitter.bytes.subarray(start, end)`, the blank line that ends it included. */
export interface SplitEvent extends SseEvent {
  start: number;
  end: number;
}

/**
 * Reads an event stream, cut anywhere, as the WHATWG parser does (html.spec.whatwg.org, "Interpreting an event
 * stream"): LF, CR and CRLF, a leading BOM, several `data:` lines, comments. `id` and `retry` mean nothing to a gateway
 * and are skipped; blocks without data give no event.
 */
export interface SseReader {
  /** The events that this chunk completes. Empty for ever once `tooLarge`. */
  push(chunk: Buffer): readonly SseEvent[];
  /**
   * At the end of the bytes: the last block when only its blank line is missing. The WHATWG parser throws it away, but
   * servers exist that end with `data: [DONE]` and no line end.
   */
  end(): readonly SseEvent[];
  /** An event grew beyond `eventBytesMax`: nothing that follows can be trusted. */
  readonly tooLarge: boolean;
  /** Bytes held of an event that has not ended. */
  readonly pendingBytes: number;
}

/**
 * The same, for forwarding bytes. Events of one push lie in order in one buffer, so a run of forwarded ones is one
 * slice, from the first one's `start` to the last one's `end`; comments between two events go along. Comments outside
 * such a run are dropped, as is a BOM: it would not be at the start of what our caller reads.
 */
export interface SseSplitter extends SseReader {
  push(chunk: Buffer): readonly SplitEvent[];
  end(): readonly SplitEvent[];
  /** Buffer of the offsets of the last `push` or `end`. Never written again: it may be kept. */
  readonly bytes: Buffer;
}

export interface SseReaderOptions {
  /** Largest event, from its first byte to its blank line. */
  eventBytesMax?: number | undefined;
}
