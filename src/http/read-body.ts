import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/schema.ts';
import { type Failure, invalid } from '../kernel/failure.ts';
import { freeMemory } from '../kernel/free-memory.ts';
import { bodyStallTimeoutMs } from '../kernel/limits.ts';
import type { Elsewhere } from '../kernel/sharing/elsewhere.ts';
import { createRoom, type Room, type RoomHold } from '../kernel/sharing/room.ts';
import { type Encoding, encodingOf, unpackerOf } from '../upstream/transport/decompress.ts';
import { firstBodyTurn, nextBodyTurn, turnBytesMax } from './body-turns.ts';
import type { Exchange } from './exchange.ts';
import { readOnAfterAnswer } from './read-on.ts';

/** Memory for a body that outlives its request's handler, or must be in other memory. */
export interface BodyPlace {
  /** Instead of the exchange's own, which is given back when its handler has ended. */
  held: RoomHold;
  /** For a large body of a declared length. Its earlier content does not matter. */
  memory(bytes: number): Buffer;
}

/**
 * Memory that a container needs for all else, with what the largest body leaves to the collector, and for each further worker
 * of `server.processes` with its part of primary and spare. A byte of a body is here and in its thread, as bytes and as text.
 */
const [serverBytes, workerBytes, bytesOfBodyByte] = [256 * 1024 * 1024, 384 * 1024 * 1024, 6];

/**
 * Room for the bodies of all callers, as configured right now; of one account half of it. In a container of little
 * `memoryBytes` it is less: the kernel would end the server with all its streams.
 */
export function createBodyRoom(
  snapshots: {
    readonly current: { readonly config: { readonly server: Pick<Config['server'], 'body_memory' | 'body_limit'> } };
  },
  elsewhere: Elsewhere | null,
  processes: number,
  // 0 where nobody says.
  memoryBytes = process.constrainedMemory() || Number.POSITIVE_INFINITY,
): Room {
  const bounds = () => {
    const { body_memory, body_limit } = snapshots.current.config.server;
    const fitting = Math.floor((memoryBytes - serverBytes - (processes - 1) * workerBytes) / bytesOfBodyByte);
    const bytesMax = Math.max(Math.min(body_memory, fitting), body_limit);
    return { bytesMax, accountBytesMax: Math.max(Math.floor(bytesMax / 2), body_limit) };
  };
  return createRoom('request bodies', bounds, elsewhere);
}

/** Null: the caller left while sending. */
type CameBody = Promise<Buffer | Failure | null>;

/**
 * The whole request body, of any content type, counted in the room for bodies as its bytes come. It may be packed, as Codex
 * packs it: both what comes and what is in it are held to `limitBytes` and counted. A Failure for an encoding that nobody
 * here reads (415), more than `limitBytes` (413), one that comes too slowly (408, `BodyPace`) or that there is no room for
 * (503: the rest is read and dropped, so that the caller gets the answer); null when the caller left while sending.
 */
export function readBody(exchange: Exchange, limitBytes: number, place?: BodyPlace): CameBody {
  if (exchange.givenBody !== null) return Promise.resolve(exchange.givenBody);
  const { 'content-encoding': encoding = '' } = exchange.request.headers;
  const packing = encodingOf(encoding);
  if (packing === undefined) return Promise.resolve(unsupported(encoding));
  return packing === null
    ? readAsItComes(exchange, limitBytes, place)
    : readPacked(exchange, { packing, limitBytes, place });
}

/** The same as `readBody`, for JSON: another content type is a Failure, too (415). */
export function readJsonBody(exchange: Exchange, limitBytes: number, place?: BodyPlace): CameBody {
  if (exchange.givenBody !== null) return Promise.resolve(exchange.givenBody);
  const { 'content-type': type, 'content-encoding': encoding } = exchange.request.headers;
  const refused = type === 'application/json' ? null : wrongMediaType(type);
  if (refused !== null) return Promise.resolve(refused);
  if (encoding === undefined) return readAsItComes(exchange, limitBytes, place, 'json');
  return readBody(exchange, limitBytes, place).then((body) => (Buffer.isBuffer(body) ? withoutMark(body) : body));
}

/** No text of JSON begins with this byte of a mark. */
const markStart = 0xef;

/** Blanks in place of a byte order mark, which a reader of JSON may ignore (RFC 8259 §8.1): providers do not. */
function withoutMark(body: Buffer): Buffer {
  return body[0] === markStart && body[1] === 0xbb && body[2] === 0xbf ? body.fill(' ', 0, 3) : body;
}

async function readPacked(
  exchange: Exchange,
  { packing, limitBytes, place }: { packing: Encoding; limitBytes: number; place: BodyPlace | undefined },
): Promise<Buffer | Failure | null> {
  const held = place?.held ?? exchange.held;
  const memory = (bytes: number) => Buffer.allocUnsafeSlow(bytes);
  const packed = await readAsItComes(exchange, limitBytes, held === null ? undefined : { held, memory });
  if (!Buffer.isBuffer(packed)) return packed;
  const unpacker = unpackerOf(packing);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    unpacker.end(packed);
    for await (const chunk of unpacker as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limitBytes) return { kind: 'body-too-large', limitBytes };
      const noRoom = held?.take(chunk.length) ?? null;
      if (noRoom !== null) return noRoom;
      chunks.push(chunk);
    }
  } catch {
    return invalid(null, `The body is not ${packing}, which its Content-Encoding names, or it is cut.`);
  } finally {
    unpacker.destroy();
  }
  const parts = bodyParts(bytes, place?.memory);
  for (const chunk of chunks) parts.add(chunk);
  return parts.whole();
}

function readAsItComes(exchange: Exchange, limitBytes: number, place?: BodyPlace, type?: 'json'): CameBody {
  const { request, response } = exchange;
  if (request.destroyed) return Promise.resolve(null); // Its caller left while it was admitted.
  const { 'content-length': declared, expect } = request.headers;
  const declaredBytes = declared === undefined ? null : Number(declared);
  const tooLarge: Failure = { kind: 'body-too-large', limitBytes };
  if (declaredBytes !== null && declaredBytes > limitBytes) return Promise.resolve(tooLarge);
  if (expect !== undefined) response.writeContinue();
  const held = place?.held ?? exchange.held;
  const { promise, resolve } = Promise.withResolvers<Buffer | Failure | null>();
  let only: Buffer | null = null;
  let parts: BodyParts | null = null;
  let receivedBytes = 0;
  let turnBytes = 0;
  let state: 'reading' | 'dropping' | 'done' = 'reading';
  const settle = (result: Buffer | Failure | null) => {
    if (state === 'reading')
      resolve(type === 'json' && Buffer.isBuffer(result) && result[0] === markStart ? withoutMark(result) : result);
    else if (state === 'dropping') request.socket.off('close', left);
    if (!Buffer.isBuffer(result)) parts?.giveBack();
    state = 'done';
    parts = null;
    pace.end();
  };
  const left = () => settle(null);
  const pace = new BodyPace(request, limitBytes, (failure) => {
    if (state === 'dropping') request.destroy();
    else settle(failure);
  });
  const add = (chunk: Buffer) => {
    // The memory may be another's by now.
    if (state === 'done') return;
    // The chunk is empty once it is free.
    const bytes = chunk.length;
    receivedBytes += bytes;
    pace.came(bytes);
    if (receivedBytes > limitBytes) {
      request.pause();
      if (state === 'dropping') request.destroy();
      return settle(tooLarge);
    }
    const noRoom = state === 'dropping' || held === null ? null : held.take(bytes);
    if (noRoom !== null) {
      resolve(noRoom);
      state = 'dropping';
      parts?.giveBack();
      parts = null;
      dropRest(exchange, left);
    }
    if (state === 'dropping') free(chunk);
    else if (parts === null && bytes === declaredBytes) only = chunk;
    else {
      parts ??= bodyParts(declaredBytes, place?.memory);
      parts.add(chunk);
    }
    turnBytes += bytes;
    if (turnBytes < turnBytesMax) return;
    void nextBodyTurn(exchange).then(() => {
      turnBytes = 0;
      if (state !== 'done') request.resume();
    });
  };
  if (declaredBytes !== null && declaredBytes > turnBytesMax)
    void firstBodyTurn(exchange).then(() => request.on('data', add));
  else request.on('data', add);
  request.on('end', () => settle(state === 'dropping' ? null : (only ?? (parts ?? new Chunks()).whole())));
  request.on('close', left);
  request.on('error', left);
  return promise;
}

/** Lets the rest come, for nobody, so that the caller gets the answer. `left` is called when the connection ends. */
function dropRest(exchange: Exchange, left: () => void): void {
  exchange.dropsBody = true;
  readOnAfterAnswer(exchange.request);
  // Once its answer is out, Node tells the request no more of its connection.
  exchange.request.socket.once('close', left);
}

/** Whether a body comes with a request: it has a length, or comes in chunks. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** The refusal of a packed body where it is not unpacked: it goes on, or into a file, as it comes. */
export function wrongEncoding(encoding: string | undefined): Failure | null {
  return encoding === undefined || encoding === 'identity' ? null : unsupported(encoding);
}

function unsupported(encoding: string): Failure {
  const message = `Content-Encoding '${encoding.slice(0, 40)}' is not supported here; send the body uncompressed.`;
  return { kind: 'unsupported-encoding', message };
}

export function wrongMediaType(contentType: string | undefined): Failure | null {
  if (contentType === 'application/json') return null;
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'application/json' || (mediaType?.endsWith('+json') && mediaType.startsWith('application/')))
    return null;
  return { kind: 'unsupported-media-type', received: contentType?.slice(0, 80) ?? null, expected: 'application/json' };
}

/** Collects the chunks of a body into one piece of memory. */
interface BodyParts {
  /** The chunk may be empty afterwards: it belongs to the parts. */
  add(chunk: Buffer): void;
  /** Called once, at the end. */
  whole(): Buffer;
  /** Once, instead of `whole`: memory that nothing shares is free at once. */
  giveBack(): void;
}

/** From here on a body is put together as it comes: one copy at the end would hold up the loop for milliseconds. */
const inPlaceBytes = 1024 * 1024;
/** Memory for a declared length is taken when this part of it has come: who only declares one has none. */
const partBeforeMemory = 1 / 16;

/** `memory` gives what a large body of a declared length is put together in, and is the giver's. Default: its own. */
export function bodyParts(declaredBytes: number | null, memory?: (bytes: number) => Buffer): BodyParts {
  return declaredBytes !== null && declaredBytes > inPlaceBytes ? inPlace(declaredBytes, memory) : new Chunks();
}

/** Unless it is a part of Node's own memory. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer.byteLength === byteLength) freeMemory(buffer);
}

class Chunks implements BodyParts {
  private readonly chunks: Buffer[] = [];

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  whole(): Buffer {
    return this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
  }

  giveBack(): void {
    this.chunks.forEach(free);
  }
}

function inPlace(declaredBytes: number, memory?: (bytes: number) => Buffer): BodyParts {
  const bytesBefore = Math.max(inPlaceBytes, declaredBytes * partBeforeMemory);
  const begin = () => memory?.(declaredBytes) ?? Buffer.allocUnsafeSlow(declaredBytes);
  /** Chunks that came before there was memory. */
  const waiting: Buffer[] = [];
  let waitingAt = 0;
  let body: Buffer | null = null;
  let at = 0;

  /** Also places some of the waiting chunks: each new chunk takes as much along, so they never all go in one turn. */
  function catchUp(into: Buffer, bytes: number): void {
    const to = waitingAt + bytes;
    while (waiting.length > 0 && waitingAt < to) {
      const chunk = waiting.shift()!;
      waitingAt += chunk.copy(into, waitingAt);
      free(chunk);
    }
  }

  return {
    add(chunk) {
      if (body === null) {
        waiting.push(chunk);
        at += chunk.length;
        if (at >= bytesBefore) body = begin();
        return;
      }
      at += chunk.copy(body, at);
      catchUp(body, chunk.length);
      free(chunk);
    },
    whole() {
      body ??= begin();
      catchUp(body, at);
      // Node ends a request before its declared length only where the caller has gone.
      return at === body.length ? body : body.subarray(0, at);
    },
    giveBack() {
      waiting.forEach(free);
      if (body !== null && memory === undefined) free(body);
    },
  };
}

/** Watches that began in this turn of the loop. */
let begun: BodyPace[] = [];

/** Least number of bytes in every `bodyStallTimeoutMs`, unless the body ends: about 1 KB/s. */
const paceBytesMin = 64 * 1024;
/** A body as large as is allowed may come as slowly as this; any may take `wholeMsMin`. */
const wholeBytesPerS = 64 * 1024;
const wholeMsMin = 10 * 60_000;

/**
 * Holds a body that is being read to a minimum rate and to a total time. A caller that sends a byte now and then would
 * otherwise hold memory for as long as it likes.
 */
export class BodyPace {
  private readonly tooSlow: (failure: Failure) => void;
  private readonly wholeMs: number;
  private readonly request: Pick<IncomingMessage, 'complete'>;
  private stall: NodeJS.Timeout | undefined;
  /** Set with the first 64 KB: a smaller body has no time for more than one wait. */
  private whole: NodeJS.Timeout | null = null;
  private bytes = 0;
  private over = false;

  /** `tooSlow` is called once, with a 408. */
  constructor(request: Pick<IncomingMessage, 'complete'>, limitBytes: number, tooSlow: (failure: Failure) => void) {
    this.tooSlow = tooSlow;
    this.wholeMs = Math.max(wholeMsMin, (limitBytes / wholeBytesPerS) * 1_000);
    this.request = request;
    if (begun.length === 0) setImmediate(BodyPace.endTurn);
    begun.push(this);
  }

  /** Most bodies come with their head, in the turn in which they begin: nobody waits for them. */
  private static endTurn(): void {
    const paces = begun;
    begun = [];
    for (const pace of paces) if (!pace.over && !pace.request.complete) pace.stall ??= pace.wait();
  }

  came(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes < paceBytesMin) return;
    this.bytes = 0;
    clearTimeout(this.stall);
    this.stall = this.wait();
    this.whole ??= setTimeout(() => {
      this.fail(`The request body took longer than ${Math.round(this.wholeMs / 60_000)} min to arrive.`);
    }, this.wholeMs);
  }

  /** Ends the watch: the body is there, or nobody waits for it. Idempotent. */
  end(): void {
    this.over = true;
    if (this.stall !== undefined) clearTimeout(this.stall);
    if (this.whole !== null) clearTimeout(this.whole);
  }

  private wait(): NodeJS.Timeout {
    return setTimeout(() => {
      this.fail(
        `The request body arrives too slowly: less than ${paceBytesMin / 1024} KB in ${bodyStallTimeoutMs / 1_000} s.`,
      );
    }, bodyStallTimeoutMs);
  }

  private fail(message: string): void {
    this.end();
    this.tooSlow({ kind: 'request-timeout', message });
  }
}
