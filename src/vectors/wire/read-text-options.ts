import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import { type Bm25Options, bm25Defaults } from '../text/bm25.ts';
import { type LanguageName, languageNamed, languageNames, languageOf } from '../text/languages.ts';
import type { TextOptions } from '../text/text-terms.ts';
import { optional, readBoolean, readFinite, readList, readString, readWhole, readWord, shown } from './read-scalars.ts';
import { refuseUnsupported } from './unsupported.ts';

const textKeys = ['tokenizer', 'lowercase', 'ascii_folding', 'stopwords', 'stemmer', 'min_token_len', 'max_token_len'];
const stopWordsMax = 1_000;
const termCharsMax = 1_024;

/** `options` of a text for the built-in BM25 model. Throws a FailureError: 400, or 501 for a language that is not here. Only within `withLanguages`. */
export function readBm25Options(json: JsonValue | undefined, at: string): Bm25Options {
  if (optional(json)) return bm25Defaults;
  const body = readObject(json, at, ['k', 'b', 'avg_len', 'language', ...textKeys]);
  const k = optional(body.k) ? bm25Defaults.k : readFinite(body.k, `${at}.k`);
  const b = optional(body.b) ? bm25Defaults.b : readFinite(body.b, `${at}.b`);
  const averageLength = optional(body.avg_len) ? bm25Defaults.averageLength : readFinite(body.avg_len, `${at}.avg_len`);
  if (k < 0) refuse(`${at}.k`, `expected a number from 0 on, got ${k}`);
  if (b < 0 || b > 1) refuse(`${at}.b`, `expected a number from 0 to 1, got ${b}`);
  if (averageLength <= 0) refuse(`${at}.avg_len`, `expected a number above 0, got ${averageLength}`);
  const language = optional(body.language) ? 'english' : readLanguage(body.language, `${at}.language`);
  const text = readText(body, at, language);
  if (text.tokenizer === 'prefix') {
    refuseUnsupported(`${at}.tokenizer`, 'beginnings of words ("prefix") are', 'send "word"');
  }
  return { k, b, averageLength, text };
}

/**
 * Options of a text index: `{type: "text", …}`. By default nothing is stemmed or left out. Only within `withLanguages`.
 */
export function readTextIndex(json: JsonObject, at: string): { options: TextOptions; phrases: boolean } {
  const body = readObject(json, at, ['type', 'on_disk', 'memory', 'enable_hnsw', 'phrase_matching', ...textKeys]);
  const phrases = !optional(body.phrase_matching) && readBoolean(body.phrase_matching, `${at}.phrase_matching`);
  return { options: readText(body, at, null), phrases };
}

/** `language`: language of the default stop words and stems; null: none. */
function readText(body: JsonObject, at: string, language: LanguageName | null): TextOptions {
  const lowercase = optional(body.lowercase) || readBoolean(body.lowercase, `${at}.lowercase`);
  return {
    tokenizer: optional(body.tokenizer) ? 'word' : readWord(body.tokenizer, `${at}.tokenizer`, tokenizers),
    lowercase,
    asciiFolding: !optional(body.ascii_folding) && readBoolean(body.ascii_folding, `${at}.ascii_folding`),
    stopWords: readStopWords(body.stopwords, `${at}.stopwords`, { language, lowercase }),
    stemmer: readStemmer(body.stemmer, `${at}.stemmer`, language),
    minLength: optional(body.min_token_len) ? 0 : readLength(body.min_token_len, `${at}.min_token_len`),
    maxLength: optional(body.max_token_len)
      ? Number.POSITIVE_INFINITY
      : readLength(body.max_token_len, `${at}.max_token_len`),
  };
}

function readLength(value: JsonValue, at: string): number {
  return readWhole(value, at, 0, termCharsMax);
}

const tokenizers = ['word', 'whitespace', 'prefix', 'multilingual'] as const;

/** Null: none. */
function readLanguage(value: JsonValue, at: string): LanguageName | null {
  const text = readString(value, at, termCharsMax);
  if (text.toLowerCase() === 'none') return null;
  return (
    languageNamed(text) ??
    refuseUnsupported(
      at,
      `other languages than ${languageNames.join(', ')} are`,
      'send "none": no stop words, no stems',
    )
  );
}

function readStemmer(value: JsonValue | undefined, at: string, otherwise: LanguageName | null): LanguageName | null {
  if (optional(value)) return otherwise;
  const { type, language } = readObject(value, at, ['type', 'language']);
  if (type === 'none') return null;
  if (type !== 'snowball') refuse(`${at}.type`, `expected snowball, none, got ${shown(type)}`);
  const named = readLanguage(language ?? null, `${at}.language`);
  // Loaded now, so that nothing has to be done twice when texts are read.
  if (named !== null) languageOf(named);
  return named;
}

/** The name of a language, or `{languages, custom}`. */
function readStopWords(
  value: JsonValue | undefined,
  at: string,
  { language, lowercase }: { language: LanguageName | null; lowercase: boolean },
): ReadonlySet<string> {
  if (optional(value)) return stopWordsOf(language);
  if (typeof value === 'string') return stopWordsOf(readLanguage(value, at));
  if (!isObject(value)) refuse(at, `expected a language or {"languages", "custom"}, got ${kindOf(value)}`);
  const { languages, custom } = readObject(value, at, ['languages', 'custom']);
  const known = optional(languages)
    ? []
    : readList(languages, `${at}.languages`, { min: 0, max: 100 }, (one, place) => readLanguage(one, place));
  const words = optional(custom)
    ? []
    : readList(custom, `${at}.custom`, { min: 0, max: stopWordsMax }, (one, place) =>
        readString(one, place, termCharsMax),
      );
  const customWords = lowercase ? words.map((word) => word.toLowerCase()) : words;
  return new Set([...known.flatMap((one) => [...stopWordsOf(one)]), ...customWords]);
}

function stopWordsOf(language: LanguageName | null): ReadonlySet<string> {
  return language === null ? new Set() : languageOf(language).stopWords;
}
