import { type JsonValue, jsonText } from '../../../kernel/json.ts';
import { type FormPart, formBody } from './form-body.ts';
import { bareLanguage, lossesOf, needsTimes, ofText, pathFor, type TranscriptionDialect } from './format.ts';
import { plainAnswer } from './plain-answer.ts';
import { readSegments, readWords, secondsOf, wordsInSegments } from './read-times.ts';

/**
 * https://github.com/ggml-org/whisper.cpp/tree/master/examples/server: `POST /inference`, one model, which no field
 * names. Translating is a field. Segments contain their words, and the text is one line a segment.
 */
export const whisperCppTranscription: TranscriptionDialect = {
  id: 'whisper-cpp',
  encode(order) {
    const { request, file, boundary } = order;
    const fields: FormPart[] = [{ name: 'response_format', value: needsTimes(request) ? 'verbose_json' : 'json' }];
    // Its default is English.
    fields.push({ name: 'language', value: bareLanguage(request) ?? 'auto' });
    if (request.task === 'translate') fields.push({ name: 'translate', value: 'true' });
    if (request.prompt !== null) fields.push({ name: 'prompt', value: request.prompt });
    if (request.temperature !== null) fields.push({ name: 'temperature', value: String(request.temperature) });
    for (const [name, value] of Object.entries(order.body)) fields.push({ name, value: jsonText(value as JsonValue) });
    return {
      path: pathFor(order),
      ...formBody(boundary, fields, { name: 'file', ...file }),
      losses: lossesOf(request),
    };
  },
  decode: ofText((body, request) => {
    const segments = readSegments(body.segments);
    const words = readWords(body.words) ?? wordsInSegments(body.segments);
    const language = typeof body.language === 'string' ? body.language : null;
    const durationS = secondsOf(body.duration);
    return plainAnswer(request, { text: oneLine(body.text), language, durationS, segments, words });
  }),
};

/** Each segment has a separate line, with a blank before it. */
function oneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}
