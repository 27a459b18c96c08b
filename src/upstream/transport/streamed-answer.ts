import type { Transport, UpstreamHeaders } from './upstream-call.ts';
import { NoAnswer, type WholeRequest } from './whole-answer.ts';

export interface StreamedAnswer {
  status: number;
  headers: UpstreamHeaders;
  /** Little more of it than `aheadBytesMax` is in memory. Rejects with `NoAnswer` when it breaks off. */
  content: AsyncGenerator<Buffer, void, undefined>;
}

/** Limit of what is read ahead of the content's reader. */
const aheadBytesMax = 1024 * 1024;

/** One exchange whose answer is read as it comes, at the reader's own speed. Rejects with `NoAnswer` only. */
export function streamedAnswer(
  transport: Transport,
  request: WholeRequest,
  { connectTimeoutMs, silenceMs }: { connectTimeoutMs: number; silenceMs: number },
): Promise<StreamedAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let over: 'no' | 'ended' | NoAnswer = 'no';
  let wake = () => {};
  return new Promise((resolve, reject) => {
    const call = transport.send(
      { ...request, connectTimeoutMs, headersTimeoutMs: silenceMs, bodyTimeoutMs: silenceMs },
      {
        headers(status, headers) {
          const begun = content();
          // Within its `try`: one that is left before it has begun would close nothing.
          void begun.next();
          resolve({ status, headers, content: begun });
        },
        data(chunk) {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes > aheadBytesMax) call.pause();
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
        yield Buffer.alloc(0);
        for (;;) {
          for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
            bytes -= chunk.length;
            yield chunk;
          }
          if (over === 'ended') return;
          if (over !== 'no') throw over;
          const more = new Promise<void>((resume) => {
            wake = resume;
          });
          // Not from within what the transport tells: a resumed parser would tell the next chunk inside of this one.
          setImmediate(() => call.resume());
          await more;
        }
      } finally {
        call.abort();
      }
    }
  });
}
