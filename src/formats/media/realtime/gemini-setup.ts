import type { JsonObject } from '../../../kernel/json.ts';
import type { SessionSettings } from './session-settings.ts';

/** The first message of a connection to Gemini's Live API, without what it says of the connection itself. */
export function setupOf(
  { model, voiceOf }: { model: string; voiceOf(name: string): string | null },
  settings: SessionSettings,
): JsonObject {
  const { instructions, output, voice, turns, transcribes, tools, toolChoice, temperature, maxOutputTokens } = settings;
  const voiceName = voice === null ? null : voiceOf(voice);
  const detection =
    turns.by === 'commit'
      ? { disabled: true }
      : {
          ...(turns.silenceMs !== null && { silenceDurationMs: turns.silenceMs }),
          ...(turns.prefixMs !== null && { prefixPaddingMs: turns.prefixMs }),
        };
  return {
    model: model.includes('/') ? model : `models/${model}`,
    generationConfig: {
      responseModalities: [output === 'audio' ? 'AUDIO' : 'TEXT'],
      ...(voiceName !== null && { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } } }),
      ...(temperature !== null && { temperature }),
      ...(maxOutputTokens !== null && { maxOutputTokens }),
    },
    ...(instructions !== '' && { systemInstruction: { parts: [{ text: instructions }] } }),
    ...(tools.length > 0 && toolChoice !== 'none' && { tools: [{ functionDeclarations: tools.map(declared) }] }),
    realtimeInputConfig: {
      automaticActivityDetection: detection,
      ...(turns.by === 'silence' && !turns.interrupts && { activityHandling: 'NO_INTERRUPTION' }),
    },
    ...(transcribes && { inputAudioTranscription: {} }),
    ...(output === 'audio' && { outputAudioTranscription: {} }),
  };
}

function declared({ name, description, parameters }: SessionSettings['tools'][number]): JsonObject {
  return {
    name,
    ...(description !== null && { description }),
    ...(Object.keys(parameters).length > 0 && { parametersJsonSchema: parameters }),
  };
}
