import { isObject, type JsonValue, listIn } from '../../../kernel/json.ts';
import { usageOf } from '../../dialects/gemini/decode-answer.ts';
import { readError } from '../../dialects/openai-chat/errors.ts';
import { fault } from '../../neutral/outcome.ts';
import type { TranscriptionRequest } from '../../neutral/transcript.ts';
import { lossesOf, pathFor, type TranscriptionDialect } from './format.ts';

/**
 * https://ai.google.dev/gemini-api/docs/audio: a conversation about a sound, which it contains in base64. Only text
 * comes back: times by a language model are not measured.
 */
export const geminiTranscription: TranscriptionDialect = {
  id: 'gemini',
  encode(order) {
    const { request, file, body: operators, boundary } = order;
    const mark = `the file ${boundary}`;
    const { temperature } = request;
    const body = JSON.stringify({
      contents: [
        {
          role: 'user',
          parts: [{ text: instructionFor(request) }, { inlineData: { mimeType: file.mime, data: mark } }],
        },
      ],
      ...(temperature !== null && { generationConfig: { temperature } }),
      ...operators,
    });
    const at = body.indexOf(mark);
    return {
      path: pathFor(order),
      contentType: 'application/json',
      pieces: [{ text: body.slice(0, at) }, 'file-base64', { text: body.slice(at + mark.length) }],
      losses: lossesOf(request),
    };
  },
  decode(body) {
    if (!isObject(body)) return fault('malformed', 'the answer is not an object');
    const error = readError(body);
    if (error !== null && body.candidates === undefined) return fault('malformed', error.message);
    const blocked = isObject(body.promptFeedback) ? body.promptFeedback.blockReason : undefined;
    if (typeof blocked === 'string') return fault('filtered', `refused the audio: ${blocked}`, 400);
    const [candidate] = listIn(body.candidates);
    const finish = isObject(candidate) ? candidate.finishReason : undefined;
    if (finish !== 'STOP') {
      return fault('malformed', `gave no whole transcript (${typeof finish === 'string' ? finish : 'no candidate'})`);
    }
    const text = textOf(isObject(candidate) && isObject(candidate.content) ? candidate.content.parts : undefined);
    return {
      transcript: { text: text.trim(), language: null, durationS: null, segments: null, words: null, reported: null },
      usage: usageOf(body.usageMetadata),
    };
  },
};

function instructionFor({ task, language, prompt }: TranscriptionRequest): string {
  return [
    task === 'translate'
      ? 'Write down in English what is said in this audio, whatever language is spoken.'
      : 'Write down word for word what is said in this audio, in the language that is spoken.',
    ...(language === null ? [] : [`It is spoken in the language '${language}'.`]),
    ...(prompt === null ? [] : [`Names and words that may occur, or what was said before: ${prompt}`]),
    'Answer with what was said and nothing else: no title, no times, no names of speakers. If nothing is said, answer with nothing.',
  ].join('\n');
}

/** Its thoughts are not part of it. */
function textOf(parts: JsonValue | undefined): string {
  if (!Array.isArray(parts)) return '';
  return parts
    .map((part) => (isObject(part) && part.thought !== true && typeof part.text === 'string' ? part.text : ''))
    .join('');
}
