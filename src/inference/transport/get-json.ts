import type { Transport, UpstreamCall } from './upstream-call.ts';

const answerBytesMax = 8 * 1024 * 1024;
const connectTimeoutMs = 3_000;

/**
 * One GET whose JSON answer is wanted whole: the status and the parsed body, undefined when it is not JSON. Rejects
 * when no answer came within `timeoutMs` or it was larger than 8 MB.
 */
export function getJson(
  transport: Transport,
  address: { origin: string; path: string; headers: readonly string[] },
  timeoutMs: number,
): Promise<{ status: number; body: unknown }> {
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
        ...address,
        method: 'GET',
        body: null,
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
