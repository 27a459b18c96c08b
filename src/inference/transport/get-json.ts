import type { Transport, UpstreamCall, UpstreamRequest } from './upstream-call.ts';

const answerBytesMax = 8 * 1024 * 1024;
const connectTimeoutMs = 3_000;

type Address = Pick<UpstreamRequest, 'origin' | 'route' | 'path' | 'headers'>;

/** `body` is undefined when the answer is not JSON. */
export interface JsonAnswer {
  status: number;
  body: unknown;
}

/**
 * One GET whose JSON answer is wanted whole. Rejects when no answer came within `timeoutMs` or it was larger than 8 MB.
 */
export function getJson(transport: Transport, address: Address, timeoutMs: number): Promise<JsonAnswer> {
  return askJson(transport, { ...address, method: 'GET', body: null }, timeoutMs);
}

/** The same for a POST. */
export function postJson(
  transport: Transport,
  address: Address,
  body: Buffer | string,
  timeoutMs: number,
): Promise<JsonAnswer> {
  return askJson(transport, { ...address, method: 'POST', body }, timeoutMs);
}

function askJson(
  transport: Transport,
  request: Pick<UpstreamRequest, 'origin' | 'route' | 'path' | 'headers' | 'method' | 'body'>,
  timeoutMs: number,
): Promise<JsonAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let call: UpstreamCall | null = null;
    const give = (reason: string) => {
      clearTimeout(timer);
      call?.abort();
      reject(new Error(reason));
    };
    const timer = setTimeout(() => give('timed out'), timeoutMs);
    call = transport.send(
      {
        ...request,
        connectTimeoutMs,
        headersTimeoutMs: timeoutMs,
        bodyTimeoutMs: timeoutMs,
      },
      {
        headers(received) {
          status = received;
        },
        data(chunk) {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > answerBytesMax) give('the answer is too large');
        },
        ended() {
          clearTimeout(timer);
          resolve({ status, body: parsed(Buffer.concat(chunks)) });
        },
        failed: (error) => give(error.message),
      },
    );
  });
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
