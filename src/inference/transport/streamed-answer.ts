import type { Transport, UpstreamHeaders } from './upstream-call.ts';
import { NoAnswer, type WholeRequest } from './whole-answer.ts';

export interface StreamedAnswer {
  status: number;
  headers: UpstreamHeaders;
  /** Never more in memory than a few chunks of the transport. Rejects with `NoAnswer` when it breaks off. */
  content: AsyncGenerator<Buffer, void, undefined>;
}

/** One exchange whose answer is read as it comes, at the reader's own speed. Rejects with `NoAnswer` only. */
export function streamedAnswer(
  transport: Transport,
  request: WholeRequest,
  { connectTimeoutMs, silenceMs }: { connectTimeoutMs: number; silenceMs: number },
): Promise<StreamedAnswer> {
  const chunks: Buffer[] = [];
  let over: 'no' | 'ended' | NoAnswer = 'no';
  let wake = () => {};
  return new Promise((resolve, reject) => {
    const call = transport.send(
      { ...request, connectTimeoutMs, headersTimeoutMs: silenceMs, bodyTimeoutMs: silenceMs },
      {
        headers: (status, headers) => resolve({ status, headers, content: content() }),
        data(chunk) {
          chunks.push(chunk);
          call.pause();
          wake();
        },
        ended() {
          over = 'ended';
          wake();
        },
        failed({ kind, message }) {
          over = new NoAnswer(kind, message);
          reject(over);
          wake();
        },
      },
    );

    async function* content(): AsyncGenerator<Buffer, void, undefined> {
      try {
        for (;;) {
          while (chunks.length > 0) yield chunks.shift()!;
          if (over === 'ended') return;
          if (over !== 'no') throw over;
          const more = new Promise<void>((resume) => {
            wake = resume;
          });
          call.resume();
          await more;
        }
      } finally {
        call.abort();
      }
    }
  });
}
