import { soundSpeech, speechPrompt } from '../../src/simulator/endpoints/speak-sound.ts';
import type { ErrorWords, Speech } from '../../src/simulator/endpoints/speech.ts';

/** `/text-to-speech/{voice}` of ElevenLabs; the service puts `output_format` of the query into the body. */
export const elevenLabsSpeech: Speech = {
  ...soundSpeech,
  read: ({ text, model_id: model, output_format: output }) => {
    const format = String(output ?? 'mp3_44100_128').split('_')[0];
    return speechPrompt({ model: String(model), text, textParam: 'text', format, speed: 1, delivery: 'whole' });
  },
  errorBody: elevenLabsError,
  errorFrame: (words) => `data: ${elevenLabsError(words)}\n\n`,
};

function elevenLabsError({ message, code, type }: ErrorWords): string {
  return JSON.stringify({ detail: { status: code ?? type ?? 'invalid_request', message } });
}
