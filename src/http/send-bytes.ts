import { pipeline } from 'node:stream/promises';
import { readerStallTimeoutMs } from '../kernel/limits.ts';
import { identityHeaders } from './delivery.ts';
import type { Exchange } from './exchange.ts';

/**
 * Answers with a file, or the part that the request's Range names (RFC 9110 §14.2); `headers` in addition to those of
 * its size. `content` is read for a GET only.
 */
export async function sendBytes(
  exchange: Exchange,
  { bytes, headers, content }: { bytes: number; headers: readonly string[]; content: AsyncIterable<Buffer> },
): Promise<void> {
  const { request, response } = exchange;
  const { range, 'if-range': ifRange } = request.headers;
  // There is no validator that If-Range could name.
  const part = request.method === 'GET' && ifRange === undefined ? partOf(range, bytes) : null;
  const [status, length] = part === null ? [200, bytes] : part === 'none' ? [416, 0] : [206, part.end - part.start];
  response.writeHead(status, [
    ...identityHeaders(exchange),
    ...headers,
    ...(part === null
      ? []
      : ['content-range', `bytes ${part === 'none' ? '*' : `${part.start}-${part.end - 1}`}/${bytes}`]),
    ...['accept-ranges', 'bytes', 'content-length', String(length), 'x-content-type-options', 'nosniff'],
  ]);
  if (request.method === 'HEAD' || part === 'none') {
    response.end();
    return;
  }
  response.setTimeout(readerStallTimeoutMs, () => response.destroy());
  // A reader who left, or a file that ends before its length, breaks the connection off: there is no other way to
  // report it.
  await pipeline(part === null ? content : within(content, part), response).catch(() => response.destroy());
}

interface Part {
  start: number;
  end: number;
}

/** The one part that the header names; `none`: it is beyond the file; null: all of it, as for several parts. */
function partOf(range: string | undefined, bytes: number): Part | 'none' | null {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? [];
  if (from === '' && to === '') return null;
  const start = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
  const end = from === '' || to === '' ? bytes : Math.min(bytes, Number(to) + 1);
  if (from !== '' && to !== '' && Number(to) < start) return null;
  return start < end ? { start, end } : 'none';
}

async function* within(content: AsyncIterable<Buffer>, { start, end }: Part): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of content) {
    const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    if (piece.length > 0) yield piece;
    at += chunk.length;
    if (at >= end) return;
  }
}
