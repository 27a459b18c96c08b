import type { Clock } from '../kernel/clock.ts';
import type { JsonValue } from '../kernel/json.ts';

/** One request as `GET /_mock/requests` shows it. Times are wall-clock ms. */
export interface RecordedRequest {
  /** With the query. */
  path: string;
  method: string;
  headers: Record<string, string>;
  /** Parsed when it is JSON, else its text; null when none came. Beyond 64 KB only the text's beginning. */
  body: JsonValue;
  /** The client closed the connection before the answer had ended. */
  aborted: boolean;
  at_ms: number;
  /** Null while the answer goes on. */
  ended_ms: number | null;
  /** Bytes of the response body handed to the socket, before chunk framing. */
  bytes_sent: number;
}

/** The same while it runs: cheap to keep, turned into a `RecordedRequest` only when someone looks. */
export interface Exchange {
  path: string;
  method: string;
  rawHeaders: readonly string[];
  bodyText: string;
  aborted: boolean;
  atMs: number;
  endedMs: number | null;
  bytesSent: number;
  /** We broke the connection ourselves, so its close is not an abort. */
  endedByUs: 'no' | 'yes';
  /** The `clear()` that it came after. Requests that began before the last one are forgotten. */
  era: number;
}

export const recordedMax = 10_000;
export const recordedBodyChars = 64 * 1024;
/** All bodies together, so that ten thousand large ones cannot fill the memory; above it bodies are left out. */
const recordedCharsMax = 64 * 1024 * 1024;

export type Recording = ReturnType<typeof createRecording>;

/** An exchange that no record has. */
export function unrecorded(): Exchange {
  return {
    path: '',
    method: '',
    rawHeaders: [],
    bodyText: '',
    aborted: false,
    atMs: 0,
    endedMs: null,
    bytesSent: 0,
    endedByUs: 'no',
    era: -1,
  };
}

/** `onEnded` sees every request once, when it has ended. */
export function createRecording(clock: Clock, onEnded?: (request: RecordedRequest) => void) {
  // A ring: slot `next % recordedMax` is the oldest once it is full.
  let ring: Exchange[] = [];
  let next = 0;
  let chars = 0;
  let era = 0;
  let waiters: { matches(request: RecordedRequest): boolean; resolve(request: RecordedRequest): void }[] = [];

  function record(exchange: Exchange): void {
    if (waiters.length === 0) return;
    const request = shown(exchange);
    waiters = waiters.filter((waiter) => {
      if (!waiter.matches(request)) return true;
      waiter.resolve(request);
      return false;
    });
  }

  function inOrder(): Exchange[] {
    const oldest = next % recordedMax;
    return ring.length < recordedMax ? ring : [...ring.slice(oldest), ...ring.slice(0, oldest)];
  }

  return {
    begin(path: string, method: string, rawHeaders: readonly string[]): Exchange {
      const exchange: Exchange = { ...unrecorded(), path, method, rawHeaders, atMs: clock.wallMs(), era };
      const replaced = ring[next % recordedMax];
      if (replaced !== undefined) chars -= replaced.bodyText.length;
      ring[next % recordedMax] = exchange;
      next += 1;
      return exchange;
    },
    body(exchange: Exchange, text: string): void {
      const recorded = text.length > recordedBodyChars ? text.slice(0, recordedBodyChars) : text;
      if (exchange.era === era && chars + recorded.length <= recordedCharsMax) {
        exchange.bodyText = recorded;
        chars += recorded.length;
      }
      record(exchange);
    },
    end(exchange: Exchange, how: 'finished' | 'aborted'): void {
      exchange.endedMs = clock.wallMs();
      exchange.aborted = how === 'aborted' && exchange.endedByUs === 'no';
      record(exchange);
      onEnded?.(shown(exchange));
    },
    /** Oldest first; those that came after `sinceMs`. */
    list(sinceMs: number): RecordedRequest[] {
      return inOrder()
        .filter((exchange) => exchange.atMs > sinceMs)
        .map(shown);
    },
    /** Resolves with the first request that `matches`, recorded or to come; looked at when it begins and ends. */
    when(matches: (request: RecordedRequest) => boolean): Promise<RecordedRequest> {
      for (const exchange of inOrder()) {
        const request = shown(exchange);
        if (matches(request)) return Promise.resolve(request);
      }
      return new Promise((resolve) => waiters.push({ matches, resolve }));
    },
    clear(): void {
      ring = [];
      next = 0;
      chars = 0;
      era += 1;
    },
  };
}

function shown(exchange: Exchange): RecordedRequest {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < exchange.rawHeaders.length; at += 2) {
    const [written = '', value = ''] = exchange.rawHeaders.slice(at, at + 2);
    const name = written.toLowerCase();
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
  }
  return {
    path: exchange.path,
    method: exchange.method,
    headers,
    body: parsedOrText(exchange.bodyText),
    aborted: exchange.aborted,
    at_ms: exchange.atMs,
    ended_ms: exchange.endedMs,
    bytes_sent: exchange.bytesSent,
  };
}

function parsedOrText(text: string): JsonValue {
  if (text === '') return null;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
