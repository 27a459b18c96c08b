import type { IncomingMessage } from 'node:http';
import type { ProviderLogin } from '../../books/auth/session-store.ts';

/**
 * A browser sends the cookies of a host to every port of it: two servers there would log each other's people out. So the
 * name says the port of the address that the browser has, unless it is that of http or https.
 */
export function cookieName(of: 'session' | ProviderLogin, address: string): string {
  const port = URL.parse(address)?.port ?? '';
  return port === '' ? `culvert_${of}` : `culvert_${of}_${port}`;
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
  return `${cookieName('session', address)}=${secret ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
