import { hash } from 'node:crypto';

/** What decides the meaning of a question. Two questions may share an answer only where both members are equal. */
export interface DecidingParts {
  /** Numbers, names, codes, quotations and signs, in their order: another order is another question. */
  ordered: readonly string[];
  /** All other words but common ones, in their order too: negations, units, languages, and whatever nobody knows. */
  words: readonly string[];
}

/** Longer questions are not compared, so that nothing waits for it. */
export const questionCharsMax = 8_000;

/**
 * The difference check. Only words that change nothing wherever they are count as common, and only in English: of
 * other languages every word decides, so that few of their questions are alike.
 */
export function decidingParts(text: string): DecidingParts {
  const ordered: string[] = [];
  const words: string[] = [];
  let isStart = true;
  for (const [piece] of plain(text).matchAll(pieces)) {
    if (piece === '\n') isStart = true;
    else if (/^["`]./.test(piece) || /^'.*'$/.test(piece)) ordered.push(`=${piece}`);
    else if (/:\/\/|.@.|\\/.test(piece)) ordered.push(`=${piece.replace(/[.,;:!?)]+$/, '')}`);
    else
      for (const [token] of piece.matchAll(tokens)) {
        if (/^[\p{L}\p{M}\d]/u.test(token)) takeToken(token, isStart, ordered, words);
        else if (!/^[.:!?…。]/.test(token)) ordered.push(token);
        isStart = /^[.:!?…。]/.test(token);
      }
  }
  return { ordered, words };
}

/** Equal where both members are, in bytes; it does not tell the text. */
export function decidingDigest(text: string): string {
  const { ordered, words } = decidingParts(text);
  return hash('sha256', JSON.stringify([ordered, words]), 'base64url');
}

/** In one spelling: widths, quotation marks, digits of all scripts, short forms. */
function plain(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[‘’ʼ′]/g, "'")
    .replaceAll(/[“”„‟«»]/g, '"')
    .replaceAll(/\p{Nd}/gu, (digit) => String(digitOf(digit)))
    .replaceAll(/\b(ca)nnot\b/gi, '$1n not')
    .replaceAll(/\b(ca|wo|sha)n't\b/gi, (_, verb: string) => `${fullVerbs[verb.toLowerCase()]} not`)
    .replaceAll(/(?<=\p{L})n't\b/giu, ' not')
    .replaceAll(/(?<=\p{L})'(?:m|re|s|ve)\b/giu, '')
    .replaceAll(/(?<=\p{L})'ll\b/giu, ' will');
}

const fullVerbs: Readonly<Record<string, string>> = { ca: 'can', wo: 'will', sha: 'shall' };

/** Digits of a script follow one another, from its zero on. */
function digitOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return (code - zero) % 10;
}

/** Quotations and code, which are compared as they are; ends of lines; and what is between spaces. */
const pieces = /"[^"\n]{1,400}"|`[^`\n]{1,400}`|(?<![^\s])'[^'\n]{2,400}'(?![^\s.,;:!?)])|\n|[^\s]+/g;

/** Words, numbers and codes; ends of sentences, after which a capital shows no name; and what is neither a letter nor a usual mark, such as `+` or an emoji. */
const tokens =
  /[\p{L}\p{M}\d]+(?:(?:[._/:-]|(?<=\d),(?=\d))[\p{L}\p{M}\d]+)*|[.:!?…。]+|[^\p{L}\p{M}\d.,;:!?…。、()'"¿¡]/gu;

function takeToken(token: string, isStart: boolean, ordered: string[], words: string[]): void {
  const [, number, unit = ''] = token.match(/^(\d+(?:[.,]\d+)*)(\p{L}{0,3})$/u) ?? [];
  if (number !== undefined) {
    ordered.push(`#${number}`);
    if (unit !== '') words.push(unit);
  } else if (/^[\p{L}\p{M}]+$/u.test(token)) takeWord(token, isStart, ordered, words);
  else ordered.push(`=${token}`);
}

function takeWord(written: string, isStart: boolean, ordered: string[], words: string[]): void {
  const word = written.toLowerCase();
  const number = numberWords.get(word);
  if (number !== undefined) ordered.push(`#${number}`);
  else if (/^\p{Lu}{2,}$/u.test(written) || (!isStart && /^\p{Lu}/u.test(written) && word !== 'i')) {
    ordered.push(`@${written}`);
  } else if (!common.has(word)) words.push(word);
}

const numberWords: ReadonlyMap<string, number> = new Map([
  ...'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
    .split(' ')
    .map((word, at) => [word, at] as const),
  ...'twenty thirty forty fifty sixty seventy eighty ninety'
    .split(' ')
    .map((word, at) => [word, 20 + 10 * at] as const),
]);

/**
 * Words that decide nothing. Those that do are left out however usual they are: `not`, `or`, `all`, `how`, `who`,
 * `when`, `from`, `before`, `more`, `should`, `was`, `he`, `your`.
 */
const common: ReadonlySet<string> = new Set(
  [
    'a an the i me my you',
    'am is are be do does doing can could would',
    'please pls kindly hi hello hey thanks thank',
    'tell know want like need just so well also really actually',
    'what of to for it there that this',
    've ll re s m d',
  ].flatMap((line) => line.split(' ')),
);
