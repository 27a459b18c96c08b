import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { lossesOf, type SoundEvent, type SpeechDialect } from './format.ts';

/** https://docs.mistral.ai/studio/audio/text-to-speech: the sound is in base64 inside of one JSON object. */
export const mistralSpeech: SpeechDialect = {
  id: 'mistral',
  answer: 'mistral',
  encode(order) {
    const { model, voice, format, request, facts } = order;
    return {
      path: facts.path,
      body: { ...request.extra, model, input: request.input, voice_id: voice, response_format: format },
      losses: lossesOf(order, { extra: 'taken' }),
    };
  },
};

export function readMistralSound(answer: JsonValue): SoundEvent | Fault {
  if (!isObject(answer) || typeof answer.audio_data !== 'string' || answer.audio_data === '') {
    return fault('malformed', 'answered without sound');
  }
  return { sound: Buffer.from(answer.audio_data, 'base64'), rateHz: null, finish: 'done', usage: null };
}
