/** The end of JSON before a bare number, and its beginning after one. */
const beforeNumber = /[:,[]\s*$/;
const afterNumber = /^\s*(?:[,\]}]|$)/;
/** Characters that are looked at on each side. */
const besideChars = 32;

/** Whether a text may be JSON, so that a word in the place of a number needs quotes. */
export const mayBeJson = (text: string) => /^\s*[{[]/.test(text);

/** Where a finding ends in a text that may be JSON, and the quotes that a word needs in its place. */
export function placeInJson(
  text: string,
  { start, end }: { start: number; end: number },
): { end: number; quote: string } {
  const before = text.slice(Math.max(0, start - besideChars), start);
  const isNumber = /^\d+$/.test(text.slice(start, end));
  if (isNumber && beforeNumber.test(before) && afterNumber.test(text.slice(end, end + besideChars))) {
    return { end, quote: '"' };
  }
  // A quotation mark behind a backslash does not end the string: without the backslash, it would.
  const slashes = /(?<!\\)\\*$/.exec(text.slice(start, end))?.[0].length ?? 0;
  return { end: end - (slashes % 2), quote: '' };
}
