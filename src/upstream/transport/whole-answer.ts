import type { TransportError } from './transport-error.ts';
import type { Transport, UpstreamHeaders, UpstreamRequest } from './upstream-call.ts';

/** Why no whole answer came: the transport's word, or a bound of the one who asked. */
export class NoAnswer extends Error {
  readonly kind: TransportError['kind'] | 'timed-out' | 'too-large';

  constructor(kind: NoAnswer['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface AnswerBounds {
  connectTimeoutMs: number;
  bytesMax: number;
  /** Its abort is the deadline. */
  deadline: AbortSignal;
}

export type WholeRequest = Omit<UpstreamRequest, 'connectTimeoutMs' | 'headersTimeoutMs' | 'bodyTimeoutMs'>;

/** The exchange's own guards end far behind the deadline. */
const guardMs = 24 * 60 * 60_000;

/** One exchange with a whole answer, whatever its status. Rejects with `NoAnswer` only. */
export function wholeAnswer(
  transport: Transport,
  request: WholeRequest,
  { connectTimeoutMs, bytesMax, deadline }: AnswerBounds,
): Promise<{ status: number; headers: UpstreamHeaders; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let headers: UpstreamHeaders = { get: () => undefined, names: () => [] };
    const end = (why: NoAnswer): void => {
      deadline.removeEventListener('abort', late);
      call.abort();
      reject(why);
    };
    const late = () => end(new NoAnswer('timed-out', 'timed out'));
    const call = transport.send(
      { ...request, connectTimeoutMs, headersTimeoutMs: guardMs, bodyTimeoutMs: guardMs },
      {
        headers(received, head) {
          status = received;
          headers = head;
        },
        data(chunk) {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > bytesMax) end(new NoAnswer('too-large', 'the answer is too large'));
        },
        ended() {
          deadline.removeEventListener('abort', late);
          resolve({ status, headers, bytes: Buffer.concat(chunks) });
        },
        failed: ({ kind, message }) => end(new NoAnswer(kind, message)),
      },
    );
    if (deadline.aborted) late();
    else deadline.addEventListener('abort', late, { once: true });
  });
}
