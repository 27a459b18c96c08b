import { promptOf, transcriptSpeech } from '../../src/simulator/endpoints/speak-transcript.ts';

/** `POST /inference` of whisper.cpp's server: one model, which nobody names, and words inside their segments. */
export const whisperCppSpeech = transcriptSpeech((body) =>
  promptOf(body, 'whisper.cpp', body.translate === 'true' ? 'translate' : 'transcribe', 'in segments'),
);
