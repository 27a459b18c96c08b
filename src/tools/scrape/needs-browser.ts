/** Bytes to look at: the beginning decides. */
const headBytesMax = 256 * 1024;
/** A page with this much text without its scripts is read as it is. */
const enoughChars = 200;
/** Less is a title or "Loading…". */
const emptyChars = 25;

/** Where frameworks put a page that scripts write: ids, and elements with telling names. */
const emptyRoots = /\bid\s*=\s*["']?(?:root|app|__next|__nuxt|___gatsby|svelte|q-app|react-root|main-app)["'\s/]?/;
const rootElements = /^(?:app-root|ion-app|my-app)\b/;
const notShown = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'iframe', 'textarea']);
const isData = /\btype\s*=\s*["']?application\/(?:ld\+)?json/;

/**
 * Whether scripts most likely write the page, so that without a browser there is next to nothing of it. It must carry a
 * script and show fewer than 200 letters. It must also have an empty element where frameworks write (`#root`, `#app`,
 * `<app-root>`…), or ask for JavaScript in `<noscript>`, or show hardly a word. A short page without these signs is
 * just a short page. `body`: HTML in any charset, because the signs are ASCII.
 */
export function needsBrowser(body: Buffer): boolean {
  const html = body.subarray(0, headBytesMax).toString('latin1').toLowerCase();
  let scripts = 0;
  let chars = 0;
  let needed = false;
  // One pass, each step from where the last ended: a hostile page costs no more than a good one.
  for (let at = 0; at < html.length && chars < enoughChars; ) {
    const opens = html.indexOf('<', at);
    chars += lettersIn(html.slice(at, opens === -1 ? undefined : opens));
    if (opens === -1) break;
    const closes = html.startsWith('<!--', opens) ? html.indexOf('-->', opens) + 2 : html.indexOf('>', opens);
    if (closes < opens) break;
    at = closes + 1;
    const tag = html.slice(opens + 1, Math.min(closes, opens + 500));
    const name = /^[a-z][\w-]*/.exec(tag)?.[0] ?? '';
    if ((rootElements.test(tag) || emptyRoots.test(tag)) && isEmptyAt(html, at)) needed = true;
    if (!notShown.has(name)) continue;
    const end = html.indexOf(`</${name}`, at);
    const inner = html.slice(at, end === -1 ? undefined : end);
    if (name === 'script' && !isData.test(tag)) scripts += 1;
    if (name === 'head') scripts += inner.includes('<script') ? 1 : 0;
    if (name === 'noscript' && inner.includes('javascript')) needed = true;
    if (end === -1) break;
    at = end;
  }
  return scripts > 0 && chars < enoughChars && (needed || chars < emptyChars);
}

/** Only spaces and a comment before the element ends. */
function isEmptyAt(html: string, at: number): boolean {
  return /^\s*(?:<!--[^>]{0,200}-->\s*)?<\//.test(html.slice(at, at + 400));
}

function lettersIn(text: string): number {
  return text.replace(/&[a-z#0-9]{1,10};|\s+/g, '').length;
}
