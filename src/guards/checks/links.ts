import type { Check, Finding, Rule } from '../check.ts';
import type { LinkKind } from '../kinds.ts';

/** Where an address can begin: one that says its scheme, and the places of Markdown, HTML and CSS that hold one. */
const places =
  /:\/\/|\bwww\.|\]\(|\]:|(?:src|srcset|href|data|background|poster)[ \t]{0,3}=|(?:url|image-set)\(|,\s{0,3}["']?(?=[\\/]{2})/gi;
const schemes = /^(?:https?|wss?|ftp):$/;
/** Before `://`; what has another scheme, or none, is no address of a host. */
const known = /^(?:https?|wss?|ftp|javascript)$/i;
const addressChars = 2_048;
/** Between the place and its address. */
const gapChars = 4;
const placeChars = 16;
/** How far back a `![` or `src` is looked for. */
const pictureChars = 60;
/** Beginning of an address, in which its host must end. */
const headChars = 300;
/** The beginning of what can have a host: a scheme, two slashes of either kind, `www.`, or one of them written otherwise. */
const hosted = /[^\w&\\/]{0,4}(?:[a-z][a-z\d+.-]{0,15}[:&\\]|[\\/]{2}|[\\/]?&|www\.|\\)/iy;
const sentenceEnd = /(?<![.,;:!?])[.,;:!?]+$/;
const openHost = /^(?:[a-z][a-z\d+.-]*:)?[\\/]{2}[^\\/?#]*$/i;
/** A page of a scheme that no address of a caller has: `https:a.example` is a path in a page of https, and a host in others. */
const relative = 'ftp://relative.invalid/';

/** A rule for addresses of hosts that are not `hosts` or below them. A picture is one that programs load unasked. */
export function links(kinds: readonly LinkKind[], hosts: readonly string[]): Check {
  const allowed = new Set(hosts.map((host) => host.toLowerCase()));
  const rule: Rule = {
    longest: addressChars + placeChars + gapChars,
    of: 'escaped',
    next(text, from) {
      places.lastIndex = Math.max(0, from - placeChars - gapChars);
      for (let place = places.exec(text); place !== null; place = places.exec(text)) {
        const start = startOf(text, place.index, place[0]);
        if (start < from || (place[0] === '://' && !known.test(text.slice(start, place.index)))) continue;
        const found = linkAt(text, start, allowed);
        // Behind a comma, two slashes begin an address in a list of pictures, and a remark elsewhere.
        const isRemark = place[0].startsWith(',') && found?.kind !== 'picture';
        if (found !== null && !isRemark && kinds.includes(found.kind as LinkKind)) return found;
      }
      return null;
    },
    open(text, from) {
      const least = Math.max(from, text.length - addressChars - placeChars - gapChars);
      const beginOf = (last: RegExp) => {
        let open = text.length;
        while (open > least && !last.test(text.charAt(open - 1))) open--;
        return open;
      };
      const quoted = beginOf(endsQuoted);
      return isQuoted(text, quoted) ? quoted : beginOf(ends);
    },
  };
  return [rule];
}

const ends = /[\s<>"'`)]/;
const endsQuoted = /[ <>"'`)]/;

function isQuoted(text: string, start: number): boolean {
  return /["'`]\s{0,4}$/.test(text.slice(Math.max(0, start - gapChars - 1), start));
}

function startOf(text: string, index: number, place: string): number {
  if (place === '://') {
    let start = index;
    while (start > 0 && index - start < placeChars && /[a-z\d+.-]/i.test(text.charAt(start - 1))) start--;
    return start;
  }
  if (place.toLowerCase() === 'www.') return index;
  let start = index + place.length;
  while (start - index - place.length < gapChars && /[\s<"'`]/.test(text.charAt(start))) start++;
  return start;
}

function linkAt(text: string, start: number, allowed: ReadonlySet<string>): Finding | null {
  // Browsers leave tabs and line breaks out of an address in quotation marks.
  const last = isQuoted(text, start) ? endsQuoted : ends;
  const endWithin = (chars: number) => {
    let end = start;
    while (end < text.length && end - start < chars && !last.test(text.charAt(end))) end++;
    return end;
  };
  // A few characters tell most places from addresses, and the host is near the beginning of the others.
  hosted.lastIndex = start;
  if (last === ends && !hosted.test(text)) return null;
  const head = text.slice(start, endWithin(headChars)).replace(/[\t\n\r]/g, '');
  hosted.lastIndex = 0;
  if (!hosted.test(head)) return null;
  const address = withoutEntities(head.replace(sentenceEnd, '')).replace(/^["'`]/, '');
  // Markdown takes a backslash before a sign away, and to a browser it is a slash.
  const hosts = new Set([hostOf(address.replace(/\\(?=[:/.?#&_-])/g, '')), hostOf(address)]);
  if (![...hosts].some((host) => host !== null && !isAllowed(host, allowed))) return null;
  let end = endWithin(addressChars);
  // The end of a sentence, and not of its address.
  while (end > start && sentenceEnd.test(text.charAt(end - 1))) end--;
  const before = text.slice(Math.max(0, start - pictureChars), start);
  return { kind: isPicture(before) ? 'picture' : 'link', start, end };
}

/** The host that a browser would ask; null: no address of another host. '' : a script. */
function hostOf(address: string): string | null {
  // Longer than any name of a host.
  if (address.length > headChars - 20 && openHost.test(address)) return '';
  const full = /^www\./i.test(address) ? `https://${address}` : address;
  try {
    const { protocol, hostname } = new URL(full, relative);
    if (protocol === 'javascript:') return '';
    return schemes.test(protocol) && hostname !== 'relative.invalid' ? hostname : null;
  } catch {
    // Broken for us, and perhaps not for the reader's program.
    return /^[\\/]{2}|:\/\//.test(address) ? '' : null;
  }
}

function withoutEntities(address: string): string {
  return address.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(colon|sol|bsol|period|amp|quot|apos));?/gi,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return named[String(name).toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}

const named: Record<string, string> = { colon: ':', sol: '/', bsol: '\\', period: '.', amp: '&', quot: '"', apos: "'" };

function isAllowed(host: string, allowed: ReadonlySet<string>): boolean {
  const labels = host.toLowerCase().replace(/\.$/, '').split('.');
  return labels.some((_, at) => allowed.has(labels.slice(at).join('.')));
}

/** Members and orders by which a page loads an address at once; `href` is one of some elements. */
const pictureMember = new RegExp(
  `(?:(?:src|data|background|poster|;\\s{0,3}url|<(?:link|base|image|use|feimage)\\s[^<>]{0,50}href)\\s{0,3}=\\s{0,3}|url\\(\\s{0,3}|@import\\s{1,3})["'\`]?\\s{0,40}$` +
    '|(?:srcset\\s{0,3}=|image-set\\()[^<>]{0,50}$|\\]:\\s{0,3}<?$',
  'i',
);

/** By what is before an address; where the text of a link is too long to see its beginning, it counts as one. */
function isPicture(before: string): boolean {
  if (pictureMember.test(before)) return true;
  const link = /\]\(\s{0,4}<?$/.exec(before);
  if (link === null) return false;
  const opened = before.slice(0, link.index).lastIndexOf('[');
  return opened === -1 || before[opened - 1] === '!';
}
