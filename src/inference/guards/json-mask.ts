/** The end of JSON before a bare number, and its beginning after one. */
const beforeNumber = /[:,[]\s*$/;
const afterNumber = /^\s*(?:[,\]}]|$)/;
/** Characters that are looked at on each side. */
const besideChars = 32;

/** Whether a text may be JSON, in which words for numbers need quotes, and values escapes. "[Note]" and "[1]" begin none. */
export const mayBeJson = (text: string) => /^\s*(?:\{|\[\s*(?:[{["\]]|-?[\d.]+\s*(?:,|\]\s*$)))/.test(text);

/** The value that a string of JSON has for what is written in it. */
export function valueIn(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return written;
  }
}

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
