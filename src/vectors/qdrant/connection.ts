import { type Dispatcher, Pool } from 'undici';
import { FailureError } from '../../kernel/failure.ts';
import { isObject } from '../../kernel/json.ts';

/** Requests to Qdrant. */
export interface Connection {
  /**
   * The answer's `result`. `body`: JSON text. Rejects with `QdrantRefused` when Qdrant found fault with the request, with
   * a FailureError `overloaded` when it did not answer, or not in time, or not as Qdrant does.
   */
  ask(request: QdrantRequest): Promise<unknown>;
  close(): Promise<void>;
}

export interface QdrantRequest {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the URL, with its query. */
  path: string;
  body?: string;
  /** A read that could not be sent, or whose connection broke, is sent once more; a write may have been done. */
  use: 'read' | 'write';
}

/** Qdrant's 4xx. The message is Qdrant's own: it names ids and keys as they stand there. */
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
  timeouts?: Partial<QdrantTimeouts>;
}

export interface QdrantTimeouts {
  connectMs: number;
  /** From the request to the whole answer. */
  readMs: number;
  writeMs: number;
}

const defaultTimeouts: QdrantTimeouts = { connectMs: 3_000, readMs: 30_000, writeMs: 60_000 };
/** To one Qdrant, from one thread. */
const connectionsMax = 32;
/** Of one answer. */
const answerBytesMax = 256 * 1024 * 1024;
const messageCharsMax = 300;

/** Connects at the first request. */
export function createConnection({ url, apiKey, timeouts: given }: ConnectionOptions): Connection {
  const { origin, pathname } = new URL(url);
  const timeouts = { ...defaultTimeouts, ...given };
  const prefix = pathname.replace(/\/+$/, '');
  const pool = new Pool(origin, {
    connections: connectionsMax,
    connect: { timeout: timeouts.connectMs },
    // One deadline stands for both, below.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const headers = {
    'content-type': 'application/json',
    ...(apiKey !== null && { 'api-key': apiKey }),
  };

  async function once({ method, path, body, use }: QdrantRequest): Promise<{ status: number; text: string }> {
    const signal = AbortSignal.timeout(use === 'read' ? timeouts.readMs : timeouts.writeMs);
    const answer = await pool.request({ method, path: `${prefix}${path}`, headers, body: body ?? null, signal });
    return { status: answer.statusCode, text: await wholeText(answer.body) };
  }

  return {
    async ask(request) {
      const { status, text } = await once(request).catch((error: unknown) => {
        if (request.use === 'write' || !isBroken(error)) throw unreachable(error);
        return once(request).catch((again: unknown) => {
          throw unreachable(again);
        });
      });
      return resultOf(status, text);
    },
    close: () => pool.destroy(),
  };
}

async function wholeText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    // Leaving the loop closes the connection.
    if (bytes > answerBytesMax) throw new TooLong();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

class TooLong extends Error {}

function resultOf(status: number, text: string): unknown {
  const answer = parsed(text);
  if (status >= 200 && status < 300 && isObject(answer) && answer.result !== undefined) return answer.result;
  if (status === 401 || status === 403) {
    throw overloaded(`Qdrant refuses the key of vectors.api_key (HTTP ${status})`);
  }
  // 408 and 429: its own limits, which pass.
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
    throw new QdrantRefused(status, messageIn(answer));
  }
  throw overloaded(`Qdrant answered with HTTP ${status}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function messageIn(answer: unknown): string {
  const status = isObject(answer) ? answer.status : null;
  const error = isObject(status) ? status.error : null;
  return typeof error === 'string' ? error.slice(0, messageCharsMax) : 'no reason given';
}

const brokenCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_CONNECT_TIMEOUT'];

function isBroken(error: unknown): boolean {
  return brokenCodes.includes(codeOf(error));
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function unreachable(error: unknown): FailureError {
  if (error instanceof TooLong) return overloaded(`Qdrant's answer is larger than ${answerBytesMax} bytes`);
  if (error instanceof Error && error.name === 'TimeoutError') return overloaded('Qdrant did not answer in time');
  const code = codeOf(error);
  return overloaded(`Qdrant cannot be reached${code === '' ? '' : ` (${code})`}`);
}

function overloaded(why: string): FailureError {
  return new FailureError({
    kind: 'overloaded',
    message: `The vector store cannot serve right now: ${why}. Retry it.`,
  });
}

/** Why Qdrant could not be asked, for operators; without secrets. */
export function wordsOf(error: unknown): string {
  if (error instanceof FailureError && 'message' in error.failure) return error.failure.message;
  return error instanceof QdrantRefused ? `Qdrant refuses it: ${error.message}` : String(error);
}
