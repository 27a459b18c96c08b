import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/schema.ts';
import { createNetworkSet, plainAddress } from '../kernel/network.ts';

/**
 * The beginning of links to this server, without a slash at the end: `server.public_url`, else the scheme and host that
 * the caller used. A proxy of `server.trusted_proxies` says in X-Forwarded-Proto which scheme that was.
 */
export function linkBaseOf(request: IncomingMessage, server: Config['server']): string {
  if (server.public_url !== undefined) return server.public_url.replace(/\/+$/, '');
  const { headers, socket } = request;
  const peer = plainAddress(socket.remoteAddress ?? '');
  const proxied =
    headers['x-forwarded-proto'] === 'https' && peer !== null && createNetworkSet(server.trusted_proxies).has(peer);
  // HTTP/1.0 needs no Host. A present one was checked before (preflight).
  const host = headers.host || `${bracketed(socket.localAddress ?? '127.0.0.1')}:${socket.localPort ?? server.port}`;
  return `${proxied ? 'https' : 'http'}://${host}`;
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
