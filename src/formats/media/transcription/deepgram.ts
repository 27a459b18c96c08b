import { isObject, type JsonObject, type JsonValue, jsonText, objectIn } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { fault } from '../../neutral/outcome.ts';
import { hintsOf, lossesOf, pathFor, type TranscriptionDialect } from './format.ts';
import { plainAnswer } from './plain-answer.ts';
import { readSegments, readWords, secondsOf } from './read-times.ts';

/**
 * https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded: the file is the body, and the query has
 * the rest. Its utterances are the segments; with speakers they say who spoke.
 */
export const deepgramTranscription: TranscriptionDialect = {
  id: 'deepgram',
  encode(order) {
    const { model, request, file } = order;
    const query = new URLSearchParams({ model, smart_format: 'true' });
    const { keywords, languages, rest } = hintsOf(request);
    if (request.language !== null) query.set('language', request.language);
    else if (languages.length === 0) query.set('detect_language', 'true');
    for (const language of languages) query.append('detect_language', language);
    // Models before Nova 3 know them by another name.
    const keywordField = /^(?:nova(?:-2)?|enhanced|base)(?:-[a-z]|$)/.test(model) ? 'keywords' : 'keyterm';
    for (const keyword of keywords) query.append(keywordField, keyword);
    if (request.timestamps !== 'none' || request.format === 'diarized_json') query.set('utterances', 'true');
    if (request.format === 'diarized_json') query.set('diarize', 'true');
    for (const [name, value] of Object.entries(order.body)) query.set(name, jsonText(value as JsonValue));
    const losses = lossesOf(rest, 'prompt', 'temperature');
    return { path: `${pathFor(order)}?${query}`, contentType: file.mime, pieces: ['file'], losses };
  },
  decode(body, { request }) {
    const results = isObject(body) && isObject(body.results) ? body.results : {};
    const channel = Array.isArray(results.channels) ? results.channels[0] : undefined;
    const alternatives = isObject(channel) ? channel.alternatives : undefined;
    const best = Array.isArray(alternatives) ? alternatives[0] : undefined;
    if (!isObject(best) || typeof best.transcript !== 'string') {
      return errorInside(body) ?? fault('malformed', 'the answer has no transcript');
    }
    const segments = readSegments(utterancesIn(results.utterances));
    const words = readWords(wordsIn(best.words));
    const metadata = isObject(body) && isObject(body.metadata) ? body.metadata : {};
    const durationS = secondsOf(metadata.duration);
    const language = isObject(channel) ? channel.detected_language : undefined;
    const detected = typeof language === 'string' ? language : request.language;
    return plainAnswer(request, { text: best.transcript, language: detected, durationS, segments, words });
  },
};

function utterancesIn(value: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((one): JsonObject => {
    const { start, end, transcript, speaker } = objectIn(one);
    const by = typeof speaker === 'number' ? { speaker: String(speaker) } : {};
    return { start: start ?? null, end: end ?? null, text: transcript ?? null, ...by };
  });
}

/** Words as in the text, with capitals and stops. */
function wordsIn(value: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((one) => (isObject(one) ? { ...one, word: one.punctuated_word ?? one.word ?? null } : one));
}
