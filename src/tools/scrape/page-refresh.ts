import { Parser } from 'htmlparser2';
import { decodePage } from '../extract/decode-page.ts';

/** Beginning of a page in which a refresh is looked for. */
const refreshBytesMax = 16 * 1024;
/** A page that waits longer is meant to be read, or to be loaded again now and then. */
const delayMaxSeconds = 5;
/** A page that leads elsewhere by script, and by `<noscript>` without scripts, is hardly larger. */
const stubCharsMax = 4_096;

/**
 * Where a page leads its reader within 5 s by `<meta http-equiv="refresh">`; null: nowhere else. One in `<noscript>`
 * counts only on a small page whose script goes elsewhere too (`location`), since for browsers it is not there.
 */
export function refreshIn(body: Buffer, contentType: string, url: URL): URL | null {
  const html = decodePage(body.subarray(0, refreshBytesMax), contentType);
  if (!/http-equiv\s*=\s*["']?\s*refresh/i.test(html)) return null;
  const isStub = html.length <= stubCharsMax && /<script\b/i.test(html) && /\blocation\b/.test(html);
  let base: string | null = null;
  let target: string | null = null;
  let noscripts = 0;
  const parser = new Parser({
    onopentag(name, { href, 'http-equiv': equivalent, content }) {
      if (name === 'noscript') noscripts += 1;
      if (name === 'base') base ??= href ?? null;
      if (name !== 'meta' || equivalent?.trim().toLowerCase() !== 'refresh') return;
      if (noscripts === 0 || isStub) target ??= targetIn(content ?? '');
    },
    onclosetag(name) {
      if (name === 'noscript') noscripts -= 1;
    },
  });
  parser.end(html);
  if (target === null) return null;
  const to = URL.parse(target, base === null ? url.href : (URL.parse(base, url.href)?.href ?? url.href));
  if (to === null || !/^https?:$/.test(to.protocol)) return null;
  return to.href.replace(/#.*/s, '') === url.href.replace(/#.*/s, '') ? null : to;
}

/** The address in `0; url='/next'`; null: the page is only loaded again, or later than `delayMaxSeconds`. */
function targetIn(content: string): string | null {
  const found = /^\s*(\d{0,9})[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(.+)$/is.exec(content);
  if (found === null || Number(found[1]) > delayMaxSeconds) return null;
  const address = found[2]?.trim() ?? '';
  const quote = address[0];
  const bare = quote === '"' || quote === "'" ? (address.slice(1).split(quote)[0] ?? '') : address;
  return /^(?:url\s*=\s*)?$/i.test(bare) ? null : bare;
}
