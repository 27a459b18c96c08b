import { stemEnglish } from './stem-english.ts';
import { englishStopWords } from './stop-words-english.ts';

/** How a text is taken apart, in Qdrant's words. */
export interface TextOptions {
  tokenizer: 'word' | 'whitespace';
  lowercase: boolean;
  asciiFolding: boolean;
  /** Terms that are left out, in lower case where texts are. */
  stopWords: ReadonlySet<string>;
  stemmer: 'english' | null;
  /** Characters of a term; infinite, or 0, where there is no bound. */
  minLength: number;
  maxLength: number;
}

export const englishText: TextOptions = {
  tokenizer: 'word',
  lowercase: true,
  asciiFolding: false,
  stopWords: englishStopWords,
  stemmer: 'english',
  minLength: 0,
  maxLength: Number.POSITIVE_INFINITY,
};

/** The terms of a text in order, as often as they stand there. */
export function termsOf(text: string, options: TextOptions): string[] {
  const terms: string[] = [];
  const words = options.tokenizer === 'word' ? /[\p{Alphabetic}\p{N}]+/gu : /\S+/gu;
  for (const [word] of text.matchAll(words)) {
    let term = options.asciiFolding ? folded(word) : word;
    if (options.lowercase) term = term.toLowerCase();
    if (options.stopWords.has(term)) continue;
    if (options.stemmer === 'english') term = stemEnglish(term);
    const length = [...term].length;
    if (length >= options.minLength && length <= options.maxLength) terms.push(term);
  }
  return terms;
}

/** Letters with accents as those without: what Unicode takes apart. */
function folded(word: string): string {
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '').normalize('NFC');
}
