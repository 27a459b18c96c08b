import { type Failure, invalid } from '../../../kernel/failure.ts';
import { uriText } from '../../../kernel/web/uri-text.ts';

/** Characters that a path may hold as they are; all others are percent-encoded. */
const segmentPattern = /^[\w.~!$&'()*+,;=:@%-]*$/;
/** A server may decode a path more than once. */
const decodingsMax = 4;

/**
 * The path below a provider's base URL, `/` first, as it was written. A Failure (400) for one that could lead a server
 * anywhere else: dots, slashes, backslashes and control characters, however often they are encoded.
 */
export function safePath(path: string): string | Failure {
  const segments = path.split('/').slice(1);
  const wrong = segments.find((segment, at) => !isSafe(segment, at === segments.length - 1 && at > 0));
  if (wrong === undefined) return path;
  const message = `The path has a part that is not passed on: '${wrong.slice(0, 100)}'. Write it without '.', '..' and empty parts, and without encoded slashes.`;
  return invalid(null, message);
}

function isSafe(segment: string, mayBeEmpty: boolean): boolean {
  if (segment === '') return mayBeEmpty;
  if (!segmentPattern.test(segment)) return false;
  let text = segment;
  for (let times = 0; times < decodingsMax; times += 1) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not pass
    if (/[/\\\u0000-\u001f\u007f]/.test(text) || /^\.{1,2}(?:;|$)/.test(text)) return false;
    let decoded: string;
    try {
      decoded = decodeURIComponent(text);
    } catch {
      // A sign alone is the caller's; a server that reads bytes decodes the rest all the same.
      return times > 0 && !/%[\da-f]{2}/i.test(text);
    }
    if (decoded === text) return true;
    text = decoded;
  }
  return false;
}

/** Parameters by which services take keys: a caller's own is Culvert's, and stays here. */
const keyParameter = /^(?:key|api[-_]?key|access[-_]?token|token)$/i;

/** The query, without a `?`, as it was written but for parameters that may hold a key. */
export function safeQuery(search: string): string {
  const safe = search.split('&').filter((pair) => !keyParameter.test(uriText(pair.split('=', 1)[0] ?? '')));
  return safe.join('&').replace(/[^\x21-\x7e]|#/g, encodeURIComponent);
}
