/**
 * Whole lines of name, colon, value. No folded lines, no bare CR or LF, no blank before the colon: what two readers could
 * read differently is no answer.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not stand there.
const fieldLines = /^(?:[\w!#$%&'*+.^`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*$/;
const framing = /^(?:content-length|transfer-encoding):/im;

/** Headers, each line with its CRLF; one character a byte. */
export function areFieldLines(text: string): boolean {
  return fieldLines.test(text);
}

/** Trailers: the same, and nothing that would move the end of a body that has ended (RFC 9110 §6.5.1). */
export function areTrailerLines(text: string): boolean {
  return fieldLines.test(text) && !framing.test(text);
}
