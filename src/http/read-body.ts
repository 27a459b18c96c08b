import type { Failure } from '../kernel/failure.ts';
import { bodyStallTimeoutMs } from '../kernel/limits.ts';
import type { Exchange } from './exchange.ts';

/** As `readBody`, for JSON: a Failure for another content type too (415). */
export function readJsonBody(exchange: Exchange, limitBytes: number): Promise<Buffer | Failure | null> {
  const { headers } = exchange.request;
  const refused = wrongEncoding(headers['content-encoding']) ?? wrongMediaType(headers['content-type']);
  return refused === null ? readBody(exchange, limitBytes) : Promise.resolve(refused);
}

/**
 * The whole request body, of any content type. A Failure for a compressed one (415), more than `limitBytes` (413) or
 * 60 s without progress (408); null when the caller left while sending.
 */
export function readBody(exchange: Exchange, limitBytes: number): Promise<Buffer | Failure | null> {
  const { request, response } = exchange;
  const refused = wrongEncoding(request.headers['content-encoding']);
  if (refused !== null) return Promise.resolve(refused);
  const declared = request.headers['content-length'];
  if (declared !== undefined && Number(declared) > limitBytes) {
    return Promise.resolve({ kind: 'body-too-large', limitBytes });
  }
  if (request.headers.expect !== undefined) response.writeContinue();

  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    let settled = false;
    const timedOut = () => {
      settle({
        kind: 'request-timeout',
        message: `No byte of the request body came for ${bodyStallTimeoutMs / 1_000} s.`,
      });
    };
    const stall = setTimeout(timedOut, bodyStallTimeoutMs);
    const settle = (result: Buffer | Failure | null) => {
      if (settled) return;
      settled = true;
      clearTimeout(stall);
      resolve(result);
    };
    request.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes > limitBytes) {
        request.pause();
        settle({ kind: 'body-too-large', limitBytes });
        return;
      }
      chunks.push(chunk);
      stall.refresh();
    });
    request.on('end', () => settle(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, receivedBytes)));
    request.on('close', () => settle(null));
    request.on('error', () => settle(null));
  });
}

export function wrongEncoding(encoding: string | undefined): Failure | null {
  if (encoding === undefined || encoding === 'identity') return null;
  const message = `Content-Encoding '${encoding.slice(0, 40)}' is not supported; send the body uncompressed.`;
  return { kind: 'unsupported-encoding', message };
}

function wrongMediaType(contentType: string | undefined): Failure | null {
  if (contentType === 'application/json') return null;
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'application/json' || (mediaType?.endsWith('+json') && mediaType.startsWith('application/')))
    return null;
  return { kind: 'unsupported-media-type', received: contentType?.slice(0, 80) ?? null, expected: 'application/json' };
}
