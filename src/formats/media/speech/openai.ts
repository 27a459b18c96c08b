import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { reportedCount } from '../../neutral/usage.ts';
import { lossesOf, type SoundEvent, type SpeechDialect } from './format.ts';

/** OpenAI's format, which nearly everybody took over. The caller's events are made here. */
export const openAiSpeech: SpeechDialect = {
  id: 'openai',
  answer: 'bytes',
  encode(order) {
    const { model, voice, format, request, facts, apiVersion } = order;
    const body: JsonObject = {
      ...request.extra,
      model,
      input: request.input,
      voice: request.voiceKind === 'id' ? { id: voice } : voice,
      response_format: format,
    };
    // Left out at its default: some models refuse the field.
    if (request.speed !== 1 && facts.speed === 'taken') body.speed = request.speed;
    if (request.instructions !== null && facts.instructions === 'taken') body.instructions = request.instructions;
    if (facts.events?.test(model)) body.stream_format = 'sse';
    const path = facts.pathOf?.(model, { apiVersion }) ?? facts.path;
    return { path, body, losses: lossesOf(order, { extra: 'taken' }) };
  },
};

export function readOpenAiSound(event: JsonValue): SoundEvent | Fault {
  if (!isObject(event)) return fault('malformed', 'sent an event that is not an object');
  const { type, audio, usage } = event;
  const inputTokens = isObject(usage) ? reportedCount(usage.input_tokens) : null;
  const outputTokens = isObject(usage) ? (reportedCount(usage.output_tokens) ?? 0) : 0;
  return {
    sound: typeof audio === 'string' ? Buffer.from(audio, 'base64') : null,
    rateHz: null,
    finish: type === 'speech.audio.done' ? 'done' : null,
    usage: inputTokens === null ? null : { inputTokens, outputTokens },
  };
}
