import { isUtf8 } from 'node:buffer';

/**
 * The text that the other side meant by a header. Node reads each byte as a character (latin1). Most programs send text
 * beyond ASCII as UTF-8, and browsers send latin1: bytes that are no UTF-8 stay as Node read them.
 */
export function headerText(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  if (/^[\u0000-\u007f]*$/.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}
