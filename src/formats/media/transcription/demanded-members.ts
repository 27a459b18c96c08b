import { type JsonObject, objectIn, objectsIn } from '../../../kernel/json.ts';

/**
 * Clients that refuse a transcript without members of their vendor: Mistral's SDKs, and the AI SDK's providers for Groq,
 * Mistral and OpenAI, which name no provider where they read whole answers.
 */
export const demandingClients = /^(?:mistral-client-|ai\/)/;

/** Whisper's and Mistral's numbers of a segment as these clients want them, which show none of them. */
const unknown = { seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };

/** A transcript of OpenAI's format with all members that these clients demand. */
export function demandedTranscript(transcript: JsonObject, model: string, id: string): JsonObject {
  const { segments, duration, usage } = transcript;
  const seconds = duration ?? objectIn(usage).seconds;
  return {
    model,
    language: null,
    x_groq: { id },
    ...transcript,
    usage: { ...(typeof seconds === 'number' && { prompt_audio_seconds: Math.ceil(seconds) }), ...objectIn(usage) },
    ...(Array.isArray(segments) && { segments: objectsIn(segments).map(demandedSegment) }),
  };
}

function demandedSegment(segment: JsonObject): JsonObject {
  const known = Object.fromEntries(Object.entries(segment).filter(([, value]) => value !== null));
  return typeof known.id === 'string' ? { speaker: '', ...known } : { ...unknown, ...known };
}
