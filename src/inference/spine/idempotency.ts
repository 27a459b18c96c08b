import { createHash, webcrypto } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as rest } from 'node:timers/promises';
import type { ReplyStore, ReplyTaken } from '../../books/metering/reply-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError, invalid } from '../../kernel/failure.ts';
import { offLoopBodyBytes } from '../../kernel/limits.ts';
import type { Sealer } from '../../kernel/seal.ts';
import { BufferedAnswer, type Outcome } from './buffered-answer.ts';
import { PatientWrites } from './patient-writes.ts';
import { type HeaderList, refuse, type Sink, sendWhole } from './sink.ts';

/**
 * `Idempotency-Key` (design §11), around anything that ends in a whole answer: the same key and body gets the stored
 * reply, so that a retry after a timeout costs neither a second run nor a second charge.
 */
export interface Idempotency {
  /**
   * Runs `run` unless an earlier request of this key did, and ends the answer in every case. The run's client never
   * leaves, so that it comes to its end for the retry which the key announces; its answer goes on once it is kept, or
   * 503 instead of it: after a crash nobody has an answer to a key that would run again. Only what delivered something
   * (2xx) is kept; after a refusal or failure the key is free again. Rejects when `run` does.
   */
  once(request: KeyedRequest, run: (answer: BufferedAnswer) => Promise<void>): Promise<void>;
}

export interface KeyedRequest {
  /** From `readIdempotencyKey`. */
  key: string;
  tenant: string;
  /** Name as in config's `costs`: the same key on another endpoint is a different one. */
  endpoint: string;
  requestId: string;
  /** Body as received. */
  body: Buffer;
  sink: Sink;
  /** This caller's present limits, sent with a repeat. */
  headers: HeaderList;
}

export interface IdempotencyParts {
  store: ReplyStore;
  /** Sealer for this purpose alone. */
  sealer: Sealer;
  bootId: string;
  clock: Clock;
  /** Resolves to whether this many bytes of a reply may be kept for a tenant; they count then. */
  mayKeep(tenant: string, bytes: number): Promise<boolean>;
  /** Called when a reply could not be kept or a key not be freed; repeats are answered 409 from then on. */
  onTrouble(message: string): void;
  /** For tests: ms of real time otherwise. */
  pause?: (ms: number) => Promise<void>;
}

const keepForMs = 24 * 3_600_000;
/** Maximum size of a reply's body. Larger ones are not kept, and a repeat gets an error that says so. */
const replyBytesMax = 1024 * 1024;
/** A look-up fails after this time. A key that takes longer to free is freed while the caller has its refusal. */
const storeWaitMs = 250;

/** The request's key; null without one. Costs one look at the headers for everybody else. */
export function readIdempotencyKey(headers: IncomingHttpHeaders): string | null | Failure {
  const given = headers['idempotency-key'];
  if (given === undefined) return null;
  if (typeof given === 'string' && /^[\x20-\x7e]{1,255}$/.test(given)) return given;
  return invalid(null, "'Idempotency-Key' must be 1 to 255 printable ASCII characters.");
}

export function createIdempotency(parts: IdempotencyParts): Idempotency {
  const { store, sealer, bootId, clock, onTrouble } = parts;
  const pause = parts.pause ?? ((ms: number) => rest(ms, undefined, { ref: false }));
  const writes = new PatientWrites({ clock, pause, onTrouble });

  async function take(request: KeyedRequest, scope: string): Promise<ReplyTaken | Failure> {
    const { key, requestId } = request;
    const nowMs = clock.wallMs();
    const bodyHash = await hashOf(request.body);
    const entry = store.take({ scope, key, bodyHash, requestId, bootId, nowMs, expiresMs: nowMs + keepForMs });
    try {
      const taken = await Promise.race([entry, pause(storeWaitMs).then(() => null)]);
      if (taken !== null) return taken;
    } catch (error) {
      // Whether the key was taken is unknown: a commit may have been made before its connection broke.
      write(() => store.release(scope, key, requestId), requestId);
      return error instanceof FailureError ? error.failure : unavailable;
    }
    const giveBack = () => write(() => store.release(scope, key, requestId), requestId);
    entry.then((taken) => taken.kind === 'taken' && giveBack(), giveBack);
    return unavailable;
  }

  /** Resolves once written, or after `storeWaitMs`; goes on trying for a while in any case. Never rejects. */
  function write(step: () => Promise<void>, requestId: string): Promise<unknown> {
    return Promise.race([writes.written(step, requestId), pause(storeWaitMs)]);
  }

  /** Resolves to whether the answer may go out. */
  async function keep(request: KeyedRequest, scope: string, outcome: Outcome | null): Promise<boolean> {
    const { key, requestId } = request;
    if (outcome?.kind !== 'answered' || outcome.status < 200 || outcome.status > 299) {
      await write(() => store.release(scope, key, requestId), requestId);
      return true;
    }
    const { status, body } = outcome;
    const isSmall = body.length <= replyBytesMax;
    const packed = isSmall ? sealer.seal(packReply(outcome), contextOf(scope, requestId)) : null;
    const sealed = packed !== null && (await parts.mayKeep(request.tenant, packed.length)) ? packed : null;
    return writes.written(() => store.keep(scope, key, requestId, { status, sealed }), requestId);
  }

  function repeat(request: KeyedRequest, scope: string, taken: Exclude<ReplyTaken, { kind: 'taken' }>): void {
    const { sink, headers } = request;
    const first = taken.requestId;
    const conflict = (message: string) => refuse(sink, { kind: 'conflict', message }, headers);
    switch (taken.kind) {
      case 'in-flight': {
        const message = `The first request with this Idempotency-Key, ${first}, is still running, or its answer could not be recorded yet. Retry in a second.`;
        return refuse(sink, { kind: 'conflict', message, retryAfterMs: inFlightRetryMs }, headers);
      }
      case 'other-body':
        return conflict(
          `The request ${first} used this Idempotency-Key with another body. Use a new key for a new request.`,
        );
      case 'kept': {
        if (taken.sealed === null) {
          return conflict(
            `The reply to the first request with this Idempotency-Key, ${first}, was not kept, because it is over 1 MB or there was no room for it. The request did not run again.`,
          );
        }
        const packed = sealer.open(taken.sealed, contextOf(scope, first));
        if (packed === null) {
          return conflict(
            `The reply to the first request with this Idempotency-Key, ${first}, can no longer be read. The request did not run again.`,
          );
        }
        const reply = unpackReply(packed);
        const replay = [...reply.headers, 'x-culvert-idempotent-replay', first, ...headers];
        return sendWhole(sink, replay, reply.body, taken.status);
      }
    }
  }

  return {
    async once(request, run) {
      const { sink } = request;
      const scope = `${request.endpoint}:${request.tenant}`;
      const taken = await take(request, scope);
      if (!('requestId' in taken) && taken.kind !== 'taken') return refuse(sink, taken, request.headers);
      if (taken.kind !== 'taken') return repeat(request, scope, taken);

      const answer = new BufferedAnswer();
      let mayGo = true;
      try {
        await run(answer);
      } finally {
        // Before the answer: a caller that has seen one finds it again, and one that was refused finds the key free.
        mayGo = await keep(request, scope, answer.outcome);
      }
      const { outcome } = answer;
      if (outcome === null) throw new Error('a request ended without an answer');
      if (!mayGo) return refuse(sink, notStored, request.headers);
      if (outcome.kind === 'answered') sendWhole(sink, outcome.headers, outcome.body, outcome.status);
      else refuse(sink, outcome.failure, outcome.headers);
    },
  };
}

const inFlightRetryMs = 1_000;

const unavailable: Failure = {
  kind: 'quota-unavailable',
  message: 'The Idempotency-Key cannot be checked right now, so the request did not run. Retry shortly.',
};

const notStored: Failure = {
  kind: 'quota-unavailable',
  message:
    'The request ran, but its answer cannot be recorded for its Idempotency-Key right now. Retry it with the same key: you get that answer once it is recorded, and 409 until then.',
};

function contextOf(scope: string, requestId: string): string {
  return `${scope} ${requestId}`;
}

/** SHA-256, hex; of large bodies off the loop. */
async function hashOf(body: Buffer): Promise<string> {
  if (body.length <= offLoopBodyBytes) return createHash('sha256').update(body).digest('hex');
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', body as Buffer<ArrayBuffer>)).toString('hex');
}

/** A whole reply as it is kept for a repeat of its request. */
interface StoredReply {
  headers: HeaderList;
  body: Buffer;
}

const lengthBytes = 4;

/** Length of the headers' JSON, the JSON, the body unchanged. */
function packReply({ headers, body }: StoredReply): Buffer {
  const head = Buffer.from(JSON.stringify(ofTheAnswer(headers)));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, body]);
}

/** `packed` comes from `packReply`: nothing is checked again. */
function unpackReply(packed: Buffer): StoredReply {
  const bodyAt = lengthBytes + packed.readUInt32BE(0);
  const headers = JSON.parse(packed.toString('utf8', lengthBytes, bodyAt)) as HeaderList;
  return { headers, body: packed.subarray(bodyAt) };
}

/** Headers on how the answer came about. Limits are left out: a repeat gets its present ones. */
function ofTheAnswer(headers: HeaderList): HeaderList {
  const stored: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.startsWith('x-culvert-') || name.startsWith('content-')) stored.push(name, headers[i + 1]!);
  }
  return stored;
}
