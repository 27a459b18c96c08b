import { hash } from 'node:crypto';
import { type AskingLanguage, hiddenLanguages, questionIn } from './asking-phrases.ts';

/** Parts that decide the meaning of a question. Two questions may share an answer only where both members are equal. */
export interface DecidingParts {
  /** Numbers, names, codes, quotations and signs, in their order: another order is another question. */
  ordered: readonly string[];
  /**
   * All other words but common ones, in their order too: negations, units, languages, and whatever nobody knows. ''
   * is the place of one of `ordered`: "Which firms Google owns" are others than "Which firms own Google".
   */
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
  for (const { 0: piece, index: place } of text.matchAll(pieces)) {
    if (piece === '\n') taken.isStart = true;
    else if (/^["`]./.test(piece) || /^'.*'$/.test(piece)) takeExact(`=${piece}`, taken);
    else if (/:\/\/|.@.|\\/.test(piece)) takeExact(`=${piece.replace(/(?<![.,;:!?)])[.,;:!?)]+$/, '')}`, taken);
    else
      for (const { 0: token, index } of piece.matchAll(tokens)) {
        // "5!" is 120, and no cry; ".5" is half of one.
        const isSign =
          (token === '!' && /[\d)]/.test(piece.charAt(index - 1))) ||
          (token === '.' && /[\p{L}\d]/u.test(piece.charAt(index + 1)));
        const isEnd = /^[.:!?…。]/.test(token) && !isSign;
        // An article has a word behind it: "hepatitis a".
        const isName = token === 'a' && !/^\s+\S/.test(text.slice(place + index + 1));
        if (languages !== undefined && !isName && isCommon(token, taken)) {
          languages.push(['en']);
          // "Is it open" asks, and "it is open" says so.
          if (taken.isStart && /^(?:is|are)$/i.test(token)) taken.words.push('?');
        } else if (/^[\p{L}\p{M}\d]/u.test(token)) takeToken(token, taken);
        else if (!isEnd) takeExact(token, taken);
        taken.isStart = isEnd;
      }
  }
}

function takeExact(piece: string, { ordered, words }: Taken): void {
  ordered.push(piece);
  words.push('');
}

/** A capital within a sentence shows a name, as in "hepatitis A" and "The Who". */
function isCommon(token: string, { isStart }: Taken): boolean {
  const word = token.toLowerCase();
  return common.has(word) && (token === word || (isStart && !/^\p{Lu}{2}/u.test(token)));
}

/** Equal where both members are, in bytes; it does not tell the text. */
export function decidingDigest(text: string): string {
  const { ordered, words } = decidingParts(text);
  return hash('sha256', JSON.stringify([ordered, words]), 'base64url');
}

/** In one spelling: widths, quotation marks, digits of all scripts, short forms. */
function plain(text: string): string {
  return (
    text
      .replaceAll(raised, ' ^$&')
      .replaceAll(formula, (digits) => digits.normalize('NFKC'))
      .replaceAll(lowered, ' _$&')
      .replaceAll(/(?<=\d)[¼-¾⅐-⅞]/g, ' $&')
      .normalize('NFKC')
      // But for tags, which tell flags apart.
      .replaceAll(/[\p{Cf}--[\u{e0020}-\u{e007f}]]/gv, '')
      .replaceAll(/[‘’ʼ′]/g, "'")
      .replaceAll(/[“”„‟«»]/g, '"')
      .replaceAll(/\p{Nd}/gu, (digit) => String(digitOf(digit)))
      .replaceAll(/\b(ca)nnot\b/gi, '$1n not')
      .replaceAll(/\b(ca|wo|sha)n't\b/gi, (_, verb: string) => `${fullVerbs[verb.toLowerCase()]} not`)
      .replaceAll(/(?<=\p{L})n't\b/giu, ' not')
      .replaceAll(/(?<=\p{L})'(?:re|s)\b/giu, '')
      .replaceAll(/(?<=\p{L})'m\b/giu, ' am')
      .replaceAll(/(?<=\p{L})'ve\b/giu, ' have')
      .replaceAll(/(?<=\p{L})'ll\b/giu, ' will')
      .replaceAll(/\ba (?=few\b|little\b)/gi, 'a-')
  );
}

/** Digits and signs of powers and of indices, which would be digits of the number before them. */
const [raised, lowered] = [/[²³¹⁰-⁹⁺-⁾]+/g, /[₀-₉₊-₎]+/g];
/** Indices of a formula: "CO₂" is written "CO2" too, where no digit follows. */
const formula = /(?<=\p{Lu}\p{Ll}?)[₀-₉]+(?![\d₀-₎])/gu;

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

/**
 * Words, numbers and codes; signs of feet, inches and factorials; ends of sentences, after which a capital shows no name; and what
 * is neither a letter nor a usual mark, such as `+`, a bracket or an emoji.
 */
const tokens =
  /[\p{L}\p{M}\d]+(?:(?:[._/:-]|(?<=\d),(?=\d))[\p{L}\p{M}\d]+)*|(?<=[\d)])['"!]|[.:!?…。]+|[^\p{L}\p{M}\d.,;:!?…。、'"¿¡]/gu;

function takeToken(token: string, taken: Taken): void {
  const [, number, unit = ''] = token.match(/^(\d+(?:[.,]\d+)*)(\p{L}{0,3})$/u) ?? [];
  if (number !== undefined) {
    takeExact(`#${number}`, taken);
    if (unit !== '') taken.words.push(unit);
  } else if (/^[\p{L}\p{M}]+$/u.test(token)) takeWord(token, taken);
  else takeExact(`=${token}`, taken);
}

function takeWord(written: string, taken: Taken): void {
  const word = written.toLowerCase();
  const number = numberWords.get(word);
  if (number !== undefined) takeExact(`#${number}`, taken);
  else if (/^\p{Lu}{2,}$/u.test(written) || (!taken.isStart && /^\p{Lu}/u.test(written) && word !== 'i')) {
    takeExact(`@${written}`, taken);
  } else taken.words.push(word);
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
 * `who`, `from`, `to`, `before`, `more`, `can`, `do`, `was`, `he`, `you`, `my`, `I`.
 */
const common: ReadonlySet<string> = new Set(['a', 'an', 'the', 'of', 'is', 'are', 'really']);
