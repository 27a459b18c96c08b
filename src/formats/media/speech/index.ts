import { cartesiaSpeech } from './cartesia.ts';
import { deepgramSpeech } from './deepgram.ts';
import { elevenLabsSpeech } from './elevenlabs.ts';
import { fishSpeech } from './fish.ts';
import type { SpeechDialect, SpeechDialectId } from './format.ts';
import { geminiSpeech } from './gemini.ts';
import { mistralSpeech } from './mistral.ts';
import { openAiSpeech } from './openai.ts';

/** Every format in which upstreams are asked to speak. */
export const speechDialects: Readonly<Record<SpeechDialectId, SpeechDialect>> = {
  openai: openAiSpeech,
  gemini: geminiSpeech,
  elevenlabs: elevenLabsSpeech,
  deepgram: deepgramSpeech,
  cartesia: cartesiaSpeech,
  fish: fishSpeech,
  mistral: mistralSpeech,
};
