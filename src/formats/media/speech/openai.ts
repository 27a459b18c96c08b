import type { JsonObject } from '../../../kernel/json.ts';
import { lossesOf, type SpeechDialect } from './format.ts';

/** OpenAI's format, which nearly everybody took over. Always asked for sound: events are made here. */
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
    const path = facts.pathOf?.(model, { apiVersion }) ?? facts.path;
    return { path, body, losses: lossesOf(order, { extra: 'taken' }) };
  },
};
