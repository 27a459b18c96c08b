/**
 * Headers that a caller may send to a page. Credentials are the caller's own affair (a page behind their login). They
 * go to the named origin only, and such a page is never kept. We set everything else: host, connection, encoding,
 * lengths.
 */
const allowed = new Set(
  'accept accept-language authorization cookie dnt referer user-agent x-requested-with'.split(' '),
);
const credentials = new Set(['authorization', 'cookie']);

export const pageHeadersMax = 20;
export const pageHeaderCharsMax = 4_096;

export function isPageHeader(name: string): boolean {
  return allowed.has(name.toLowerCase());
}

export const pageHeaderNames: readonly string[] = [...allowed];

/** Visible ASCII and spaces alone: no line break begins another header. */
export function isHeaderValue(value: string): boolean {
  return value.length <= pageHeaderCharsMax && /^[\x20-\x7e\t]*$/.test(value);
}

/** Whether a page's answer to these headers is for their owner only. */
export function carriesCredentials(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => credentials.has(name));
}
