import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { isObject } from '../../kernel/json.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import { type Bm25Options, bm25Defaults } from '../text/bm25.ts';
import { englishStopWords } from '../text/stop-words-english.ts';
import type { TextOptions } from '../text/text-terms.ts';
import { optional, readBoolean, readFinite, readList, readString, readWhole, shown } from './read-scalars.ts';
import { refuseUnsupported } from './unsupported.ts';

const textKeys = ['tokenizer', 'lowercase', 'ascii_folding', 'stopwords', 'stemmer', 'min_token_len', 'max_token_len'];
const stopWordsMax = 1_000;
const termCharsMax = 1_024;

/** `options` of a text for the built-in BM25 model. Throws a FailureError: 400, or 501 for a language that is not here. */
export function readBm25Options(json: JsonValue | undefined, at: string): Bm25Options {
  if (optional(json)) return bm25Defaults;
  const body = readObject(json, at, ['k', 'b', 'avg_len', 'language', ...textKeys]);
  const k = optional(body.k) ? bm25Defaults.k : readFinite(body.k, `${at}.k`);
  const b = optional(body.b) ? bm25Defaults.b : readFinite(body.b, `${at}.b`);
  const averageLength = optional(body.avg_len) ? bm25Defaults.averageLength : readFinite(body.avg_len, `${at}.avg_len`);
  if (k < 0) refuse(`${at}.k`, `expected a number from 0 on, got ${k}`);
  if (b < 0 || b > 1) refuse(`${at}.b`, `expected a number from 0 to 1, got ${b}`);
  if (averageLength <= 0) refuse(`${at}.avg_len`, `expected a number above 0, got ${averageLength}`);
  const english = isEnglish(body.language, `${at}.language`);
  return { k, b, averageLength, text: readText(body, at, english) };
}

/** Of a text index: `{type: "text", …}`. Nothing is stemmed or left out unless it is said. */
export function readTextIndex(json: JsonObject, at: string): { options: TextOptions; phrases: boolean } {
  const body = readObject(json, at, ['type', 'on_disk', 'memory', 'enable_hnsw', 'phrase_matching', ...textKeys]);
  const phrases = !optional(body.phrase_matching) && readBoolean(body.phrase_matching, `${at}.phrase_matching`);
  return { options: readText(body, at, false), phrases };
}

/** `english`: where nothing is said of stop words and stems, those of English. */
function readText(body: JsonObject, at: string, english: boolean): TextOptions {
  const lowercase = optional(body.lowercase) || readBoolean(body.lowercase, `${at}.lowercase`);
  return {
    tokenizer: readTokenizer(body.tokenizer, `${at}.tokenizer`),
    lowercase,
    asciiFolding: !optional(body.ascii_folding) && readBoolean(body.ascii_folding, `${at}.ascii_folding`),
    stopWords: readStopWords(body.stopwords, `${at}.stopwords`, { english, lowercase }),
    stemmer: readStemmer(body.stemmer, `${at}.stemmer`, english),
    minLength: optional(body.min_token_len) ? 0 : readLength(body.min_token_len, `${at}.min_token_len`),
    maxLength: optional(body.max_token_len)
      ? Number.POSITIVE_INFINITY
      : readLength(body.max_token_len, `${at}.max_token_len`),
  };
}

function readLength(value: JsonValue, at: string): number {
  return readWhole(value, at, 0, termCharsMax);
}

function readTokenizer(value: JsonValue | undefined, at: string): TextOptions['tokenizer'] {
  if (optional(value) || value === 'word') return 'word';
  if (value === 'whitespace') return 'whitespace';
  return refuseUnsupported(at, 'other tokenizers than "word" and "whitespace" are', 'leave it out');
}

function isEnglish(value: JsonValue | undefined, at: string): boolean {
  if (optional(value)) return true;
  const language = readString(value, at, termCharsMax).toLowerCase();
  if (language === 'none') return false;
  if (language === 'english' || language === 'en') return true;
  return refuseUnsupported(at, 'other languages than English are', 'send "none": no stop words, no stems');
}

function readStemmer(value: JsonValue | undefined, at: string, english: boolean): TextOptions['stemmer'] {
  if (optional(value)) return english ? 'english' : null;
  const { type, language } = readObject(value, at, ['type', 'language']);
  if (type === 'none') return null;
  if (type !== 'snowball') refuse(`${at}.type`, `expected snowball, none, got ${shown(type)}`);
  return isEnglish(language, `${at}.language`) ? 'english' : null;
}

/** The name of a language, or `{languages, custom}`. */
function readStopWords(
  value: JsonValue | undefined,
  at: string,
  { english, lowercase }: { english: boolean; lowercase: boolean },
): ReadonlySet<string> {
  if (optional(value)) return english ? englishStopWords : new Set();
  if (typeof value === 'string') return isEnglish(value, at) ? englishStopWords : new Set();
  if (!isObject(value)) refuse(at, `expected a language or {"languages", "custom"}, got ${kindOf(value)}`);
  const { languages, custom } = readObject(value, at, ['languages', 'custom']);
  const known = optional(languages)
    ? []
    : readList(languages, `${at}.languages`, { min: 0, max: 100 }, (one, place) => isEnglish(one, place));
  const words = optional(custom)
    ? []
    : readList(custom, `${at}.custom`, { min: 0, max: stopWordsMax }, (one, place) =>
        readString(one, place, termCharsMax),
      );
  const own = lowercase ? words.map((word) => word.toLowerCase()) : words;
  return new Set([...(known.includes(true) ? englishStopWords : []), ...own]);
}
