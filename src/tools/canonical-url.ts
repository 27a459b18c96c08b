/** A longer URL is not that of a page. */
const urlCharsMax = 8_192;

/**
 * One spelling for the many of a page: what two links have in common if they lead to the same place. Null when it is
 * no http(s) URL. The scheme is kept: what is the same page over http and https differs here (see `samePageKey`).
 *
 * Dropped: fragment, user, default port, the dot that ends a host, parameters that only tell where a visitor came from,
 * a `?` with nothing behind it. Parameters are ordered by name, those of one name stay in their order.
 */
export function canonicalUrl(text: string, base?: string): string | null {
  if (text.length > urlCharsMax) return null;
  const url = URL.parse(text.trim(), base);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  url.hash = '';
  url.username = '';
  url.password = '';
  const host = url.hostname.replace(/\.+$/, '');
  if (host === '') return null;
  url.hostname = host;
  if (url.search !== '') {
    const parameters = url.search
      .slice(1)
      .split('&')
      .filter((pair) => pair !== '' && !pair.startsWith('utm_') && !tracking.has(nameOf(pair)))
      .sort((a, b) => order(nameOf(a), nameOf(b)));
    // The setter drops one question mark, which may be the first of a name.
    url.search = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
  }
  // `http://host/?` keeps its question mark otherwise.
  return url.search === '' ? `${url.origin}${url.pathname}` : url.href;
}

/**
 * The key under which URLs of one page are equal, though engines and links name it differently: scheme, `www.`, the
 * slash at the end and the file name of a folder's page do not count.
 */
export function samePageKey(canonical: string): string {
  return canonical.replace(/^https?:\/\/(?:www\.)?/, '').replace(/\/(?:index\.(?:html?|php))?(?=$|\?)/, '');
}

/** Whether the URL's host is `domain` or below it. `domain`: a host name in lower case. */
export function isOfDomain(url: string, domain: string): boolean {
  const host = URL.parse(url)?.hostname ?? '';
  return host === domain || host.endsWith(`.${domain}`);
}

const tracking = new Set(
  `gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid
  mc_cid mc_eid _ga _gl srsltid`.split(/\s+/),
);

function nameOf(pair: string): string {
  const at = pair.indexOf('=');
  return at === -1 ? pair : pair.slice(0, at);
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
