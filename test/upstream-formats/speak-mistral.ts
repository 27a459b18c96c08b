import { soundSpeech, soundSteps, speechPrompt } from '../../src/simulator/endpoints/speak-sound.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';

/** `/audio/speech` of Mistral: a voice has an id, and the sound is in base64 inside of one object. */
export const mistralSpeech: Speech = {
  ...soundSpeech,
  read: ({ model, input, voice_id: voice, response_format: format = 'mp3' }) =>
    typeof voice !== 'string'
      ? { refused: "'voice_id' is missing.", param: 'voice_id' }
      : speechPrompt({ model: String(model), text: input, textParam: 'input', format, speed: 1, delivery: 'whole' }),
  media: () => null,
  whole(_answer, { speech }, spec) {
    const pieces = [...soundSteps(speech!, spec)].filter((step) => typeof step !== 'number');
    return JSON.stringify({
      audio_data: Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString('base64'),
    });
  },
};
