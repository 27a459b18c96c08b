/** `letter`: part of a word. `sign`: counts alone. `between`: parts words. */
export type CharClass = 'letter' | 'sign' | 'between';

const letter = /[\p{L}\p{M}\p{N}]/u;
/** Scripts without blanks between words, and Hangul, whose syllables say more than runs of three of them. */
const signs =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

const classes: readonly (CharClass | undefined)[] = [undefined, 'letter', 'sign', 'between'];
/** By code unit, filled as characters come: 0 is not seen yet. */
const seen = new Uint8Array(65_536);

/**
 * Class of a UTF-16 code unit. Both halves of a character beyond 16 bits are signs: rare letters, rare ideographs,
 * emojis.
 */
export function charClass(code: number): CharClass {
  return classes[seen[code]!] ?? look(code);
}

function look(code: number): CharClass {
  const character = String.fromCharCode(code);
  const isSign = (code >= 0xd800 && code <= 0xdfff) || (signs.test(character) && letter.test(character));
  const found = isSign ? 'sign' : letter.test(character) ? 'letter' : 'between';
  seen[code] = classes.indexOf(found);
  return found;
}
