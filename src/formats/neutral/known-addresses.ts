import { isObject, type JsonValue } from '../../kernel/json.ts';

/** Source of an address: the caller, a tool of the caller's, or a tool that a server ran. */
export type AddressSource = 'user' | 'client' | 'server';

const bracketsMax = 8;
const closing = /[.,;:!?)\]}'"»”*_]$/;
/** With its scheme, or a host as people write it. It begins nowhere inside a word, so that a long one is read once. */
const address =
  /https?:\/\/[^\s<>"'`\\]+|(?<![\p{L}\d.@-])(?:[\p{L}\d][\p{L}\d-]{0,62}\.)+\p{L}[\p{L}\d-]{1,62}(?![\p{L}\d-])(?::\d{1,5})?(?:[/?#][^\s<>"'`\\]*)?/giu;

/**
 * An address as two are compared: host, path and query, without the scheme, the fragment and a last slash. Null for one
 * that is not of the web, or holds credentials: these would be a message to the one who is asked.
 */
export function addressKey(text: string): string | null {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null;
  return url.host + url.pathname.replace(/\/$/, '') + url.search;
}

/** Adds the keys of all addresses in the texts of a value, however deep. */
export function addAddresses(value: JsonValue | undefined, known: Set<string>): void {
  if (typeof value === 'string') addOfText(value, known);
  else if (Array.isArray(value)) for (const one of value) addAddresses(one, known);
  else if (isObject(value)) for (const one of Object.values(value)) addAddresses(one, known);
}

/** Which end belongs to the sentence and which to the address, nobody can tell: both are known. */
function addOfText(text: string, known: Set<string>): void {
  for (const [found] of text.matchAll(address)) {
    let rest = found;
    for (let cut = 0; cut <= bracketsMax; cut++) {
      const key = addressKey(rest);
      if (key !== null) known.add(key);
      if (!closing.test(rest)) break;
      rest = rest.slice(0, -1);
    }
  }
}
