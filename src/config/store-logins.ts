import { urlOfHosts, urlsOfHosts } from '../kernel/web/urls-of-hosts.ts';

/** Whether both are one store that is logged in to in another way: only user and password differ. */
export function isOtherLogin(url: unknown, other: unknown): boolean {
  if (typeof url !== 'string' || typeof other !== 'string' || url === other) return false;
  return withoutLogin(url) === withoutLogin(other);
}

function withoutLogin(text: string): string {
  return urlOfHosts(urlsOfHosts(text).map(withoutUser));
}

function withoutUser(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.username = '';
  url.password = '';
  // Of Redis's sentinels.
  if (url.searchParams.has('sentinel_password')) url.searchParams.set('sentinel_password', '');
  return url.href;
}
