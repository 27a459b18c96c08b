import type { Failure } from '../kernel/failure.ts';
import type { RoomHold } from '../kernel/sharing/room.ts';
import { createTurns } from '../kernel/sharing/turns.ts';
import { BodyPace } from './body-pace.ts';
import { type BodyParts, bodyParts, free } from './body-parts.ts';
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
  const tenant = exchange.principal?.account ?? '';

  return new Promise((resolve) => {
    let parts: BodyParts | null = bodyParts(declaredBytes, place?.memory);
    let receivedBytes = 0;
    let turnBytes = 0;
    let state: 'reading' | 'dropping' | 'done' = 'reading';
    const settle = (result: Buffer | Failure | null) => {
      if (state === 'reading') resolve(result);
      else if (state === 'dropping') request.socket.off('close', left);
      if (!Buffer.isBuffer(result)) parts?.giveBack();
      state = 'done';
      parts = null;
      pace.end();
    };
    const left = () => settle(null);
    const drop = (noRoom: Failure) => {
      resolve(noRoom);
      state = 'dropping';
      exchange.dropsBody = true;
      parts?.giveBack();
      parts = null;
      // Once its answer is out, Node tells the request no more of its connection.
      request.socket.once('close', left);
    };
    const pace = new BodyPace(limitBytes, (failure) => {
      if (state === 'dropping') request.destroy();
      else settle(failure);
    });
    const nextTurn = async () => {
      const place = await reading.take(tenant, null);
      // After the sockets have been looked at.
      setImmediate(place.giveBack);
      turnBytes = 0;
      if (state !== 'done') request.resume();
    };
    request.on('data', (chunk: Buffer) => {
      // The memory may be another's by now.
      if (state === 'done') return;
      // The chunk is empty once it is free.
      const bytes = chunk.length;
      receivedBytes += bytes;
      pace.came(bytes);
      if (receivedBytes > limitBytes) {
        request.pause();
        if (state === 'dropping') request.destroy();
        settle({ kind: 'body-too-large', limitBytes });
        return;
      }
      const noRoom = parts === null || held === null ? null : held.take(bytes);
      if (noRoom !== null) drop(noRoom);
      if (parts === null) free(chunk);
      else parts.add(chunk);
      turnBytes += bytes;
      if (turnBytes < turnBytesMax) return;
      request.pause();
      setImmediate(nextTurn);
    });
    request.on('end', () => settle(parts === null ? null : parts.whole()));
    request.on('close', left);
    request.on('error', left);
  });
}

/** Of one body at a time: Node would read 2 MB of it before it looks at anybody else. */
const turnBytesMax = 128 * 1024;
/**
 * Those that go on in one turn of the loop, which is the process's: 40 bodies side by side would make each turn forty times
 * as long, and a chat needs several.
 */
const reading = createTurns({ name: 'Bodies', places: 4, waitingMax: Number.POSITIVE_INFINITY });

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
