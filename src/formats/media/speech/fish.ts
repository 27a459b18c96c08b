import { type JsonObject, objectIn } from '../../../kernel/json.ts';
import { lossesOf, type SpeechDialect } from './format.ts';

/** https://docs.fish.audio/api-reference/endpoint/openapi-v1/text-to-speech: a header names the model. */
export const fishSpeech: SpeechDialect = {
  id: 'fish',
  answer: 'bytes',
  encode(order) {
    const { model, voice, format, request, facts } = order;
    const body: JsonObject = { ...request.extra, text: request.input, format };
    if (voice !== 'default') body.reference_id = voice;
    if (format === 'pcm' || format === 'wav') body.sample_rate = 24_000;
    if (request.speed !== 1) {
      const prosody = objectIn(body.prosody);
      body.prosody = { ...prosody, speed: Math.min(2, Math.max(0.5, request.speed)) };
    }
    const losses = lossesOf(order, { extra: 'taken' });
    if (request.speed < 0.5 || request.speed > 2) losses.push({ field: 'speed', why: 'clamped' });
    return { path: facts.path, header: ['model', model], body, losses };
  },
};
