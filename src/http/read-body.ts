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
    const parts = declared !== undefined && Number(declared) > inPlaceBytes ? inPlace(Number(declared)) : inChunks();
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
      parts.add(chunk);
      stall.refresh();
    });
    request.on('end', () => settle(parts.whole()));
    request.on('close', () => settle(null));
    request.on('error', () => settle(null));
  });
}

/** From here on a body is put together as it comes: all at once its copy would hold up the loop for milliseconds. */
const inPlaceBytes = 1024 * 1024;

interface Parts {
  add(chunk: Buffer): void;
  whole(): Buffer;
}

function inChunks(): Parts {
  const chunks: Buffer[] = [];
  return {
    add: (chunk) => void chunks.push(chunk),
    whole: () => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
  };
}

/** Into memory of its own, which the system gives only as it is written: a length that is only claimed takes none. */
function inPlace(bytes: number): Parts {
  const body = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  return {
    add(chunk) {
      at += chunk.copy(body, at);
    },
    // Node ends a request before its declared length only where the caller has gone.
    whole: () => (at === bytes ? body : body.subarray(0, at)),
  };
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
