import { francAll } from 'franc-min';
import type { Check, Finding, Rule } from '../check.ts';
import type { Language } from '../kinds.ts';

/** ISO 639-3 of what the detector knows, by ISO 639-1. */
const threeLetters: Readonly<Record<Language, string>> = {
  ...{ am: 'amh', ar: 'arb', az: 'azj', be: 'bel', bg: 'bul', bn: 'ben', bs: 'bos', cs: 'ces', de: 'deu', el: 'ell' },
  ...{ en: 'eng', es: 'spa', fa: 'pes', fr: 'fra', gu: 'guj', ha: 'hau', hi: 'hin', hr: 'hrv', hu: 'hun', id: 'ind' },
  ...{ ig: 'ibo', it: 'ita', ja: 'jpn', kk: 'kaz', kn: 'kan', ko: 'kor', ml: 'mal', mr: 'mar', my: 'mya', ne: 'npi' },
  ...{ nl: 'nld', pa: 'pan', pl: 'pol', pt: 'por', ro: 'ron', ru: 'rus', si: 'sin', so: 'som', sr: 'srp', sv: 'swe' },
  ...{ sw: 'swh', ta: 'tam', te: 'tel', th: 'tha', tl: 'tgl', tr: 'tur', uk: 'ukr', ur: 'urd', uz: 'uzn', vi: 'vie' },
  ...{ yo: 'yor', zh: 'cmn', zu: 'zul' },
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
  const taken = new Set(allowed.map((language) => threeLetters[language]));
  const rule: Rule = {
    longest: partChars,
    next(text, from) {
      for (let start = from; start < text.length; ) {
        const end = partEnd(text, start);
        if (isOther(text.slice(start, Math.min(end, start + judgedChars)), taken))
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

/** The end of the part that begins at `start`: behind its line, or after so many characters. */
function partEnd(text: string, start: number): number {
  const line = text.indexOf('\n', start);
  return Math.min(text.length, start + partChars, line === -1 ? text.length : line + 1);
}

function isOther(part: string, taken: ReadonlySet<string>): boolean {
  const letters = part.match(/\p{L}|\p{M}/gu)?.length ?? 0;
  const unspaced = part.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0;
  if (letters < lettersMin && unspaced < signsMin) return false;
  if (letters < lettersShare * part.replace(/\s+/g, '').length) return false;
  const found = francAll(part, { only, minLength: 1 });
  const [best] = found;
  if (best === undefined || best[0] === 'und' || taken.has(best[0])) return false;
  return !found.some(([language, score]) => taken.has(language) && score >= nearly);
}
