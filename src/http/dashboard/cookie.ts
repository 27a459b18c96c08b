import type { IncomingMessage } from 'node:http';
import type { ProviderLogin } from '../../books/auth/session-store.ts';
import type { Config } from '../../config/schema.ts';
import { basePathOf } from '../../kernel/web/base-path.ts';
import { linkBaseOf } from '../link-base.ts';

/**
 * A browser sends the cookies of a host to every port of it, and those of a path to all below: two servers there would log
 * each other's people out. So the name says port and path of the address that the browser has, unless they are the usual.
 */
export function cookieName(of: 'session' | ProviderLogin, address: string): string {
  const parts = ['culvert', of, URL.parse(address)?.port, ...basePathOf(address).split('/')];
  return parts
    .filter(Boolean)
    .join('_')
    .replace(/[^\w.-]/g, '-');
}

/**
 * Address by which a browser has its session. One that reaches this server around the proxy, as by a link of `culvert
 * dashboard`, does not have the path of `server.public_url`.
 */
export function sessionAddressOf(request: IncomingMessage, server: Config['server']): string {
  const address = linkBaseOf(request, server);
  const known = URL.parse(address);
  if (known === null || basePathOf(address) === '') return address;
  // Some proxies write the usual port, too.
  const used = `${known.protocol}//${request.headers.host ?? ''}`;
  return URL.parse(used)?.host === known.host ? address : used;
}

/** Null: it did not come, or twice: another site of this domain may have set one of the two. */
export function cookieValue({ headers }: Pick<IncomingMessage, 'headers'>, name: string): string | null {
  const { cookie } = headers;
  const beginning = `${name}=`;
  if (cookie === undefined || !cookie.includes(beginning)) return null;
  const values = cookie
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(beginning));
  const [value, second] = values;
  return value !== undefined && second === undefined ? value.slice(beginning.length) : null;
}

/**
 * `Set-Cookie` for a secret, or to drop it: null, for a browser that has this server at `address`. No page can read it, no
 * other site can send it.
 */
export function sessionCookie(secret: string | null, maxAgeMs: number, address: string): string {
  const seconds = Math.floor(maxAgeMs / 1_000);
  const secure = address.startsWith('https:') ? '; Secure' : '';
  return `${cookieName('session', address)}=${secret ?? ''}; Path=${basePathOf(address) || '/'}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
