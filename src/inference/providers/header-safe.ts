/**
 * True for a value that may stand in a header as it is: 1–8,192 characters of visible ASCII, space and tab.
 * CR, LF, NUL and everything above ASCII are refused, so no value can begin a header of its own (S23).
 */
export function printable(value: string): boolean {
  const { length } = value;
  if (length === 0 || length > headerValueCharsMax) return false;
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    if ((code < 0x20 && code !== 0x09) || code > 0x7e) return false;
  }
  return true;
}

const headerValueCharsMax = 8_192;
