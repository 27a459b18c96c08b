import { francAll } from 'franc-min';
import type { Check, Finding, Rule } from '../check.ts';
import type { Language } from '../kinds.ts';

/** ISO 639-3 of what is known, by ISO 639-1. The detector does not know `dan` and `nob`: words and letters show them. */
const threeLetters: Readonly<Record<Language, string>> = {
  am: 'amh',
  ar: 'arb',
  az: 'azj',
  be: 'bel',
  bg: 'bul',
  bn: 'ben',
  bs: 'bos',
  cs: 'ces',
  da: 'dan',
  de: 'deu',
  el: 'ell',
  en: 'eng',
  es: 'spa',
  fa: 'pes',
  fr: 'fra',
  gu: 'guj',
  ha: 'hau',
  hi: 'hin',
  hr: 'hrv',
  hu: 'hun',
  id: 'ind',
  ig: 'ibo',
  it: 'ita',
  ja: 'jpn',
  kk: 'kaz',
  kn: 'kan',
  ko: 'kor',
  ml: 'mal',
  mr: 'mar',
  my: 'mya',
  ne: 'npi',
  nl: 'nld',
  no: 'nob',
  pa: 'pan',
  pl: 'pol',
  pt: 'por',
  ro: 'ron',
  ru: 'rus',
  si: 'sin',
  so: 'som',
  sr: 'srp',
  sv: 'swe',
  sw: 'swh',
  ta: 'tam',
  te: 'tel',
  th: 'tha',
  tl: 'tgl',
  tr: 'tur',
  uk: 'ukr',
  ur: 'urd',
  uz: 'uzn',
  vi: 'vie',
  yo: 'yor',
  zh: 'cmn',
  zu: 'zul',
};
const only = Object.values(threeLetters);
const partChars = 500;
/** A part is judged by its beginning: the work grows with the characters that are looked at. */
const judgedChars = 160;
/** Below, a language is guessed more than seen; signs of Han say more with each. */
const lettersMin = 40;
const signsMin = 8;
/** Share of the characters without spaces that are letters: below, it is code or a table. */
const lettersShare = 0.7;
/** An allowed language that fits nearly as well as the best one is taken. */
const nearly = 0.9;

/**
 * A rule for lines in other languages than `allowed`, by their frequent groups of three letters. A line is judged in
 * parts of at most 500 characters; short parts, and parts that look like code, are in no language.
 */
export function languages(allowed: readonly Language[]): Check {
  const plain = new Set(allowed);
  const taken = new Set(allowed.map((language) => threeLetters[language]));
  const rule: Rule = {
    longest: partChars,
    next(text, from) {
      for (let start = from; start < text.length; ) {
        const end = partEnd(text, start);
        if (isOther(text.slice(start, Math.min(end, start + judgedChars)), taken, plain))
          return { kind: 'language', start, end } satisfies Finding;
        start = end;
      }
      return null;
    },
    open(text, from) {
      let start = from;
      while (start < text.length) {
        const end = partEnd(text, start);
        if (end === text.length && text[end - 1] !== '\n' && end - start < partChars) break;
        start = end;
      }
      return start;
    },
  };
  return [rule];
}

/** The language of a text, where it is long enough to tell; null: it cannot be determined. */
export function languageOf(text: string): Language | null {
  const part = text.slice(0, partChars);
  const { letters, signs, chars } = countsOf(part);
  if ((letters < lettersMin && signs < signsMin) || letters < lettersShare * chars) return null;
  let best: { language: Language | null; words: number } = { language: null, words: 0 };
  for (const language of Object.keys(frequent) as Language[]) {
    const words = plainWords(part, new Set([language]));
    if (words > best.words) best = { language, words };
  }
  if (best.language !== null) return best.language;
  if (ukrainian.test(part)) return 'uk';
  if (scandinavian.test(part)) return null;
  const code = francAll(part.slice(0, judgedChars), { only, minLength: 1 })[0]?.[0];
  const found = Object.entries(threeLetters).find(([, three]) => three === code);
  return (found?.[0] as Language | undefined) ?? null;
}

/** The end of the part that begins at `start`: behind its line, or after so many characters. */
function partEnd(text: string, start: number): number {
  const line = text.indexOf('\n', start);
  return Math.min(text.length, start + partChars, line === -1 ? text.length : line + 1);
}

/**
 * Frequent words that no other of these languages has, except for those that are much alike. A part with enough of those of an allowed language is in it, and
 * costs no look at its groups of letters.
 */
const frequent: Partial<Record<Language, string>> = {
  en: 'the and of that was for with it is this are which from have not they you been',
  de: 'und der das ist nicht mit sich auf für ein eine dass auch werden wird wurde zu von',
  fr: 'les des est dans une qui pour sur pas avec sont aux cette ont mais vous nous elle',
  es: 'los las por del para una con más pero como sus fue este según también muy años',
  it: 'che della di nel per non sono gli alla anche più delle dei stato questo nella',
  pt: 'não uma os dos para com pela mais são foi também pelo às seu sua ao em',
  nl: 'het een van niet zijn voor met aan ook wordt naar hebben deze werd dat bij',
  pl: 'nie się jest na że do przez oraz jego który dla jak została po',
  sv: 'och att det som är av för inte har till den från var också på',
  da: 'og det som af ikke har til på også jeg være blev hvad nogle kun dig ved hvor vil var',
  no: 'og det som av ikke har til på også jeg være ble hva noen etter meg ved hvor vil var',
};
const alike: ReadonlySet<string> = new Set(['sv', 'da', 'no']);
/** Empty: languages that are not alike have the word. */
const wordsIn = new Map<string, readonly Language[]>();
for (const [language, list] of Object.entries(frequent) as [Language, string][]) {
  for (const word of list.split(' ')) {
    const before = wordsIn.get(word);
    const all = [...(before ?? []), language];
    wordsIn.set(word, before === undefined || (before.length > 0 && all.every((one) => alike.has(one))) ? all : []);
  }
}
const frequentMin = 4;
const frequentShare = 0.15;

/** Number of frequent words of these languages; 0 where they do not show that a part is in one of them. */
function plainWords(part: string, allowed: ReadonlySet<Language>): number {
  const words = part.toLowerCase().split(/[^\p{L}]+/u);
  let [right, wrong] = [0, 0];
  for (const word of words) {
    const languages = wordsIn.get(word) ?? [];
    if (languages.length === 0) continue;
    if (languages.some((language) => allowed.has(language))) right += 1;
    else wrong += 1;
  }
  return right >= frequentMin && right >= frequentShare * words.length && right > 4 * wrong ? right : 0;
}

/** Letters, signs of scripts without spaces, and all characters but white space. */
function countsOf(part: string): { letters: number; signs: number; chars: number } {
  let [letters, signs, chars] = [0, 0, 0];
  for (let at = 0; at < part.length; at++) {
    const code = part.charCodeAt(at);
    if (code === 32 || (code >= 9 && code <= 13) || code === 0xa0) continue;
    chars += 1;
    if (code < 128) letters += Number((code | 32) >= 97 && (code | 32) <= 122);
    else if ((code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff)) signs += 1;
    else if (code >= 0xac00 && code <= 0xd7af) signs += 1;
    else letters += Number(code >= 0xc0 && code < 0x2000 && code !== 0xd7 && code !== 0xf7);
  }
  return { letters: letters + signs, signs, chars };
}

/** Letters that none of the other languages has. */
const ukrainian = /[їєґ]/i;
const scandinavian = /[æø]/i;
const danishOrNorwegian: ReadonlySet<Language> = new Set(['da', 'no']);
/** Signs of everyday Chinese that Japanese does not have. */
const chinese = /[們们這这請请吗嗎你她還还沒没为說对时过个]/;

function isOther(part: string, taken: ReadonlySet<string>, allowed: ReadonlySet<Language>): boolean {
  const { letters, signs, chars } = countsOf(part);
  if (letters < lettersMin && signs < signsMin) return false;
  if (letters < lettersShare * chars || plainWords(part, allowed) > 0) return false;
  if (scandinavian.test(part) && (taken.has('dan') || taken.has('nob'))) return false;
  if (/[æøå]/i.test(part) && plainWords(part, danishOrNorwegian) > 0) return true;
  const found = francAll(part, { only, minLength: 1 });
  const [best] = found;
  if (best === undefined || best[0] === 'und' || taken.has(best[0])) return false;
  if (taken.has('ukr') && ukrainian.test(part)) return false;
  // Names and titles in Japanese may have no kana.
  if (taken.has('jpn') && best[0] === 'cmn' && signs < lettersMin && !chinese.test(part)) return false;
  return !found.some(([language, score]) => taken.has(language) && score >= nearly);
}
