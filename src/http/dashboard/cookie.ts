import type { IncomingMessage } from 'node:http';

export const cookieName = 'culvert_session';
const cookiePrefix = `${cookieName}=`;

/** The secret of the session that a browser sends; null: none, or two, of which another site of this domain may have set one. */
export function sessionSecret({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const { cookie } = headers;
  if (cookie === undefined || !cookie.includes(cookiePrefix)) return null;
  const values = cookie
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(cookiePrefix));
  return values.length === 1 ? values[0]!.slice(cookiePrefix.length) : null;
}

/** `Set-Cookie` for a secret, or to drop it: null. No page can read it, no other site can send it. */
export function sessionCookie(secret: string | null, options: { maxAgeMs: number; secure: boolean }): string {
  const seconds = secret === null ? 0 : Math.floor(options.maxAgeMs / 1_000);
  const secure = options.secure ? '; Secure' : '';
  return `${cookiePrefix}${secret ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
