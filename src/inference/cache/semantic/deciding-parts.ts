import { hash } from 'node:crypto';
import { type AskingLanguage, hiddenLanguages, questionIn } from './asking-phrases.ts';

/** Parts that decide the meaning of a question. Two questions may share an answer only where both members are equal. */
export interface DecidingParts {
  /** Numbers, names, codes, quotations and signs, in their order: another order is another question. */
  ordered: readonly string[];
  /** All other words but common ones, in their order too: negations, units, languages, and whatever nobody knows. */
  words: readonly string[];
}

/** Longer questions are not compared, so that nothing waits for it. */
export const questionCharsMax = 8_000;

/**
 * The difference check. How a question is asked decides nothing, at its beginning and its end. Only words that change
 * nothing wherever they are count as common, and only English has such: articles of other languages tell genders,
 * numbers and cases apart. In what is asked about, such as a text after a colon, every word decides.
 */
export function decidingParts(text: string): DecidingParts {
  const { before, question, exact, after, languages } = questionIn(plain(text));
  const taken: Taken = { ordered: [], words: [], isStart: true };
  takeText(before, taken);
  if (exact) takeText(question, taken);
  else takeText(shortened(question, languages), taken, languages);
  takeText(after, taken);
  const { ordered, words } = taken;
  // What was left out must not hide in which language a question was asked.
  for (const language of hiddenLanguages(languages, words)) ordered.push(`~${language}`);
  return { ordered, words };
}

interface Taken {
  ordered: string[];
  words: string[];
  /** A capital shows no name. */
  isStart: boolean;
}

/** `languages`: takes it where common words were left out; absent: none is. */
function takeText(text: string, taken: Taken, languages?: AskingLanguage[][]): void {
  for (const [piece] of text.matchAll(pieces)) {
    if (piece === '\n') taken.isStart = true;
    else if (/^["`]./.test(piece) || /^'.*'$/.test(piece)) taken.ordered.push(`=${piece}`);
    else if (/:\/\/|.@.|\\/.test(piece)) taken.ordered.push(`=${piece.replace(/(?<![.,;:!?)])[.,;:!?)]+$/, '')}`);
    else
      for (const [token] of piece.matchAll(tokens)) {
        if (languages !== undefined && common.has(token.toLowerCase())) languages.push(['en']);
        else if (/^[\p{L}\p{M}\d]/u.test(token)) takeToken(token, taken);
        else if (!/^[.:!?…。]/.test(token)) taken.ordered.push(token);
        taken.isStart = /^[.:!?…。]/.test(token);
      }
  }
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
    .replaceAll(/(?<=\p{L})'ll\b/giu, ' will')
    .replaceAll(/\ba (?=few\b|little\b)/gi, 'a-');
}

/** "How do I" and "how to" ask the same. */
function shortened(text: string, languages: AskingLanguage[][]): string {
  return text.replace(/^(\s*how)(?: (?:do|can|could|would) (?:i|we|you)| to)(?= )/i, (_, how: string) => {
    languages.push(['en']);
    return how;
  });
}

const fullVerbs: Readonly<Record<string, string>> = { ca: 'can', wo: 'will', sha: 'shall' };

/** Digits of a script follow one another, from its zero on. */
function digitOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return code - zero;
}

/** Quotations and code, which are compared as they are; ends of lines; and what is between spaces. */
const pieces = /"[^"\n]{1,400}"|`[^`\n]{1,400}`|(?<![^\s])'[^'\n]{2,400}'(?![^\s.,;:!?)])|\n|[^\s]+/g;

/** Words, numbers and codes; ends of sentences, after which a capital shows no name; and what is neither a letter nor a usual mark, such as `+` or an emoji. */
const tokens =
  /[\p{L}\p{M}\d]+(?:(?:[._/:-]|(?<=\d),(?=\d))[\p{L}\p{M}\d]+)*|[.:!?…。]+|[^\p{L}\p{M}\d.,;:!?…。、()'"¿¡]/gu;

function takeToken(token: string, taken: Taken): void {
  const { ordered, words } = taken;
  const [, number, unit = ''] = token.match(/^(\d+(?:[.,]\d+)*)(\p{L}{0,3})$/u) ?? [];
  if (number !== undefined) {
    ordered.push(`#${number}`);
    if (unit !== '') words.push(unit);
  } else if (/^[\p{L}\p{M}]+$/u.test(token)) takeWord(token, taken);
  else ordered.push(`=${token}`);
}

function takeWord(written: string, { ordered, words, isStart }: Taken): void {
  const word = written.toLowerCase();
  const number = numberWords.get(word);
  if (number !== undefined) ordered.push(`#${number}`);
  else if (/^\p{Lu}{2,}$/u.test(written) || (!isStart && /^\p{Lu}/u.test(written) && word !== 'i')) {
    ordered.push(`@${written}`);
  } else words.push(word);
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
 * Words that decide nothing. Those that do are left out however usual they are: `not`, `or`, `all`, `how`, `what`,
 * `who`, `from`, `to`, `before`, `more`, `can`, `was`, `he`, `you`, `my`, `I`.
 */
const common: ReadonlySet<string> = new Set(['a', 'an', 'the', 'of', 'am', 'is', 'are', 'do', 'does', 'really']);
