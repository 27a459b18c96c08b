import type { ValueReader } from './fault-values.ts';
import { drip, duration, flag, integer, point, share, size, text, textOr, turns, wordList } from './fault-values.ts';

/**
 * The purpose of a fault: `failure` ones, and the `words` that go with them, strike only the requests that `flap`,
 * `every`, `alternate` and `prompt` pick; `shape` ones form every answer.
 */
export type FaultKind = 'failure' | 'words' | 'shape';

export interface Fault<T> {
  kind: FaultKind;
  read: ValueReader<T>;
  /** How it is written. */
  example: string;
  help: string;
}

function failure<T>(read: ValueReader<T>, example: string, help: string): Fault<T> {
  return { kind: 'failure', read, example, help };
}
function words<T>(read: ValueReader<T>, example: string, help: string): Fault<T> {
  return { kind: 'words', read, example, help };
}
function shape<T>(read: ValueReader<T>, example: string, help: string): Fault<T> {
  return { kind: 'shape', read, example, help };
}

const mb = 1_048_576;
const gb = 1_073_741_824;

/** Every fault that a spec can name, once: grammar, types and help come from here. */
export const faultTable = {
  ok: shape(flag, 'ok', 'A healthy answer; useful in a script between faults.'),
  status: failure(
    integer(200, 599),
    'status=503',
    "This status; from 400 on with an error body in the path's dialect.",
  ),
  code: failure(text, 'code=insufficient_quota', 'The error code (Anthropic: error type) of an error body.'),
  type: words(text, 'type=server_error', 'The error type of an error body.'),
  message: words(text, 'message=try later', 'The words of an error body.'),
  'echo-auth': failure(
    flag,
    'echo-auth',
    'The error message repeats the credentials it was sent (401 unless status says else).',
  ),
  'retry-after': words(text, 'retry-after=2', 'Sends Retry-After as written.'),
  'retry-after-ms': words(integer(0, 3_600_000), 'retry-after-ms=1500', 'Sends Retry-After-Ms.'),
  'retry-after-date': words(duration(), 'retry-after-date=30s', 'Sends Retry-After as an HTTP date this far ahead.'),
  error: failure(
    integer(0, 100_000, 1),
    'error=1',
    'An error object inside a 200; in a stream after that many deltas.',
  ),
  html: failure(flag, 'html', 'An HTML page instead of JSON.'),
  empty: failure(flag, 'empty', 'An empty body.'),
  malformed: failure(
    integer(1, 1_000, 1),
    'malformed',
    'Broken JSON; in a stream that many broken lines after the first delta.',
  ),
  redirect: failure(textOr('/_mock/redirected'), 'redirect=http://127.0.0.1:9/', 'Answers 307 to this place.'),
  reset: failure(flag, 'reset', 'TCP reset before the response headers.'),
  'reset-reused': failure(
    flag,
    'reset-reused',
    'TCP reset if this connection has answered before, as a stale keep-alive does.',
  ),
  hang: failure(flag, 'hang', 'Takes the request and never answers.'),
  stall: failure(point, 'stall=120', 'Headers, then that much of the body (bytes, or 3events), then silence.'),
  cut: failure(
    point,
    'cut=120',
    'TCP reset after that much of the body (alone: after the first delta, or half a whole answer).',
  ),
  fin: failure(point, 'fin=120', 'TCP close after that much of the body, without the end of the HTTP message.'),
  eof: failure(
    point,
    'eof=120',
    'A clean HTTP end after that much of the body (alone: before the final events, or half a whole answer).',
  ),
  endless: failure(size(64 * gb, gb), 'endless=1gb', 'One line that goes on and on.'),
  bomb: failure(size(64 * gb, gb), 'bomb=1gb', 'A gzip answer that unpacks to this size.'),
  vectors: failure(integer(0, 10_000), 'vectors=1', 'So many embeddings, whatever the request has inputs.'),
  shuffle: failure(flag, 'shuffle', 'Embeddings come last first, each with its own index.'),
  'same-index': failure(flag, 'same-index', 'Every embedding says that its index is 0.'),
  'vector-size': failure(integer(1, 16_384), 'vector-size=7', 'Vectors of this length, whatever the request wants.'),
  ragged: failure(flag, 'ragged', 'The last vector is one number short.'),
  nan: failure(
    textOr('NaN'),
    'nan=null',
    "The last vector's first number is written like this (alone: NaN, as Python does; in base64 always NaN).",
  ),
  pictures: failure(integer(0, 20), 'pictures=1', 'So many pictures, whatever the request wants.'),
  corrupt: failure(flag, 'corrupt', 'Sound and pictures are bytes that nothing can play or show.'),
  delay: shape(duration(), 'delay=500ms', 'Waits before the response headers.'),
  interval: shape(duration(), 'interval=20ms', 'Waits between the deltas of a stream.'),
  drip: shape(drip, 'drip=1/10ms', 'Sends the body in such pieces.'),
  'slow-reasoning': shape(duration(1_000), 'slow-reasoning=2s', 'Thinks aloud for this long before the answer.'),
  'keepalive-comments': shape(
    integer(1, 10_000, 1),
    'keepalive-comments=3',
    'So many SSE comments before every delta, an interval apart.',
  ),
  think: shape(text, 'think=Hm.', 'The text of the thought, where it thinks.'),
  text: shape(text, 'text=Hello', 'The text of the answer; before tool calls, where it makes some.'),
  call: shape(text, 'call=get_weather', 'Calls this tool wherever it is offered, whatever was said before.'),
  size: shape(size(16 * mb), 'size=2kb', 'An answer text, or sound, of this length.'),
  tokens: shape(integer(1, 1_000_000), 'tokens=500', 'An answer text of so many tokens.'),
  chunks: shape(integer(1, 100_000), 'chunks=200', 'The text comes in so many deltas, the sound in so many pieces.'),
  cached: shape(integer(0, 10_000_000), 'cached=100', 'So many input tokens are said to be read from the cache.'),
  finish: shape(text, 'finish=content_filter', 'The finish reason (Anthropic: stop reason) as written.'),
  tier: shape(text, 'tier=flex', 'The service tier; at Anthropic the speed (fast) or the place (us), too.'),
  omit: shape(
    wordList(['start', 'finish', 'usage', 'done', 'names']),
    'omit=done,usage',
    'Leaves out of a stream: start, finish, usage, done (the terminal event), names (event: lines).',
  ),
  crlf: shape(flag, 'crlf', 'SSE lines end in CRLF.'),
  gzip: shape(flag, 'gzip', 'Compresses the body.'),
  'early-hints': shape(flag, 'early-hints', 'Sends 103 Early Hints before the answer.'),
  'idle-close': shape(duration(0), 'idle-close=5ms', 'Closes the kept-alive connection so long after the answer.'),
  flap: shape(
    share,
    'flap=0.5',
    'Only this share of requests fails (with status=503 if no failure is named), chosen by seed.',
  ),
  every: shape(integer(1, 1_000_000), 'every=2', 'Only each second request of a seed fails, or third, and so on.'),
  alternate: shape(
    turns,
    'alternate=3s',
    'Answers for so long, then fails for so long; 3s/down fails in the other half.',
  ),
  prompt: shape(text, 'prompt=poison', 'Only requests that contain these words fail.'),
  seed: shape(
    integer(0, 4_294_967_295),
    'seed=7',
    'Seed of flap and row of every; the same seed gives the same row of failures.',
  ),
} as const;

export type FaultName = keyof typeof faultTable;
