/** V8's words for why `text` is no JSON, without the piece that they quote. It names a place only for some errors. */
export function whereJsonFails(error: unknown, text: string): string {
  if (text.trim() === '') return 'it is empty';
  const words = String(error);
  if (words.includes('Unterminated string')) return 'it ends inside a string';
  const position = /at position (\d+)/.exec(words)?.[1];
  if (Number(position) === text.length) return 'it ends too early';
  if (position !== undefined) return `unexpected character at position ${position}`;
  const character = /^SyntaxError: Unexpected token '(.)'/su.exec(words)?.[1];
  if (character === undefined) return 'it ends too early';
  const shown = /^[\x21-\x7e]$/.test(character) ? `'${character}'` : codePointOf(character);
  return `unexpected ${shown}`;
}

/** Such as `U+FEFF`, the byte order mark, which no terminal shows. */
function codePointOf(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
}
