import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** What a caller says of its session by `session.update`, in either form of OpenAI's API, as far as others can do it. */
export interface SessionSettings {
  instructions: string;
  output: 'audio' | 'text';
  /** As the caller names it; null: the model's own. */
  voice: string | null;
  /** Who finds out that the caller has said all: silence of so many ms, or the caller's own commit. */
  turns: { by: 'silence'; silenceMs: number | null; prefixMs: number | null; responds: boolean } | { by: 'commit' };
  /** What is heard is to be written down. */
  transcribes: boolean;
  tools: readonly { name: string; description: string | null; parameters: JsonObject }[];
  temperature: number | null;
  maxOutputTokens: number | null;
}

export const firstSettings: SessionSettings = {
  instructions: '',
  output: 'audio',
  voice: null,
  turns: { by: 'silence', silenceMs: null, prefixMs: null, responds: true },
  transcribes: false,
  tools: [],
  temperature: null,
  maxOutputTokens: null,
};

/** Why an update cannot be done here. */
export interface WrongSetting {
  param: string;
  message: string;
}

/** The settings after an update; what it does not name stays. */
export function updated(before: SessionSettings, session: JsonObject): SessionSettings | WrongSetting {
  const audio = objectOf(session.audio);
  const input = objectOf(audio.input);
  const output = objectOf(audio.output);
  const formats = [
    ['session.audio.input.format', input.format],
    ['session.audio.output.format', output.format],
    ['session.input_audio_format', session.input_audio_format],
    ['session.output_audio_format', session.output_audio_format],
  ] as const;
  for (const [param, format] of formats) {
    const type = isObject(format) ? format.type : format;
    if (type !== undefined && type !== null && type !== 'audio/pcm' && type !== 'pcm16') {
      return { param, message: `${param} must be PCM of 24 kHz (audio/pcm): this model takes no other sound.` };
    }
  }
  const modalities = session.output_modalities ?? session.modalities;
  const voice = output.voice ?? session.voice;
  const transcription = first(input, session, 'transcription', 'input_audio_transcription');
  const detection = first(input, session, 'turn_detection', 'turn_detection');
  const tokens = session.max_output_tokens ?? session.max_response_output_tokens;
  return {
    instructions: typeof session.instructions === 'string' ? session.instructions : before.instructions,
    output: Array.isArray(modalities) ? (modalities.includes('audio') ? 'audio' : 'text') : before.output,
    voice: typeof voice === 'string' ? voice : before.voice,
    turns: detection === undefined ? before.turns : turnsOf(detection),
    transcribes: transcription === undefined ? before.transcribes : transcription !== null,
    tools: Array.isArray(session.tools) ? session.tools.flatMap(toolOf) : before.tools,
    temperature: typeof session.temperature === 'number' ? session.temperature : before.temperature,
    maxOutputTokens: typeof tokens === 'number' ? tokens : before.maxOutputTokens,
  };
}

/** The session as its caller is told of it. */
export function shownSession(id: string, model: string, settings: SessionSettings): JsonObject {
  const { instructions, output, voice, tools } = settings;
  const modalities = output === 'audio' ? ['audio'] : ['text'];
  const told = { id, object: 'realtime.session', type: 'realtime', model, instructions, output_modalities: modalities };
  return { ...told, tools: tools.map((tool) => ({ type: 'function', ...tool })), audio: { output: { voice } } };
}

function turnsOf(detection: JsonValue): SessionSettings['turns'] {
  if (!isObject(detection) || detection.type === 'none') return { by: 'commit' };
  const { silence_duration_ms: silence, prefix_padding_ms: prefix, create_response: responds } = detection;
  return {
    by: 'silence',
    silenceMs: typeof silence === 'number' ? silence : null,
    prefixMs: typeof prefix === 'number' ? prefix : null,
    responds: responds !== false,
  };
}

function toolOf(tool: JsonValue): SessionSettings['tools'][number][] {
  if (!isObject(tool) || tool.type !== 'function' || typeof tool.name !== 'string') return [];
  const description = typeof tool.description === 'string' ? tool.description : null;
  return [{ name: tool.name, description, parameters: objectOf(tool.parameters) }];
}

/** A present null says `off`. */
function first(input: JsonObject, session: JsonObject, present: string, older: string): JsonValue | undefined {
  return input[present] === undefined ? session[older] : input[present];
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
