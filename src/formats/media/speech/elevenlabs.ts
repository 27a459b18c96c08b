import { type JsonObject, objectIn } from '../../../kernel/json.ts';
import { pathSegment } from '../../../kernel/web/uri-text.ts';
import type { AudioFormat } from '../../neutral/speech.ts';
import { lossesOf, type SpeechDialect } from './format.ts';

/** https://elevenlabs.io/docs/api-reference/text-to-speech/stream: the path names voice and format. */
export const elevenLabsSpeech: SpeechDialect = {
  id: 'elevenlabs',
  answer: 'bytes',
  encode(order) {
    const { model, voice, format, request, facts } = order;
    const body: JsonObject = { ...request.extra, text: request.input, model_id: model };
    // It accepts 0.7 to 1.2; other values are brought to these bounds, as its website does.
    if (request.speed !== 1) {
      const settings = objectIn(body.voice_settings);
      body.voice_settings = { ...settings, speed: Math.min(1.2, Math.max(0.7, request.speed)) };
    }
    const losses = lossesOf(order, { extra: 'taken' });
    if (request.speed < 0.7 || request.speed > 1.2) losses.push({ field: 'speed', why: 'clamped' });
    return {
      path: `${facts.path}/${pathSegment(voice)}/stream?output_format=${outputs[format] ?? outputs.pcm}`,
      body,
      losses,
    };
  },
};

const outputs: Readonly<Partial<Record<AudioFormat, string>>> & { pcm: string } = {
  mp3: 'mp3_44100_128',
  opus: 'opus_48000_64',
  pcm: 'pcm_24000',
};
