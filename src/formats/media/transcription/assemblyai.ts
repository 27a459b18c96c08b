import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { fault } from '../../neutral/outcome.ts';
import { bareLanguage, hintsOf, lossesOf, needsTimes, pathFor, type TranscriptionDialect } from './format.ts';
import { plainAnswer } from './plain-answer.ts';
import { readSegments, readWords, secondsOf } from './read-times.ts';

/**
 * https://www.assemblyai.com/docs/api-reference: the file is uploaded, a transcript of it is ordered, and its state tells
 * when it is there. Times are in ms. Its utterances are the segments, which it has only with speakers.
 */
export const assemblyAiTranscription: TranscriptionDialect = {
  id: 'assemblyai',
  encode(order) {
    const { request } = order;
    const losses = lossesOf(hintsOf(request).rest, 'temperature');
    return { path: '/upload', contentType: 'application/octet-stream', pieces: ['file'], losses };
  },
  job: {
    order(uploaded, order) {
      const { upload_url: url } = uploaded;
      if (typeof url !== 'string') return null;
      const { model, request, body } = order;
      const ordered: JsonObject = { audio_url: url, speech_models: [model] };
      const language = bareLanguage(request);
      if (language === null) ordered.language_detection = true;
      else ordered.language_code = language;
      const { keywords, languages } = hintsOf(request);
      if (languages.length > 0) ordered.language_detection_options = { expected_languages: [...languages] };
      if (request.prompt === null && keywords.length > 0) ordered.keyterms_prompt = [...keywords];
      // It takes one of the two: its guide has keywords at the end of the prompt then.
      const context = keywords.length === 0 ? '' : `\n\nContext: ${keywords.join(', ')}`;
      if (request.prompt !== null) ordered.prompt = request.prompt + context;
      if (request.format === 'diarized_json' || needsTimes(request)) ordered.speaker_labels = true;
      return { path: pathFor(order), body: { ...ordered, ...(body as JsonObject) } };
    },
    at: (begun, order) => (typeof begun.id === 'string' ? `${pathFor(order)}/${encodeURIComponent(begun.id)}` : null),
    runs: ({ status }) => status === 'queued' || status === 'processing',
  },
  decode(body, { request }) {
    if (!isObject(body)) return fault('malformed', 'the answer is no object');
    const { status, error, text, language_code: language } = body;
    if (status === 'error') {
      const message = typeof error === 'string' ? error.slice(0, 500) : '';
      // An error about the file goes to the caller: the next target would say the same.
      const isOfTheFile = /audio|file|duration|language|decode|transcod/i.test(message);
      return fault(isOfTheFile ? 'caller_fault' : 'transient', `could not write it down: ${message}`);
    }
    if (typeof text !== 'string') return fault('malformed', 'the answer has no transcript');
    const segments = readSegments(inSeconds(body.utterances));
    const words = readWords(inSeconds(body.words));
    const durationS = secondsOf(body.audio_duration);
    const detected = typeof language === 'string' ? language : request.language;
    return plainAnswer(request, { text, language: detected, durationS, segments, words });
  },
};

function inSeconds(value: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((one): JsonObject => {
    const { start, end, text, speaker } = objectIn(one);
    const seconds = (ms: JsonValue | undefined) => (typeof ms === 'number' ? ms / 1_000 : null);
    const by = typeof speaker === 'string' ? { speaker } : {};
    return { start: seconds(start), end: seconds(end), text: text ?? null, ...by };
  });
}
