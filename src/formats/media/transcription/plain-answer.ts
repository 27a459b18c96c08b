import type { Fault } from '../../neutral/outcome.ts';
import type { Transcript, TranscriptionRequest } from '../../neutral/transcript.ts';
import { type DecodedTranscription, missingTimes } from './format.ts';
import { usageOf } from './openai.ts';

/** Transcript of a service that counts no tokens; a Fault if it lacks the times that were asked for. */
export function plainAnswer(
  request: TranscriptionRequest,
  transcript: Omit<Transcript, 'reported'>,
): DecodedTranscription | Fault {
  const { text, segments, words, durationS } = transcript;
  const missing = text.trim() === '' ? null : missingTimes(request, segments, words);
  return missing ?? { transcript: { ...transcript, reported: null }, usage: usageOf(undefined, durationS) };
}
