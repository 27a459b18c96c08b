import { isObject, type JsonObject, type JsonValue, objectIn, objectsIn } from '../../../kernel/json.ts';
import { jsonSchemaOf } from '../../dialects/gemini/request-fields.ts';

/** Settings in the first message of a session of Gemini's Live API. */
export interface LiveSetup {
  model: string;
  /** The session's settings in OpenAI's words. */
  session: JsonObject;
  /** Transcripts that the caller wants: of its speech, and of the model's. */
  transcribes: { input: boolean; output: boolean };
  /** Speech of the caller stops that of the model. */
  interrupts: boolean;
  /** So much silence ends what the caller says. */
  silenceMs: number;
}

/** Null: the message is no setup. */
export function liveSetupOf(message: JsonObject): LiveSetup | null {
  const { setup } = message;
  if (!isObject(setup) || typeof setup.model !== 'string' || setup.model === '') return null;
  const config = objectIn(setup.generationConfig);
  const modalities = Array.isArray(config.responseModalities) ? config.responseModalities : ['AUDIO'];
  const voiceConfig = objectIn(objectIn(config.speechConfig).voiceConfig);
  const { voiceName } = objectIn(voiceConfig.prebuiltVoiceConfig);
  const instructions = textIn(setup.systemInstruction);
  const tools = objectsIn(setup.tools).flatMap(toolsIn);
  const detection = detectionOf(setup.realtimeInputConfig);
  const input = setup.inputAudioTranscription !== undefined && setup.inputAudioTranscription !== null;
  const output = setup.outputAudioTranscription !== undefined && setup.outputAudioTranscription !== null;
  return {
    model: setup.model.replace(/^models\//, ''),
    session: {
      type: 'realtime',
      output_modalities: [modalities.includes('AUDIO') ? 'audio' : 'text'],
      audio: {
        input: { turn_detection: detection, ...(input && { transcription: inputTranscriber }) },
        ...(typeof voiceName === 'string' && { output: { voice: voiceName } }),
      },
      ...(instructions !== '' && { instructions }),
      ...(tools.length > 0 && { tools }),
      ...(typeof config.maxOutputTokens === 'number' && { max_output_tokens: config.maxOutputTokens }),
    },
    transcribes: { input, output },
    interrupts: !isUninterrupted(setup.realtimeInputConfig),
    silenceMs: Math.max(0, Math.min(Math.round(Number(detection?.silence_duration_ms ?? 1_000)), 10_000)) + 500,
  };
}

/** OpenAI names a model for what is heard; others have their own. */
const inputTranscriber = { model: 'whisper-1' };

/** Null: the caller says itself when it begins and ends. */
function detectionOf(realtimeInput: JsonValue | undefined): JsonObject | null {
  const detection = objectIn(objectIn(realtimeInput).automaticActivityDetection);
  if (detection.disabled === true) return null;
  const { silenceDurationMs: silence, prefixPaddingMs: prefix } = detection;
  return {
    type: 'server_vad',
    ...(typeof silence === 'number' && { silence_duration_ms: silence }),
    ...(typeof prefix === 'number' && { prefix_padding_ms: prefix }),
    ...(isUninterrupted(realtimeInput) && { interrupt_response: false }),
  };
}

function isUninterrupted(realtimeInput: JsonValue | undefined): boolean {
  return objectIn(realtimeInput).activityHandling === 'NO_INTERRUPTION';
}

function toolsIn({ functionDeclarations }: JsonObject): JsonObject[] {
  return objectsIn(functionDeclarations).map(({ name, description, parameters, parametersJsonSchema: schema }) => ({
    type: 'function',
    name: name ?? '',
    ...(typeof description === 'string' && { description }),
    parameters: isObject(schema) ? schema : isObject(parameters) ? jsonSchemaOf(parameters) : { type: 'object' },
  }));
}

/** All texts of a content; '' where it has none. */
export function textIn(content: JsonValue | undefined): string {
  const texts = objectsIn(objectIn(content).parts).map(({ text }) => text);
  return texts.filter((text) => typeof text === 'string').join('\n');
}

/** Usage in Google's words. */
export function liveUsageOf(usage: JsonValue | undefined): JsonObject {
  const { input_tokens, output_tokens, input_token_details, output_token_details } = objectIn(usage);
  const [prompt, response] = [Number(input_tokens ?? 0), Number(output_tokens ?? 0)];
  const cached = Number(objectIn(input_token_details).cached_tokens ?? 0);
  return {
    promptTokenCount: prompt,
    responseTokenCount: response,
    totalTokenCount: prompt + response,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    promptTokensDetails: modalitiesOf(objectIn(input_token_details)),
    responseTokensDetails: modalitiesOf(objectIn(output_token_details)),
  };
}

function modalitiesOf({ text_tokens: text, audio_tokens: audio, image_tokens: image }: JsonObject): JsonObject[] {
  const counts = { TEXT: text, AUDIO: audio, IMAGE: image };
  return Object.entries(counts).flatMap(([modality, tokenCount]) =>
    typeof tokenCount === 'number' && tokenCount > 0 ? [{ modality, tokenCount }] : [],
  );
}
