import { assemblyAiTranscription } from './assemblyai.ts';
import { deepgramTranscription } from './deepgram.ts';
import { elevenLabsTranscription } from './elevenlabs.ts';
import { fishTranscription } from './fish.ts';
import type { TranscriptionDialect, TranscriptionDialectId } from './format.ts';
import { geminiTranscription } from './gemini.ts';
import { openAiTranscription } from './openai.ts';
import { whisperCppTranscription } from './whisper-cpp.ts';

/** Every format in which upstreams are asked to write down speech. */
export const transcriptionDialects: Readonly<Record<TranscriptionDialectId, TranscriptionDialect>> = {
  openai: openAiTranscription,
  'whisper-cpp': whisperCppTranscription,
  gemini: geminiTranscription,
  deepgram: deepgramTranscription,
  elevenlabs: elevenLabsTranscription,
  fish: fishTranscription,
  assemblyai: assemblyAiTranscription,
};
