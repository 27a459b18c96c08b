import { FailureError } from '../../kernel/failure.ts';
import { isObject } from '../../kernel/json.ts';
import { createTurns } from '../../kernel/sharing/turns.ts';
import { createTransport } from '../../upstream/transport/send.ts';
import type { UpstreamRoute } from '../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../upstream/transport/whole-answer.ts';
import { parseExact } from '../exact-json.ts';

/** Requests to Qdrant. */
export type Connection = ReturnType<typeof createConnection>;

export interface QdrantRequest {
  /** Whose turn at the connections it takes. Absent: the gateway's own work, which has turns as a tenant has. */
  tenant?: string;
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the URL, with its query. */
  path: string;
  body?: string;
  /** A read that could not be sent, or whose connection broke, is sent once more; a write may have been done. */
  use: 'read' | 'write';
  /** Room that the answer takes; absent: an answer may be as large as `answerBytesMax`. */
  room?: AnswerRoom;
}

/** Bytes that answers may still have, those of one call together. */
export interface AnswerRoom {
  bytes: number;
}

/** Qdrant's 4xx. The message is Qdrant's own: it names ids and keys as Qdrant stores them. */
export class QdrantRefused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface ConnectionOptions {
  /** May have a path, below which Qdrant is served. */
  url: string;
  apiKey: string | null;
  /** Default: straight, trusting the system's certificates. */
  way?: QdrantWay;
  timeouts?: Partial<QdrantTimeouts>;
}

/** How a Qdrant is reached: data alone, since it goes to threads. */
export interface QdrantWay extends Pick<UpstreamRoute, 'ca' | 'cert' | 'key'> {
  /** Null: straight. */
  proxy: { origin: string; authorization: string | null } | null;
}

export interface QdrantTimeouts {
  connectMs: number;
  /** From the request to the whole answer. */
  readMs: number;
  writeMs: number;
}

const defaultTimeouts: QdrantTimeouts = { connectMs: 3_000, readMs: 30_000, writeMs: 60_000 };
/** To one Qdrant, from one thread. One tenant has 30 of them, so that another's request goes out at once. */
const connectionsMax = 40;
/** Largest size of one answer. */
export const answerBytesMax = 256 * 1024 * 1024;
const messageCharsMax = 300;

/** Qdrant's server closes a connection that is idle for 5 s and says so nowhere: a write sent then would be lost. */
const keepAliveMs = 4_000;

/** Connects at the first request. */
export function createConnection({ url, apiKey, way, timeouts: given }: ConnectionOptions) {
  const { origin, pathname } = new URL(url);
  const timeouts = { ...defaultTimeouts, ...given };
  const prefix = pathname.replace(/\/+$/, '');
  // A sent request may have been done; `ask` knows which may be repeated.
  const transport = createTransport({ keepAliveMs, repeats: 'unsent' });
  const route = routeOf(way);
  const connections = createTurns({
    name: 'Requests to Qdrant',
    places: connectionsMax,
    waitingMax: Number.POSITIVE_INFINITY,
  });
  const headers = ['content-type', 'application/json', ...(apiKey === null ? [] : ['api-key', apiKey])];

  async function once({
    tenant = '',
    method,
    path,
    body,
    use,
    room,
  }: QdrantRequest): Promise<{ status: number; text: string }> {
    const deadline = AbortSignal.timeout(use === 'read' ? timeouts.readMs : timeouts.writeMs);
    return connections.run(tenant, deadline, async () => {
      const request = { origin, route, method, path: `${prefix}${path}`, headers, body: body ?? null };
      const bytesMax = Math.min(answerBytesMax, room?.bytes ?? answerBytesMax);
      const bounds = { connectTimeoutMs: timeouts.connectMs, bytesMax, deadline };
      const { status, bytes } = await wholeAnswer(transport, request, bounds);
      if (room !== undefined) room.bytes -= bytes.length;
      return { status, text: bytes.toString('utf8') };
    });
  }

  return {
    /**
     * The answer's `result`. `body`: JSON text. Rejects with `QdrantRefused` when Qdrant found fault with the request, with
     * a FailureError `overloaded` when it did not answer, or not in time, or not as Qdrant does.
     */
    async ask(request: QdrantRequest): Promise<unknown> {
      const { status, text } = await once(request).catch((error: unknown) => {
        if (request.use === 'write' || !isBroken(error)) throw unreachable(error);
        return once(request).catch((again: unknown) => {
          throw unreachable(again);
        });
      });
      return resultOf(status, text);
    },
    async close(): Promise<void> {
      transport.destroy();
    },
  };
}

/** There is one origin, so one name is enough for its connections. */
function routeOf(way: QdrantWay | undefined): UpstreamRoute | undefined {
  if (way === undefined) return undefined;
  const { proxy, ca, cert, key } = way;
  return { id: 'qdrant', proxy: proxy === null ? 'off' : { ...proxy, origin: new URL(proxy.origin) }, ca, cert, key };
}

function parsedAnswer(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

function resultOf(status: number, text: string): unknown {
  const answer = parsedAnswer(text);
  if (status >= 200 && status < 300 && isObject(answer) && answer.result !== undefined) return answer.result;
  if (status === 401 || status === 403) throw overloaded(`Qdrant refuses the key of vectors.api_key (HTTP ${status})`);
  // 408 and 429: its own limits, which pass.
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
    throw new QdrantRefused(status, messageIn(answer));
  }
  throw overloaded(`Qdrant answered with HTTP ${status}`);
}

function messageIn(answer: unknown): string {
  const status = isObject(answer) ? answer.status : null;
  const error = isObject(status) ? status.error : null;
  return typeof error === 'string' ? error.slice(0, messageCharsMax) : 'no reason given';
}

const brokenKinds: ReadonlySet<string> = new Set(['connect', 'connect-timeout', 'reset'] satisfies NoAnswer['kind'][]);

function isBroken(error: unknown): boolean {
  return error instanceof NoAnswer && brokenKinds.has(error.kind);
}

function unreachable(error: unknown): FailureError {
  const kind = error instanceof NoAnswer ? error.kind : 'timed-out';
  if (kind === 'too-large') return overloaded(`Qdrant's answer is larger than ${answerBytesMax} bytes`);
  // Waiting for one of the connections until then, too.
  if (kind === 'timed-out') return overloaded('Qdrant did not answer in time');
  return overloaded(`Qdrant cannot be reached: ${(error as NoAnswer).message}`);
}

function overloaded(why: string): FailureError {
  return new FailureError({
    kind: 'overloaded',
    message: `The vector store cannot serve right now: ${why}. Retry it.`,
  });
}

/** Why Qdrant could not be asked, for operators; without secrets. */
export function messageOf(error: unknown): string {
  if (error instanceof FailureError && 'message' in error.failure) return error.failure.message;
  return error instanceof QdrantRefused ? `Qdrant refuses it: ${error.message}` : String(error);
}
