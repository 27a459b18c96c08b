import { type JsonValue, jsonText } from '../../../kernel/json.ts';
import { formBody } from './form-body.ts';
import { bareLanguage, lossesOf, needsTimes, ofText, pathFor, type TranscriptionDialect } from './format.ts';
import { plainAnswer } from './plain-answer.ts';
import { readSegments, secondsOf } from './read-times.ts';

/** https://docs.fish.audio/api-reference/endpoint/openapi-v1/speech-to-text: one model, which no field names. */
export const fishTranscription: TranscriptionDialect = {
  id: 'fish',
  encode(order) {
    const { request, file, boundary } = order;
    const fields = [{ name: 'ignore_timestamps', value: String(!needsTimes(request)) }];
    const language = bareLanguage(request);
    if (language !== null) fields.push({ name: 'language', value: language });
    for (const [name, value] of Object.entries(order.body)) fields.push({ name, value: jsonText(value as JsonValue) });
    return {
      path: pathFor(order),
      ...formBody(boundary, fields, { name: 'audio', ...file }),
      losses: lossesOf(request, 'prompt', 'temperature'),
    };
  },
  decode: ofText((body, request) => {
    const segments = readSegments(body.segments);
    const durationS = secondsOf(body.duration);
    const language = typeof body.language_code === 'string' ? body.language_code : null;
    return plainAnswer(request, { text: body.text, language, durationS, segments, words: null });
  }),
};
