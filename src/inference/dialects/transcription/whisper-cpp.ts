import { isObject } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import { fault } from '../../neutral/outcome.ts';
import { errorInside } from '../forwarded/read-whole.ts';
import { type FormPart, formBody } from './form-body.ts';
import { missingTimes, needsTimes, pathFor, type TranscriptionDialect } from './format.ts';
import { usageOf } from './openai.ts';
import { readSegments, readWords, secondsOf, wordsInSegments } from './read-times.ts';

/**
 * https://github.com/ggml-org/whisper.cpp/tree/master/examples/server: `POST /inference`, one model, which no field
 * names. Translating is a field. Words stand inside their segments, and the text is one line a segment.
 */
export const whisperCppTranscription: TranscriptionDialect = {
  id: 'whisper-cpp',
  encode(order) {
    const { request, file, boundary } = order;
    const fields: FormPart[] = [{ name: 'response_format', value: needsTimes(request) ? 'verbose_json' : 'json' }];
    // Its own default is English.
    fields.push({ name: 'language', value: request.language ?? 'auto' });
    if (request.task === 'translate') fields.push({ name: 'translate', value: 'true' });
    if (request.prompt !== null) fields.push({ name: 'prompt', value: request.prompt });
    if (request.temperature !== null) fields.push({ name: 'temperature', value: String(request.temperature) });
    for (const [name, value] of Object.entries(order.body)) fields.push({ name, value: String(value) });
    const losses: Loss[] = request.extra.map(({ name }) => ({ field: name, why: 'unknown' }));
    if (request.include.length > 0) losses.push({ field: 'include', why: 'unsupported' });
    return { path: pathFor(order), ...formBody(boundary, fields, { name: 'file', ...file }), losses };
  },
  decode(body, { request }) {
    if (!isObject(body) || typeof body.text !== 'string') {
      return errorInside(body) ?? fault('malformed', "the answer has no 'text'");
    }
    const segments = readSegments(body.segments);
    const words = readWords(body.words) ?? wordsInSegments(body.segments);
    const missing = body.text.trim() === '' ? null : missingTimes(request, segments, words);
    if (missing !== null) return missing;
    const durationS = secondsOf(body.duration);
    return {
      transcript: {
        text: oneLine(body.text),
        language: typeof body.language === 'string' ? body.language : null,
        durationS,
        segments,
        words,
        told: null,
      },
      usage: usageOf(undefined, durationS),
    };
  },
};

/** Each segment stands in a line of its own, a blank before it. */
function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}
