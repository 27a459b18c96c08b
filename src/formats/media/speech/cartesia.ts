import type { JsonObject } from '../../../kernel/json.ts';
import { lossesOf, type SpeechDialect } from './format.ts';

/** https://docs.cartesia.ai/api-reference/tts/bytes */
export const cartesiaSpeech: SpeechDialect = {
  id: 'cartesia',
  answer: 'bytes',
  encode(order) {
    const { model, voice, format, request, facts } = order;
    const body: JsonObject = {
      ...request.extra,
      model_id: model,
      transcript: request.input,
      voice: { mode: 'id', id: voice },
      output_format:
        format === 'mp3'
          ? { container: 'mp3', sample_rate: 44_100, bit_rate: 128_000 }
          : { container: format === 'wav' ? 'wav' : 'raw', encoding: 'pcm_s16le', sample_rate: 24_000 },
    };
    return { path: facts.path, body, losses: lossesOf(order, { extra: 'taken' }) };
  },
};
