import { isObject, type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';
import { formBody } from './form-body.ts';
import { bareLanguage, hintsOf, lossesOf, needsTimes, ofText, pathFor, type TranscriptionDialect } from './format.ts';
import { plainAnswer } from './plain-answer.ts';
import { readSegments, readWords, secondsOf } from './read-times.ts';

/** https://elevenlabs.io/docs/api-reference/speech-to-text/convert: words alone have times and speakers. */
export const elevenLabsTranscription: TranscriptionDialect = {
  id: 'elevenlabs',
  encode(order) {
    const { model, request, file, boundary } = order;
    const { keywords, languages, rest } = hintsOf(request);
    const takesKeywords = !/^scribe_v1/.test(model);
    const language = bareLanguage(request) ?? (languages.length === 1 ? (languages[0] ?? null) : null);
    const members: JsonObject = {
      model_id: model,
      timestamps_granularity: needsTimes(request) ? 'word' : 'none',
      // Others write down what is said, and no laughter.
      tag_audio_events: false,
      ...(request.format === 'diarized_json' && { timestamps_granularity: 'word', diarize: true }),
      ...(language !== null && { language_code: language }),
      ...(request.temperature !== null && { temperature: request.temperature }),
      ...order.body,
    };
    const fields = Object.entries(members).map(([name, value]) => ({ name, value: jsonText(value) }));
    if (takesKeywords) fields.push(...keywords.map((value) => ({ name: 'keyterms', value })));
    return {
      path: pathFor(order),
      ...formBody(boundary, fields, { name: 'file', ...file }),
      losses: lossesOf(takesKeywords && languages.length < 2 ? rest : request, 'prompt'),
    };
  },
  decode: ofText((body, request) => {
    const pieces = Array.isArray(body.words) ? body.words.filter(isObject) : [];
    const isTimed = pieces.length > 0;
    const words = isTimed ? readWords(pieces.filter(({ type }) => type === 'word')) : null;
    const segments = isTimed ? readSegments(sentencesOf(pieces)) : null;
    const language = typeof body.language_code === 'string' ? body.language_code : null;
    const durationS = secondsOf(body.audio_duration_secs);
    return plainAnswer(request, { text: body.text, language, durationS, segments, words });
  }),
};

/** Sentences of one speaker each. */
function sentencesOf(pieces: readonly JsonObject[]): JsonValue[] {
  const sentences: JsonObject[] = [];
  let ended = true;
  for (const { text = '', type, start = null, end = null, speaker_id: speaker } of pieces) {
    const last = sentences.at(-1);
    if (type === 'spacing') {
      if (last !== undefined && !ended) last.text = `${last.text}${text}`;
      continue;
    }
    if (last === undefined || ended || (speaker ?? null) !== (last.speaker ?? null)) {
      sentences.push({ text, start, end, ...(typeof speaker === 'string' && { speaker }) });
    } else Object.assign(last, { text: `${last.text}${text}`, end });
    ended = /[.!?。！？]["'”’)]?$/.test(jsonText(text));
  }
  return sentences;
}
