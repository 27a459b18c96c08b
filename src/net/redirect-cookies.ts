interface Held {
  value: string;
  /** The host that set it. */
  host: string;
  /** The cookie also goes to hosts below this name; null: only to `host`. */
  domain: string | null;
  secure: boolean;
}

/** Bounds of one fetch: more could fill a request's head. */
const cookiesMax = 50;
const charsMax = 8_192;

/**
 * Cookies that a site sets on the way to one page: many sites redirect until they come back. Makes an empty jar for one
 * fetch, which nothing outlives.
 */
export function createRedirectCookies() {
  const held = new Map<string, Held>();
  return {
    /** Takes what an answer of `url` sets (`set-cookie`). */
    async take(url: URL, lines: readonly string[]): Promise<void> {
      if (lines.length === 0) return;
      const { parseCookie } = await import('undici');
      for (const line of lines) {
        const cookie = line.length > charsMax ? null : parseCookie(line);
        // A control character would make the next request fail.
        if (cookie === null || cookie.name === '' || !/^[\x20-\x7e]*$/.test(cookie.name + cookie.value)) continue;
        const host = url.hostname;
        const domain = cookie.domain?.toLowerCase() ?? null;
        if (domain !== null && !isWithin(host, domain)) continue;
        const key = `${cookie.name};${domain ?? host}`;
        held.delete(key);
        const expired = (cookie.maxAge ?? 1) <= 0 || Number(cookie.expires ?? Number.POSITIVE_INFINITY) <= Date.now();
        if (expired || held.size >= cookiesMax) continue;
        held.set(key, { value: `${cookie.name}=${cookie.value}`, host, domain, secure: cookie.secure === true });
      }
    },
    /** The `cookie` header for `url`, behind what the caller sends; null: none. */
    headerFor(url: URL, callers: string | undefined): string | null {
      const values = callers === undefined ? [] : [callers];
      for (const { value, host, domain, secure } of held.values()) {
        const matches = domain === null ? url.hostname === host : isWithin(url.hostname, domain);
        if (matches && (!secure || url.protocol === 'https:')) values.push(value);
      }
      const header = values.join('; ');
      return values.length === 0 || header.length > charsMax ? (callers ?? null) : header;
    },
  };
}

/** `domain` has a dot: a cookie for all of `com` is nobody's. */
function isWithin(host: string, domain: string): boolean {
  return host === domain || (domain.includes('.') && host.endsWith(`.${domain}`));
}
