import type { FetchGuard } from './fetch-guard.ts';
import { answerFrom } from './guarded-fetch.ts';

/**
 * One POST to an address that a caller gave. Resolves to the status of the answer, whatever it is. The address is
 * checked as for a fetch, and only the checked one is connected to. Redirects are not followed and bodies not read.
 * Rejects when the address is refused, or no answer came within `timeoutMs`.
 */
export async function guardedPost(
  text: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  { guard, timeoutMs }: { guard: FetchGuard; timeoutMs: number },
): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs);
  const url = new URL(text);
  const verdict = await guard.check(url);
  if (!verdict.ok) throw new Error(verdict.message);
  signal.throwIfAborted();
  const bytes = Buffer.from(body);
  const sent = { 'user-agent': 'culvert', ...headers, 'content-length': String(bytes.length) };
  const request = { method: 'POST', headers: sent, body: bytes } as const;
  const response = await answerFrom(url, verdict.addresses, request, guard, signal);
  response.destroy();
  return response.statusCode ?? 0;
}
