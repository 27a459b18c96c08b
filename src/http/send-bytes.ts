import { pipeline } from 'node:stream/promises';
import { readerStallTimeoutMs } from '../kernel/limits.ts';
import { identityHeaders } from './delivery.ts';
import type { Exchange } from './exchange.ts';

/** Answers with a file; `headers` in addition to those of its size. `content` is read for a GET only. */
export async function sendBytes(
  exchange: Exchange,
  { bytes, headers, content }: { bytes: number; headers: readonly string[]; content: AsyncIterable<Buffer> },
): Promise<void> {
  const { request, response } = exchange;
  response.writeHead(200, [
    ...identityHeaders(exchange),
    ...headers,
    'content-length',
    String(bytes),
    'x-content-type-options',
    'nosniff',
  ]);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  response.setTimeout(readerStallTimeoutMs, () => response.destroy());
  // A reader who left, or a file that ends before its length, breaks the connection off: there is no other way to
  // report it.
  await pipeline(content, response).catch(() => response.destroy());
}
