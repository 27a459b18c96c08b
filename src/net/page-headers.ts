/**
 * What a caller may tell a page. Credentials are the caller's own affair (a page behind their login), go to the named
 * origin alone, and such a page is never kept. Everything else is ours: host, connection, packing, lengths.
 */
const allowed = new Set([
  'accept',
  'accept-language',
  'authorization',
  'cookie',
  'dnt',
  'referer',
  'user-agent',
  'x-requested-with',
]);
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

/** Whether what a page answers is for these headers' owner alone. */
export function carriesCredentials(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => credentials.has(name));
}
