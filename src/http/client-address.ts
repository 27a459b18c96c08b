import type { IncomingMessage } from 'node:http';
import { createNetworkSet, plainAddress } from '../kernel/network.ts';

/** Largest number of hops in X-Forwarded-For that are read. Entries further left are not believed. */
const hopsMax = 32;

type Addressed = Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } };

/**
 * The client's address: the socket's other end or, while that is one of `trusted` (server.trusted_proxies), the next
 * address of X-Forwarded-For, read from the right. Null when nobody can tell, such as for a name in place of an
 * address.
 */
export function createClientAddress(trusted: () => readonly string[]): (request: Addressed) => string | null {
  const isTrusted = createTrust(trusted);
  return (request) => {
    const peer = plainAddress(request.socket.remoteAddress ?? '');
    if (trusted().length === 0) return peer;
    const header = request.headers['x-forwarded-for'];
    const hops = (typeof header === 'string' ? header : (header?.join(',') ?? '')).split(',');
    let address = peer;
    for (let seen = 0; seen < hopsMax && isTrusted(address); seen += 1) {
      const hop = hops.pop()?.trim();
      // The proxy sent the request itself, for no client.
      if (hop === undefined || hop === '') return address;
      // Some proxies write `192.0.2.7:1234` and `[2001:db8::1]:1234`.
      address = plainAddress(/^(\[[^\]]*\]|[^:]*):\d{1,5}$/.exec(hop)?.[1] ?? hop);
    }
    return address;
  };
}

/** Whether an address is one of `trusted`, as configured right now. */
export function createTrust(trusted: () => readonly string[]): (address: string | null) => boolean {
  let networks: readonly string[] | null = null;
  let proxies = createNetworkSet([]);
  return (address) => {
    const configured = trusted();
    if (configured !== networks) {
      networks = configured;
      proxies = createNetworkSet(configured);
    }
    return proxies.has(address);
  };
}
