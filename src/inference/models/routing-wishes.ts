import { type Failure, invalid } from '../../kernel/failure.ts';

/** What a caller may say of routing, in headers (design §6). */
export interface RoutingWishes {
  /** Overall deadline; null = the alias's own. */
  timeoutMs: number | null;
  fallback: 'allowed' | 'off';
  /** By which its conversations find the same target again; null = by their beginning. */
  session: string | null;
}

const timeoutMaxMs = 24 * 3_600_000;
/** Ours first, then those that coding assistants send anyway (clients.md, conclusion 17). */
const sessionHeaders = [
  'x-culvert-session',
  'x-claude-code-session-id',
  'session-id',
  'x-session-affinity',
  'x-session-id',
] as const;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Reads them; a Failure (400) names the header that is wrong. */
export function readWishes(headers: Headers): RoutingWishes | Failure {
  const timeout = headers['x-culvert-timeout-ms'];
  const timeoutMs = timeout === undefined ? null : decimal(timeout);
  if (timeoutMs !== null && !(timeoutMs >= 1 && timeoutMs <= timeoutMaxMs)) {
    return invalid(
      'x-culvert-timeout-ms',
      `x-culvert-timeout-ms must be a whole number of ms from 1 to ${timeoutMaxMs}.`,
    );
  }
  const noFallback = headers['x-culvert-no-fallback'];
  const session = sessionHeaders
    .map((name) => headers[name])
    .find((value) => typeof value === 'string' && value !== '');
  return {
    timeoutMs,
    fallback: noFallback === undefined || noFallback === 'false' || noFallback === '0' ? 'allowed' : 'off',
    session: typeof session === 'string' ? session.slice(0, 256) : null,
  };
}

/** NaN for what `Number` would also take for one: hexadecimal, exponents, blanks. */
function decimal(text: string | string[]): number {
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}
