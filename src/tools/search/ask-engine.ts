import type { FaultClass } from '../../formats/neutral/outcome.ts';
import type { TransportError } from '../../upstream/transport/transport-error.ts';
import type { Transport, UpstreamCall, UpstreamHeaders } from '../../upstream/transport/upstream-call.ts';
import type { EngineRequest } from './search-engine.ts';

/** Larger answers of an engine are a fault of it: twenty hits are some 50 KB. */
const answerBytesMax = 4 * 1024 * 1024;
const connectTimeoutMs = 3_000;

export type EngineAnswer =
  | { kind: 'answer'; status: number; headers: UpstreamHeaders; body: Buffer }
  | { kind: 'failed'; class: FaultClass; message: string };

/** One exchange with an engine; follows no redirect. Never rejects: what does not come in `timeoutMs` is a stall. */
export function askEngine(
  transport: Transport,
  { method, url, headers, body }: EngineRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let head: { status: number; headers: UpstreamHeaders } | null = null;
    let call: UpstreamCall | null = null;
    const end = (answer: EngineAnswer) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      resolve(answer);
    };
    const giveUp = (why: FaultClass, message: string) => {
      call?.abort();
      end({ kind: 'failed', class: why, message });
    };
    const leave = () => giveUp('cancelled', 'the caller no longer waits for it');
    const timer = setTimeout(
      () => giveUp('stall_first_token', `timed out after ${Math.round(timeoutMs / 100) / 10} s`),
      timeoutMs,
    );
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    call = transport.send(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: Object.entries(headers).flat(),
        body,
        connectTimeoutMs,
        headersTimeoutMs: timeoutMs,
        bodyTimeoutMs: timeoutMs,
      },
      {
        headers(status, received) {
          head = { status, headers: received };
        },
        data(chunk) {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > answerBytesMax) giveUp('malformed', `its answer is larger than ${answerBytesMax} bytes`);
        },
        ended() {
          if (head === null) giveUp('transient', 'it gave no answer');
          else end({ kind: 'answer', ...head, body: Buffer.concat(chunks, bytes) });
        },
        failed: (error) => giveUp(classOf(error), error.message),
      },
    );
  });
}

function classOf({ kind }: TransportError): FaultClass {
  if (kind === 'headers-timeout' || kind === 'connect-timeout') return 'stall_first_token';
  return kind === 'decode' ? 'malformed' : 'transient';
}
