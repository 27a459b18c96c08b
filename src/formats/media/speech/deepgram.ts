import type { AudioFormat } from '../../neutral/speech.ts';
import { lossesOf, type SpeechDialect } from './format.ts';

/** https://developers.deepgram.com/reference/text-to-speech/speak-request: a voice is a model, and only the text is in the body. */
export const deepgramSpeech: SpeechDialect = {
  id: 'deepgram',
  answer: 'bytes',
  encode(order) {
    const { model, voice, format, request, facts } = order;
    const query = new URLSearchParams({
      // `aura-2` is a family: `aura-2-thalia-en` is one of its voices.
      model: /^aura(-\d+)?$/.test(model) ? `${model}-${voice}` : model,
      ...outputs[format],
    });
    return {
      path: `${facts.path}?${query}`,
      body: { text: request.input },
      losses: lossesOf(order, { extra: 'lost' }),
    };
  },
};

const outputs: Readonly<Record<AudioFormat, Readonly<Record<string, string>>>> = {
  mp3: { encoding: 'mp3' },
  opus: { encoding: 'opus', container: 'ogg' },
  flac: { encoding: 'flac' },
  aac: { encoding: 'aac' },
  wav: { encoding: 'linear16', container: 'wav', sample_rate: '24000' },
  pcm: { encoding: 'linear16', container: 'none', sample_rate: '24000' },
};
