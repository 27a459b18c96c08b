import type { Language } from './other-languages.ts';
import { stemEnglish } from './stem-english.ts';
import { englishStopWords } from './stop-words-english.ts';

/** Languages that Qdrant stems, with another name of each. Stems are the Snowball project's, as Qdrant's are. */
const codes = {
  arabic: 'ar',
  armenian: 'hy',
  danish: 'da',
  dutch: 'nl',
  english: 'en',
  finnish: 'fi',
  french: 'fr',
  german: 'de',
  greek: 'el',
  hungarian: 'hu',
  italian: 'it',
  norwegian: 'no',
  portuguese: 'pt',
  romanian: 'ro',
  russian: 'ru',
  spanish: 'es',
  swedish: 'sv',
  tamil: 'ta',
  turkish: 'tr',
} as const;

export type LanguageName = keyof typeof codes;
type OtherLanguage = Exclude<LanguageName, 'english'>;
export const languageNames = Object.keys(codes) as LanguageName[];

const english: Language = { stem: stemEnglish, stopWords: englishStopWords };
let others: Readonly<Record<OtherLanguage, Language>> | null = null;

/** A needed language is not loaded yet. Only `withLanguages` handles it. */
class NotLoaded extends Error {}

/**
 * Runs `work`, and runs it again once languages are loaded if it turns out to need them. Code that reads texts cannot
 * wait, and most calls need none. Work that throws must have done nothing.
 */
export async function withLanguages<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NotLoaded)) throw error;
    others ??= (await import('./other-languages.ts')).otherLanguages;
    return await work();
  }
}

/** Only within `withLanguages`. */
export function languageOf(name: LanguageName): Language {
  if (name === 'english') return english;
  if (others === null) throw new NotLoaded();
  return others[name];
}

/** By its name or its code, in any case; null when it is not here. */
export function languageNamed(text: string): LanguageName | null {
  const lowered = text.toLowerCase();
  return languageNames.find((name) => name === lowered || codes[name] === lowered) ?? null;
}

/** Longer words are of no language; some stemmers take the square of a word's length. */
const stemmedCharsMax = 256;

export function stemOf(word: string, language: LanguageName): string {
  return word.length > stemmedCharsMax ? word : languageOf(language).stem(word);
}
