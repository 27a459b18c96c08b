import { isObject, type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';
import { ours } from '../../dialects/ai-sdk/wire.ts';

/** Warnings of an answer, one for each field that was left out. */
export function warningsOf(lost: readonly string[]): JsonObject[] {
  return lost.map((feature) => ({ type: 'unsupported', feature }));
}

/** Documents that are objects are ranked as texts. */
export const objectsWarning: JsonObject = {
  type: 'compatibility',
  feature: 'object documents',
  details: 'Objects are ranked as their JSON.',
};

/** Answer of `image-model`. `answer`: of OpenAI's format, with pictures in base64. */
export function imageAnswer(answer: JsonObject, warnings: readonly JsonObject[]): JsonObject {
  const entries = objectsIn(answer.data);
  const { usage } = answer;
  const images = entries.map(({ revised_prompt: revisedPrompt }) => (revisedPrompt == null ? {} : { revisedPrompt }));
  return {
    images: entries.flatMap(({ b64_json: base64 }) => (typeof base64 === 'string' ? [base64] : [])),
    warnings: [...warnings],
    providerMetadata: { [ours]: { images } },
    ...(isObject(usage) && {
      usage: {
        inputTokens: usage.input_tokens ?? null,
        outputTokens: usage.output_tokens ?? null,
        totalTokens: usage.total_tokens ?? null,
      },
    }),
  };
}

/** Answer of `speech-model`. */
export function speechAnswer(sound: Buffer, warnings: readonly JsonObject[]): JsonObject {
  return { audio: sound.toString('base64'), warnings: [...warnings], providerMetadata: {} };
}

/** Answer of `transcription-model`. `answer`: of OpenAI's format, in any of its forms that are JSON. */
export function transcriptionAnswer(answer: JsonObject, warnings: readonly JsonObject[]): JsonObject {
  const { text, segments, words, language, duration, usage } = answer;
  const billedSeconds = isObject(usage) && usage.type === 'duration' ? usage.seconds : undefined;
  const timed = timedOf(segments, 'text');
  const timedWords = timedOf(words, 'word');
  const speakers = Array.isArray(segments) ? segments.filter((one) => isObject(one) && 'speaker' in one) : [];
  return {
    text: text ?? '',
    segments: timed.length > 0 ? timed : timedWords,
    ...(timedWords.length > 0 && { words: timedWords }),
    language: typeof language === 'string' ? codeOf(language) : null,
    durationInSeconds: duration ?? billedSeconds ?? null,
    warnings: [...warnings],
    ...(isObject(usage) && { usage }),
    providerMetadata: speakers.length > 0 ? { [ours]: { segments: speakers } } : {},
  };
}

function timedOf(list: JsonValue | undefined, textMember: string): JsonObject[] {
  const entries = objectsIn(list);
  return entries.map((one) => ({ text: one[textMember] ?? '', startSecond: one.start ?? 0, endSecond: one.end ?? 0 }));
}

let codes: ReadonlyMap<string, string> | null = null;

/** Code of a language, which whisper names by its English name; null for a name that has none of two letters. */
function codeOf(language: string): string | null {
  if (/^[a-z]{2,3}(-\w+)*$/.test(language)) return language;
  codes ??= codesByName();
  return codes.get(language.toLowerCase()) ?? null;
}

function codesByName(): ReadonlyMap<string, string> {
  const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  // Without earlier codes of the same languages, such as iw.
  const all = letters
    .flatMap((first) => letters.map((second) => first + second))
    .filter((code) => Intl.getCanonicalLocales(code)[0] === code);
  return new Map(all.map((code) => [names.of(code)?.toLowerCase() ?? '', code]));
}

/** Answer of `reranking-model`. */
export function rerankAnswer({ results }: JsonObject, warnings: readonly JsonObject[]): JsonObject {
  const ranks = objectsIn(results);
  return {
    ranking: ranks.map(({ index, relevance_score: relevanceScore }) => ({ index, relevanceScore })),
    warnings: [...warnings],
  };
}
