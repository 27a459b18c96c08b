import { request } from 'undici';

/**
 * One POST to an address that the operator configured; resolves to the status of the answer, whatever it is. Redirects
 * are not followed and bodies not read. Rejects when no answer came within `timeoutMs`.
 */
export async function postWebhook(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await request(url, { method: 'POST', headers: { ...headers }, body, signal });
  // A few KB keep the connection for the next notice; from a receiver that says more it is closed.
  await answer.body.dump({ limit: answerBytesMax, signal }).catch(() => undefined);
  return answer.statusCode;
}

const answerBytesMax = 16 * 1024;
