import type { ServerResponse } from 'node:http';
import type { HeaderList } from '../inference/spine/sink.ts';
import { validateHeaderName, validateHeaderValue } from '../kernel/node-http.ts';

/** Node copies a body this short through its stack beside the head; longer ones are better sent as they are. */
const joinedBytesMax = 8_192;
/** Values that were found fit, by name of the header; beyond it they are looked at again. */
const fitValuesMax = 1_000;

/** What node keeps to itself: it writes a head from its first line and the headers that it must know of. */
interface HeadWriter {
  _storeHeader?(firstLine: string, headers: readonly string[]): void;
}

/**
 * Headers whose values are made here, of digits, ids and names that were checked. Nothing else goes out unseen by
 * node's validators: a line break in a value would be the beginning of another answer.
 */
const linesBegin: ReadonlyMap<string, string> = new Map(
  [
    'x-culvert-request-id',
    'x-request-id',
    'request-id',
    'content-type',
    'x-culvert-attempts',
    'x-culvert-cost',
    'ratelimit',
    'x-ratelimit-limit-requests',
    'x-ratelimit-remaining-requests',
    'x-ratelimit-reset-requests',
    'x-ratelimit-limit-tokens',
    'x-ratelimit-remaining-tokens',
    'x-ratelimit-reset-tokens',
    'anthropic-ratelimit-requests-limit',
    'anthropic-ratelimit-requests-remaining',
    'anthropic-ratelimit-requests-reset',
    'anthropic-ratelimit-tokens-limit',
    'anthropic-ratelimit-tokens-remaining',
    'anthropic-ratelimit-tokens-reset',
  ].map((name) => [name, `${name}: `]),
);

/**
 * The same for many answers, so each value is looked at once. The names of limits in the policy are those of
 * `ratelimit`, which changes with every answer.
 */
const fitValues: ReadonlyMap<string, Set<string>> = new Map(
  ['ratelimit-policy', 'x-culvert-provider', 'x-culvert-model'].map((name) => [name, new Set<string>()]),
);

/**
 * A whole answer in one send. What `writeHead` and `end` do, for 4 µs less (docs/decisions/0004): node validates some
 * twenty headers one by one, and sends head and bytes as two pieces.
 */
export function writeAnswer(
  response: ServerResponse,
  status: number,
  headers: HeaderList,
  body: Buffer | string,
): void {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  const writer = response as unknown as HeadWriter;
  if (status !== 200 || writer._storeHeader === undefined || response.getHeaderNames().length > 0) {
    response.writeHead(status, ['content-length', String(length), ...headers]);
  } else {
    response.statusCode = 200;
    writer._storeHeader(`HTTP/1.1 200 OK\r\n${linesOf(headers)}`, ['content-length', String(length)]);
  }
  if (typeof body === 'string') response.end(body);
  // Every byte is a character of latin1, and comes out as that byte.
  else if (length <= joinedBytesMax) response.end(body.toString('latin1'), 'latin1');
  else response.end(body);
}

function linesOf(headers: HeaderList): string {
  let lines = '';
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!;
    const value = headers[at + 1]!;
    lines += `${linesBegin.get(name) ?? checkedBegin(name, value)}${value}\r\n`;
  }
  return lines;
}

function checkedBegin(name: string, value: string): string {
  const fit = fitValues.get(name);
  if (fit?.has(value) === true) return `${name}: `;
  validateHeaderName(name);
  validateHeaderValue(name, value);
  if (fit !== undefined) {
    if (fit.size >= fitValuesMax) fit.clear();
    fit.add(value);
  }
  return `${name}: `;
}
