import { type LanguageName, stemOf } from './languages.ts';
import { englishStopWords } from './stop-words-english.ts';

/** How a text is taken apart, in Qdrant's words. */
export interface TextOptions {
  /** `prefix`: as `word`, but the query is the beginning of a word. `multilingual`: as each script divides words. */
  tokenizer: 'word' | 'whitespace' | 'prefix' | 'multilingual';
  lowercase: boolean;
  asciiFolding: boolean;
  /** Terms that are left out, in lower case where texts are. */
  stopWords: ReadonlySet<string>;
  stemmer: LanguageName | null;
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

/** The terms of a text in order, as often as they occur. Only within `withLanguages`. */
export function termsOf(text: string, options: TextOptions): string[] {
  const { tokenizer, stopWords, minLength, maxLength } = options;
  const longest = tokenizer === 'prefix' ? Number.POSITIVE_INFINITY : maxLength;
  const terms: string[] = [];
  for (const word of tokensOf(text, tokenizer)) {
    const plain = withoutCase(word, options);
    if (stopWords.has(plain)) continue;
    const term = stemmed(plain, options);
    const length = [...term].length;
    if (length >= minLength && length <= longest) terms.push(term);
  }
  return terms;
}

/** The same of a text that is looked for. Beginnings of words may be any, stop words too. */
export function queryTermsOf(text: string, options: TextOptions): string[] {
  const { tokenizer, minLength, maxLength } = options;
  if (tokenizer !== 'prefix') return termsOf(text, options);
  const beginnings = Array.from(tokensOf(text, tokenizer), (word) => [...stemmed(withoutCase(word, options), options)]);
  return beginnings.filter(({ length }) => length >= minLength).map((chars) => chars.slice(0, maxLength).join(''));
}

const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

function* tokensOf(text: string, tokenizer: TextOptions['tokenizer']): Generator<string> {
  if (tokenizer === 'multilingual') {
    for (const { segment, isWordLike } of segmenter.segment(text)) {
      // Numbers are not words in Qdrant's tokenizer of that name.
      if (isWordLike && /\p{Alphabetic}/u.test(segment)) yield normalized(segment);
    }
    return;
  }
  const words = tokenizer === 'whitespace' ? /\S+/gu : /[\p{Alphabetic}\p{N}]+/gu;
  for (const [word] of text.matchAll(words)) yield word;
}

/** Letters of scripts whose readers take them for the same with and without their marks. */
const marked = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Hebrew}\p{sc=Arabic}])\p{M}+/gu;

function normalized(text: string): string {
  return text.normalize('NFKD').replaceAll(marked, '$1').normalize('NFC').toLowerCase();
}

function withoutCase(word: string, { asciiFolding, lowercase }: TextOptions): string {
  const plain = asciiFolding ? folded(word) : word;
  return lowercase ? plain.toLowerCase() : plain;
}

function stemmed(word: string, { stemmer }: TextOptions): string {
  return stemmer === null ? word : stemOf(word, stemmer);
}

const markedLatin = /(\p{sc=Latin})\p{M}+/gu;
const foldedLetters = /[ÆæŒœØøŁłĐđÐðÞþßẞı]/g;
const asciiOf: Readonly<Record<string, string>> = Object.fromEntries(
  'Æ:AE æ:ae Œ:OE œ:oe Ø:O ø:o Ł:L ł:l Đ:D đ:d Ð:D ð:d Þ:TH þ:th ß:ss ẞ:SS ı:i'
    .split(' ')
    .map((pair) => pair.split(':')),
);

/** Latin letters as those of ASCII. */
function folded(word: string): string {
  const plain = word.normalize('NFD').replaceAll(markedLatin, '$1').normalize('NFC');
  return plain.replaceAll(foldedLetters, (letter) => asciiOf[letter] ?? letter);
}
