import type { RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { request as httpRequest } from '../kernel/web/node-http.ts';
import { checkedLookup } from './checked-lookup.ts';
import { type FetchGuard, portOf } from './fetch-guard.ts';

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
  const options: RequestOptions = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: portOf(url),
    path: url.pathname + url.search,
    method: 'POST',
    // A new socket: one that is kept could have been connected for another check.
    agent: false,
    signal,
    headers: { 'user-agent': 'culvert', ...headers, host: url.host, 'content-length': String(bytes.length) },
    lookup: checkedLookup(verdict.addresses),
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(options, (response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    request.on('error', reject);
    // An unrequested 101 ends it with neither answer nor error.
    request.on('close', () => reject(new Error('the connection was closed without an answer')));
    request.on('socket', (socket) => {
      socket.once('connect', () => {
        const { remoteAddress } = socket;
        if (remoteAddress === undefined || guard.allows(url, remoteAddress)) return;
        request.destroy(new Error('its address is not on the public Internet'));
      });
    });
    request.end(bytes);
  });
}
