import type { Failure } from '../kernel/failure.ts';
import { bodyStallTimeoutMs } from '../kernel/limits.ts';
import type { Exchange } from './exchange.ts';

/** Where a body goes, for those who count what is on its way or use memory again. */
export interface BodyRoom {
  /** Before bytes are read; a Failure refuses the body. */
  take(bytes: number): Failure | null;
  /** For a large body of a declared length. What stands in it does not matter. */
  memory(bytes: number): Buffer;
}

/** Memory of its own, which the system gives only as it is written: a length that is only claimed takes none. */
const anyRoom: BodyRoom = { take: () => null, memory: (bytes) => Buffer.allocUnsafeSlow(bytes) };

/** As `readBody`, for JSON: a Failure for another content type too (415). */
export function readJsonBody(
  exchange: Exchange,
  limitBytes: number,
  room: BodyRoom = anyRoom,
): Promise<Buffer | Failure | null> {
  const { headers } = exchange.request;
  const refused = wrongEncoding(headers['content-encoding']) ?? wrongMediaType(headers['content-type']);
  return refused === null ? readBody(exchange, limitBytes, room) : Promise.resolve(refused);
}

/**
 * The whole request body, of any content type. A Failure for a compressed one (415), more than `limitBytes` (413) or
 * 60 s without progress (408), or that `room` has no place for; null when the caller left while sending.
 */
export function readBody(
  exchange: Exchange,
  limitBytes: number,
  room: BodyRoom = anyRoom,
): Promise<Buffer | Failure | null> {
  const { request, response } = exchange;
  const refused = wrongEncoding(request.headers['content-encoding']);
  if (refused !== null) return Promise.resolve(refused);
  const declared = request.headers['content-length'];
  const declaredBytes = declared === undefined ? null : Number(declared);
  if (declaredBytes !== null) {
    if (declaredBytes > limitBytes) return Promise.resolve({ kind: 'body-too-large', limitBytes });
    const noRoom = room.take(declaredBytes);
    if (noRoom !== null) return Promise.resolve(noRoom);
  }
  if (request.headers.expect !== undefined) response.writeContinue();

  return new Promise((resolve) => {
    const parts =
      declaredBytes !== null && declaredBytes > inPlaceBytes ? inPlace(room.memory(declaredBytes)) : inChunks();
    let receivedBytes = 0;
    let turnBytes = 0;
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
    const nextTurn = () => {
      turnBytes = 0;
      if (!settled) request.resume();
    };
    request.on('data', (chunk: Buffer) => {
      // The memory may be another's by now.
      if (settled) return;
      receivedBytes += chunk.length;
      const refusal: Failure | null =
        receivedBytes > limitBytes
          ? { kind: 'body-too-large', limitBytes }
          : declaredBytes === null
            ? room.take(chunk.length)
            : null;
      if (refusal !== null) {
        request.pause();
        settle(refusal);
        return;
      }
      parts.add(chunk);
      stall.refresh();
      turnBytes += chunk.length;
      if (turnBytes < turnBytesMax) return;
      request.pause();
      setImmediate(nextTurn);
    });
    request.on('end', () => settle(parts.whole()));
    request.on('close', () => settle(null));
    request.on('error', () => settle(null));
  });
}

/** From here on a body is put together as it comes: all at once its copy would hold up the loop for milliseconds. */
const inPlaceBytes = 1024 * 1024;
/** Of one body in a turn of the loop: Node would read 2 MB of it before it looks at anybody else. */
const turnBytesMax = 128 * 1024;

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

/** Chunks are given back as they come: left to V8, they make it collect the whole heap in the middle of the body. */
function inPlace(body: Buffer): Parts {
  let at = 0;
  return {
    add(chunk) {
      at += chunk.copy(body, at);
      const { buffer } = chunk;
      if (buffer.byteLength === chunk.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
    },
    // Node ends a request before its declared length only where the caller has gone.
    whole: () => (at === body.length ? body : body.subarray(0, at)),
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
