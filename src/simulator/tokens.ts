/**
 * Our own measure of a token, so that usage can be checked by hand: a word of up to 8 letters or digits with the blank
 * before it, or any other single character.
 */
const wordCharsMax = 8;

function tokenEnd(text: string, at: number): number {
  let end = at;
  if (text.charCodeAt(end) === 0x20 && end + 1 < text.length) end += 1;
  const code = text.charCodeAt(end);
  // Never splits a surrogate pair: half a character is not text.
  if (!isWordCode(code)) return end + (code >= 0xd800 && code < 0xdc00 && end + 1 < text.length ? 2 : 1);
  const wordEnd = end + wordCharsMax;
  while (end < wordEnd && end < text.length && isWordCode(text.charCodeAt(end))) end += 1;
  return end;
}

function isWordCode(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0xc0 && code < 0x250)
  );
}

export function countTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = tokenEnd(text, at)) count += 1;
  return count;
}

export function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = tokenEnd(text, at);
    tokens.push(text.slice(at, end));
    at = end;
  }
  return tokens;
}

/** The text's first `max` tokens; the text itself when it has no more. */
export function firstTokens(text: string, max: number): string {
  let at = 0;
  for (let count = 0; count < max && at < text.length; count += 1) at = tokenEnd(text, at);
  return at >= text.length ? text : text.slice(0, at);
}

/** `tokens` as at most `parts` groups of almost equal size, in order. */
export function grouped(tokens: readonly string[], parts: number): string[][] {
  if (parts >= tokens.length) return tokens.map((token) => [token]);
  const groups: string[][] = [];
  for (let part = 0; part < parts; part += 1) {
    groups.push(
      tokens.slice(Math.floor((part * tokens.length) / parts), Math.floor(((part + 1) * tokens.length) / parts)),
    );
  }
  return groups;
}
