import type { Failure } from '../kernel/failure.ts';
import type { RoomHold } from '../kernel/sharing/room.ts';
import { BodyPace } from './body-pace.ts';
import type { Exchange } from './exchange.ts';

/** Where a body goes that lives longer than its request's handler, or in other memory. */
export interface BodyPlace {
  /** Instead of the exchange's own, which is given back when its handler has ended. */
  held: RoomHold;
  /** For a large body of a declared length. What stands in it does not matter. */
  memory(bytes: number): Buffer;
}

/** As `readBody`, for JSON: a Failure for another content type too (415). */
export function readJsonBody(
  exchange: Exchange,
  limitBytes: number,
  place?: BodyPlace,
): Promise<Buffer | Failure | null> {
  if (exchange.givenBody !== null) return Promise.resolve(exchange.givenBody);
  const { headers } = exchange.request;
  const refused = wrongEncoding(headers['content-encoding']) ?? wrongMediaType(headers['content-type']);
  return refused === null ? readBody(exchange, limitBytes, place) : Promise.resolve(refused);
}

/**
 * The whole request body, of any content type, counted in the room for bodies as its bytes come. A Failure for a
 * compressed one (415), more than `limitBytes` (413), one that comes too slowly (408, http/body-pace) or that there is no
 * room for (503: the rest is read and dropped, so that the caller gets the answer); null when the caller left while
 * sending.
 */
export function readBody(exchange: Exchange, limitBytes: number, place?: BodyPlace): Promise<Buffer | Failure | null> {
  const { request, response } = exchange;
  const refused = wrongEncoding(request.headers['content-encoding']);
  if (refused !== null) return Promise.resolve(refused);
  const declared = request.headers['content-length'];
  const declaredBytes = declared === undefined ? null : Number(declared);
  if (declaredBytes !== null && declaredBytes > limitBytes) {
    return Promise.resolve({ kind: 'body-too-large', limitBytes });
  }
  if (request.headers.expect !== undefined) response.writeContinue();
  const held = place?.held ?? exchange.held;
  const memory = place?.memory ?? ownMemory;

  return new Promise((resolve) => {
    let parts: Parts | null =
      declaredBytes !== null && declaredBytes > inPlaceBytes ? inPlace(declaredBytes, memory) : inChunks();
    let receivedBytes = 0;
    let turnBytes = 0;
    let state: 'reading' | 'dropping' | 'done' = 'reading';
    const settle = (result: Buffer | Failure | null) => {
      if (state === 'reading') resolve(result);
      else if (state === 'dropping') request.socket.off('close', left);
      state = 'done';
      parts = null;
      pace.end();
    };
    const left = () => settle(null);
    const drop = (noRoom: Failure) => {
      resolve(noRoom);
      state = 'dropping';
      exchange.dropsBody = true;
      parts = null;
      // Once its answer is out, Node tells the request no more of its connection.
      request.socket.once('close', left);
    };
    const pace = new BodyPace(limitBytes, (failure) => {
      if (state === 'dropping') request.destroy();
      else settle(failure);
    });
    const nextTurn = () => {
      turnBytes = 0;
      if (state !== 'done') request.resume();
    };
    request.on('data', (chunk: Buffer) => {
      // The memory may be another's by now.
      if (state === 'done') return;
      receivedBytes += chunk.length;
      pace.came(chunk.length);
      if (receivedBytes > limitBytes) {
        request.pause();
        if (state === 'dropping') request.destroy();
        settle({ kind: 'body-too-large', limitBytes });
        return;
      }
      if (parts !== null) {
        const noRoom = held === null ? null : held.take(chunk.length);
        if (noRoom === null) parts.add(chunk);
        else drop(noRoom);
      }
      turnBytes += chunk.length;
      if (turnBytes < turnBytesMax) return;
      request.pause();
      setImmediate(nextTurn);
    });
    request.on('end', () => settle(parts === null ? null : parts.whole()));
    request.on('close', left);
    request.on('error', left);
  });
}

/** From here on a body is put together as it comes: all at once its copy would hold up the loop for milliseconds. */
const inPlaceBytes = 1024 * 1024;
/** Memory for a declared length is taken when this part of it has come: who only declares one has none. */
const partBeforeMemory = 1 / 8;
/** Of one body in a turn of the loop: Node would read 2 MB of it before it looks at anybody else. */
const turnBytesMax = 128 * 1024;

const ownMemory = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes);

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

/** Chunks are given back as they are copied: left to V8, they make it collect the whole heap in the middle of the body. */
function inPlace(declaredBytes: number, memory: BodyPlace['memory']): Parts {
  const bytesBefore = Math.max(inPlaceBytes, declaredBytes * partBeforeMemory);
  let waiting: Buffer[] = [];
  let body: Buffer | null = null;
  let at = 0;

  function place(chunk: Buffer, into: Buffer): void {
    at += chunk.copy(into, at);
    const { buffer } = chunk;
    if (buffer.byteLength === chunk.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
  }

  function begin(): Buffer {
    const into = memory(declaredBytes);
    at = 0;
    for (const chunk of waiting) place(chunk, into);
    waiting = [];
    return into;
  }

  return {
    add(chunk) {
      if (body !== null) return place(chunk, body);
      waiting.push(chunk);
      at += chunk.length;
      if (at >= bytesBefore) body = begin();
    },
    whole() {
      body ??= begin();
      // Node ends a request before its declared length only where the caller has gone.
      return at === body.length ? body : body.subarray(0, at);
    },
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
