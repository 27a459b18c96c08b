import { looksWhole } from '../event-data.ts';

/** True if the last member `key` has a value that begins with `first`. */
function begins(data: string, key: string, first: string): boolean {
  const at = data.lastIndexOf(key);
  return at >= 0 && data.charAt(valueAt(data, at + key.length)) === first;
}

function valueAt(data: string, afterKey: number): number {
  let at = afterKey;
  while (at < data.length && (data.charCodeAt(at) === 0x3a || data.charCodeAt(at) === 0x20)) at += 1;
  return at;
}

const contentKeys = ['"content"', '"reasoning_content"', '"reasoning"', '"arguments"', '"refusal"', '"data"'];

/** Length of the string value of `key` at `at`; 0 when it is not a string. Escapes cut it short. */
function lengthAfter(data: string, at: number, key: string): number {
  if (at < 0) return 0;
  const start = valueAt(data, at + key.length);
  return data.charCodeAt(start) === 0x22 ? Math.max(0, data.indexOf('"', start + 1) - start - 1) : 0;
}

/**
 * Finds pieces of text in chunks without parsing. The chunks of an answer begin alike, so the places where the last
 * one had its choice and its content are looked at first: a search from the start costs ten times as much.
 *
 * Quotes inside JSON strings are escaped, so `"usage"` with bare quotes is always a key (or a whole string value).
 * `"usage":null` and `"error":null` are in every chunk of some providers and mean nothing.
 */
export class TextFinder {
  #indexAt = 0;
  #contentAt = 0;

  /** Characters of text in a chunk that says nothing else; -1 for a chunk that must be parsed. */
  textLength(data: string): number {
    if (!looksWhole(data)) return -1;
    if (begins(data, '"finish_reason"', '"') || begins(data, '"usage"', '{')) return -1;
    if (!this.#isFirstChoice(data)) return -1;
    if (!data.startsWith('"content"', this.#contentAt)) this.#contentAt = data.indexOf('"content"');
    const text = lengthAfter(data, this.#contentAt, '"content"');
    if (text > 0 && begins(data, '"tool_calls"', '[')) return -1;
    const length = text || this.#contentLength(data);
    // An error comes with no text, or with an empty one; a chunk that was cut at a brace does not close its choices.
    return length <= 0 || data.indexOf(']', this.#contentAt + length) < 0 ? -1 : length;
  }

  /**
   * Other choices are parsed, so that it is known which began; so are chunks that spell the index otherwise. Calls have
   * an index too: the first one is the choice's if it comes before the only `delta`, or if there is no other.
   */
  #isFirstChoice(data: string): boolean {
    if (!data.startsWith('"index":0', this.#indexAt)) this.#indexAt = data.indexOf('"index":');
    const at = this.#indexAt;
    if (!data.startsWith('"index":0', at)) return false;
    if (data.indexOf('"index":', at + 8) < 0) return true;
    const deltaAt = data.indexOf('"delta"');
    return deltaAt > at && data.lastIndexOf('"delta"') === deltaAt;
  }

  /**
   * Characters of the first non-empty piece of content: enough to know that there is some, and roughly how much. -1 for
   * the beginning of a call.
   */
  #contentLength(data: string): number {
    for (const key of contentKeys) {
      const length = lengthAfter(data, data.indexOf(key), key);
      if (length === 0) continue;
      // It must be parsed to get the other name.
      if (key === '"reasoning"' || (key === '"arguments"' && lengthAfter(data, data.indexOf('"name"'), '"name"') > 0))
        return -1;
      return length;
    }
    return 0;
  }
}
