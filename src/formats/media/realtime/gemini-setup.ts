import type { JsonObject } from '../../../kernel/json.ts';
import type { SessionSettings } from './session-settings.ts';

/** The first message of a connection to Gemini's Live API, without what it says of the connection itself. */
export function setupOf(
  { model, voiceOf }: { model: string; voiceOf(name: string): string | null },
  settings: SessionSettings,
): JsonObject {
  const { instructions, output, voice, turns, transcribes, tools, toolChoice, temperature, maxOutputTokens } = settings;
  const voiceName = voice === null ? null : voiceOf(typeof voice === 'string' ? voice : voice.id);
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

export const noForcedCalls =
  "Gemini's Live API has no tool_choice, so the model calls functions when it wants to. For none, send the session's tool_choice 'none'.";
const noSpeed = "Gemini's Live API has no speed, so the model speaks at its usual one.";
const noEffort = "Gemini's Live API has no effort, so the model thinks as it usually does.";
const answersItself =
  "Gemini's Live API answers when the caller stops speaking. To ask for each response, send the turn_detection null.";

/** Settings that Gemini has no place for: the field, what is in force instead, and what to know of it. */
export function lostOf({ toolChoice, speed, effort, turns }: SessionSettings) {
  const lost: [field: string, instead: Partial<SessionSettings>, message: string][] = [];
  if (toolChoice !== 'auto' && toolChoice !== 'none') lost.push(['tool_choice', { toolChoice: 'auto' }, noForcedCalls]);
  if ((speed ?? 1) !== 1) lost.push(['audio.output.speed', {}, noSpeed]);
  if (effort !== null) lost.push(['reasoning.effort', { effort: null }, noEffort]);
  if (turns.by === 'silence' && !turns.responds)
    lost.push(['audio.input.turn_detection.create_response', { turns: { ...turns, responds: true } }, answersItself]);
  return lost;
}

function declared({ name, description, parameters }: SessionSettings['tools'][number]): JsonObject {
  return {
    name,
    ...(description !== null && { description }),
    ...(Object.keys(parameters).length > 0 && { parametersJsonSchema: parameters }),
  };
}
