import { isObject, type JsonValue, listIn } from '../../../kernel/json.ts';
import { usageOf } from '../../dialects/gemini/decode-answer.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { lossesOf, type SoundEvent, type SpeechDialect } from './format.ts';

/**
 * https://ai.google.dev/gemini-api/docs/speech-generation: a conversation that answers in audio, as PCM in base64.
 * Words before the text ask for a style.
 */
export const geminiSpeech: SpeechDialect = {
  id: 'gemini',
  answer: 'gemini',
  encode(order) {
    const { model, voice, request, facts, apiVersion } = order;
    const text = request.instructions === null ? request.input : `${request.instructions}:\n${request.input}`;
    return {
      path: facts.pathOf?.(model, { apiVersion }) ?? facts.path,
      body: {
        contents: [{ role: 'user', parts: [{ text }] }],
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } },
        },
      },
      losses: lossesOf(order, { extra: 'lost' }),
    };
  },
};

/** A Fault when the event says that there is no speech to come. */
export function readGeminiSound(event: JsonValue): SoundEvent | Fault {
  if (!isObject(event)) return fault('malformed', 'sent an event that is not an object');
  const [candidate] = listIn(event.candidates);
  const blocked = isObject(event.promptFeedback) ? event.promptFeedback.blockReason : undefined;
  if (typeof blocked === 'string') return fault('filtered', `refused the text: ${blocked}`, 400);
  const parts = isObject(candidate) && isObject(candidate.content) ? candidate.content.parts : undefined;
  const pieces: Buffer[] = [];
  let rateHz: number | null = null;
  for (const part of listIn(parts)) {
    const data = isObject(part) ? (part.inlineData ?? part.inline_data) : undefined;
    if (!isObject(data) || typeof data.data !== 'string') continue;
    pieces.push(Buffer.from(data.data, 'base64'));
    rateHz ??= rateOf(data.mimeType ?? data.mime_type);
  }
  const finish = isObject(candidate) && typeof candidate.finishReason === 'string' ? candidate.finishReason : null;
  return {
    sound: pieces.length === 0 ? null : Buffer.concat(pieces),
    rateHz,
    finish,
    usage: usageOf(event.usageMetadata),
  };
}

/** Outside of it no speech is recorded, and sound would be made into hours of it. */
const ratesHz = { min: 4_000, max: 192_000 };

/** `audio/L16;codec=pcm;rate=24000`; low byte first, whatever RFC 2586 says of L16. */
function rateOf(mimeType: JsonValue | undefined): number | null {
  const rate = typeof mimeType === 'string' ? /;\s*rate=(\d{4,6})\b/i.exec(mimeType)?.[1] : undefined;
  const rateHz = Number(rate);
  return rateHz >= ratesHz.min && rateHz <= ratesHz.max ? rateHz : null;
}
