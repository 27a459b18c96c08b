import type { IncomingMessage } from 'node:http';

export const cookieName = 'culvert_session';

/** The secret of the session that a browser sends; null: none. */
export function sessionSecret(request: Pick<IncomingMessage, 'headers'>): string | null {
  return cookieValue(request, cookieName);
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
  return values.length === 1 ? values[0]!.slice(beginning.length) : null;
}

/** `Set-Cookie` for a secret, or to drop it: null. No page can read it, no other site can send it. */
export function sessionCookie(secret: string | null, options: { maxAgeMs: number; secure: boolean }): string {
  const seconds = secret === null ? 0 : Math.floor(options.maxAgeMs / 1_000);
  const secure = options.secure ? '; Secure' : '';
  return `${cookieName}=${secret ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
