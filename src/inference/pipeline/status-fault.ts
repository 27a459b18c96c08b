import type { UpstreamDialect } from '../dialects/dialect.ts';
import type { Fault } from '../neutral/outcome.ts';
import { classifyError } from '../providers/classify.ts';
import type { ProviderConnection } from '../providers/connection.ts';
import { scrub } from '../providers/scrub.ts';
import { coolingMs } from '../routing/cooldown.ts';
import { retryAfterMs } from '../routing/retry-after.ts';
import type { UpstreamHeaders } from '../transport/upstream-call.ts';

/** What goes on to callers of an upstream's error code. */
const plainCode = /^[a-z][\w.-]{1,63}$/i;

/** What an answer without success means: by its status, and whatever its body says. `nowMs`: wall-clock time. */
export function statusFault(
  { status, headers, body }: { status: number; headers: UpstreamHeaders | null; body: Buffer },
  dialect: Pick<UpstreamDialect, 'readError'>,
  connection: ProviderConnection,
  nowMs: number,
): Fault {
  const error = dialect.readError(readJson(body));
  const toldMs = headers === null ? null : retryAfterMs(headers, nowMs);
  return {
    class: classifyError(connection.provider, status, error),
    status,
    message:
      error === null || error.message === ''
        ? `answered ${status}`
        : `answered ${status}: ${scrub(error.message, connection)}`,
    param: error?.param ?? null,
    ...(error !== null && plainCode.test(error.code) && { code: error.code }),
    // The headers' word, else the body's.
    retryAfterMs: toldMs ?? (error?.retryAfterMs === undefined ? null : coolingMs(error.retryAfterMs)),
  };
}

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
