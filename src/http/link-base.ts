import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/schema.ts';
import { createNetworkSet, plainAddress } from '../kernel/network.ts';
import { basePathOf } from '../kernel/web/base-path.ts';

/**
 * The beginning of links to this server, without a slash at the end: `server.public_url`, else the scheme and host that
 * the caller used. A proxy of `server.trusted_proxies` says in X-Forwarded-Proto which scheme that was, and in
 * X-Forwarded-Prefix which path it took away.
 */
export function linkBaseOf(request: IncomingMessage, server: Config['server']): string {
  if (server.public_url !== undefined) return latin(server.public_url).replace(/\/+$/, '');
  const { headers, socket } = request;
  const peer = plainAddress(socket.remoteAddress ?? '');
  const { 'x-forwarded-proto': scheme, 'x-forwarded-prefix': prefix } = headers;
  const proxied =
    (scheme ?? prefix) !== undefined && peer !== null && createNetworkSet(server.trusted_proxies).has(peer);
  const path = proxied && typeof prefix === 'string' && prefixForm.test(prefix) ? prefix.replace(/\/$/, '') : '';
  // HTTP/1.0 needs no Host. A present one was checked before (preflight).
  const host = headers.host || `${bracketed(socket.localAddress ?? '127.0.0.1')}:${socket.localPort ?? server.port}`;
  return `${proxied && scheme === 'https' ? 'https' : 'http'}://${host}${path}`;
}

/** Encodes letters that no header can have. */
function latin(url: string): string {
  return /[^\x20-\x7e]/.test(url) ? new URL(url).href : url;
}

const prefixForm = /^(?:\/[\w.~-]{1,100}){1,10}\/?$/;

/** Path of this server as its callers see it; '' where it is that of their host, or nobody says. */
export function linkPathOf(request: IncomingMessage, server: Config['server']): string {
  return basePathOf(linkBaseOf(request, server));
}

/** Link from a page at `path` to another place of this server, whatever path a proxy has before both. */
export function linkFrom(path: string, to: string): string {
  return ('../'.repeat(path.split('/').length - 2) || './') + to.slice(1);
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
