import { isObject, type JsonObject, type JsonValue, jsonText, objectIn } from '../../../kernel/json.ts';
import type { WrongValue } from './events.ts';

/** PCM of 24 kHz and 16 bits, or G.711 by either law. */
export type SoundFormat = 'pcm' | 'pcmu' | 'pcma';

/** Settings of a session by `session.update`, in either form of OpenAI's API, as far as others can do them. */
export interface SessionSettings {
  instructions: string;
  output: 'audio' | 'text';
  /** In which the caller sends sound, and gets it. */
  formats: { input: SoundFormat; output: SoundFormat };
  /** Name of the caller, or the id of a voice of its own; null: the model's default. */
  voice: string | { id: string } | null;
  /** Speed of the speech; null: the model's usual one. */
  speed: number | null;
  /** End of the caller's speech: silence of so many ms, or the caller's commit. */
  turns: SilenceTurns | { by: 'commit' };
  /** The caller's speech is to be transcribed. */
  transcribes: boolean;
  /** The language that is spoken, and words that may come, for the model that writes it down. */
  hints: { language?: string; prompt?: string };
  tools: readonly { name: string; description: string | null; parameters: JsonObject }[];
  /** Whether the model calls a function, or the one that it has to call. */
  toolChoice: 'auto' | 'none' | 'required' | { name: string };
  /** How hard a model of a cascade thinks, and whether it may make several calls at once; null: as it usually does. */
  effort: string | null;
  parallelToolCalls: boolean | null;
  temperature: number | null;
  maxOutputTokens: number | null;
}

/** Turns of the caller that end by silence. `responds`: with an answer. `interrupts`: they stop the one that is spoken. */
interface SilenceTurns {
  by: 'silence';
  silenceMs: number | null;
  prefixMs: number | null;
  responds: boolean;
  interrupts: boolean;
}

export const firstSettings: SessionSettings = {
  instructions: '',
  output: 'audio',
  formats: { input: 'pcm', output: 'pcm' },
  voice: null,
  speed: null,
  turns: { by: 'silence', silenceMs: null, prefixMs: null, responds: true, interrupts: true },
  transcribes: false,
  hints: {},
  tools: [],
  toolChoice: 'auto',
  effort: null,
  parallelToolCalls: null,
  temperature: null,
  maxOutputTokens: null,
};

/**
 * The settings after an update; what it does not name stays. `takes`: the sound that the model may be given. `at`: where
 * the event has the settings.
 */
export function updated(
  before: SessionSettings,
  session: JsonValue | undefined,
  takes: readonly SoundFormat[],
  at: 'session' | 'response' = 'session',
): SessionSettings | WrongValue {
  if (!isObject(session)) return { param: at, message: `'${at}' is missing. Send an object of settings.` };
  const audio = objectIn(session.audio);
  const [input, output] = [objectIn(audio.input), objectIn(audio.output)];
  const named = [
    ['input', `${at}.audio.input.format`, input.format],
    ['output', `${at}.audio.output.format`, output.format],
    ['input', `${at}.input_audio_format`, session.input_audio_format],
    ['output', `${at}.output_audio_format`, session.output_audio_format],
  ] as const;
  const formats = { ...before.formats };
  for (const [side, param, value] of named) {
    if (value === undefined || value === null) continue;
    const format = formatOf(value);
    if (format === null || !takes.includes(format)) {
      const types = takes.map((one) => (one === 'pcm' ? 'PCM of 24 kHz (audio/pcm)' : `audio/${one}`)).join(', ');
      return { param, message: `${param} must be ${types}: this model takes no other sound.` };
    }
    formats[side] = format;
  }
  const modality = modalityOf(session, before.output, at);
  if (typeof modality === 'object') return modality;
  const toolChoice = toolChoiceOf(session.tool_choice, before.toolChoice, at);
  if (typeof toolChoice === 'object' && 'param' in toolChoice) return toolChoice;
  const tools = Array.isArray(session.tools) ? toolsOf(session.tools, at) : before.tools;
  if (isWrong(tools)) return tools;
  const speed = speedOf(output.speed ?? session.speed, before.speed, at);
  if (isWrong(speed)) return speed;
  const given = output.voice ?? session.voice;
  const voice = isObject(given) ? given.id : given;
  const { effort } = objectIn(session.reasoning);
  const parallel = session.parallel_tool_calls;
  const transcription = first(input, session, 'transcription', 'input_audio_transcription');
  const detection = first(input, session, 'turn_detection', 'turn_detection');
  const tokens = session.max_output_tokens ?? session.max_response_output_tokens;
  return {
    instructions: typeof session.instructions === 'string' ? session.instructions : before.instructions,
    output: modality,
    formats,
    voice: typeof voice !== 'string' ? before.voice : isObject(given) ? { id: voice } : voice,
    speed,
    turns: detection === undefined ? before.turns : turnsOf(detection),
    transcribes: transcription === undefined ? before.transcribes : transcription !== null,
    hints: transcription === undefined ? before.hints : hintsOf(transcription),
    tools,
    toolChoice,
    effort: typeof effort === 'string' ? effort : before.effort,
    parallelToolCalls: typeof parallel === 'boolean' ? parallel : before.parallelToolCalls,
    temperature: typeof session.temperature === 'number' ? session.temperature : before.temperature,
    maxOutputTokens: typeof tokens === 'number' ? tokens : tokens === 'inf' ? null : before.maxOutputTokens,
  };
}

/** Sound comes with its transcript, which the older API names. */
function modalityOf(
  { output_modalities: present, modalities: older }: JsonObject,
  before: SessionSettings['output'],
  at: string,
): SessionSettings['output'] | WrongValue {
  const value = present ?? older ?? null;
  if (value === null) return before;
  const name = Array.isArray(value) ? value.map(jsonText).sort().join() : '';
  if (name === 'text' || name === 'audio') return name;
  const isOlder = (present ?? null) === null;
  if (isOlder && name === 'audio,text') return 'audio';
  const sound = isOlder ? '["audio", "text"]' : '["audio"]';
  const message = `Invalid modalities: ${jsonText(value).slice(0, 100)}. Supported combinations are: ["text"] and ${sound}.`;
  return { param: `${at}.${isOlder ? 'modalities' : 'output_modalities'}`, message };
}

function toolChoiceOf(
  value: JsonValue | undefined,
  before: SessionSettings['toolChoice'],
  at: string,
): SessionSettings['toolChoice'] | WrongValue {
  if (value === undefined || value === null) return before;
  if (value === 'auto' || value === 'none' || value === 'required') return value;
  const { type, name } = objectIn(value);
  if (type === 'function' && typeof name === 'string' && name !== '') return { name };
  const param = `${at}.tool_choice`;
  const message = `Invalid '${param}'. Send 'auto', 'none', 'required' or {"type": "function", "name": "…"}.`;
  return { param, message };
}

/** The session as its caller gets it. */
export function shownSession(id: string, model: string, settings: SessionSettings): JsonObject {
  const { instructions, output, formats, voice, speed, turns, tools, toolChoice, maxOutputTokens } = settings;
  const modalities = output === 'audio' ? ['audio'] : ['text'];
  const shown = {
    id,
    object: 'realtime.session',
    type: 'realtime',
    model,
    instructions,
    output_modalities: modalities,
  };
  const audio = {
    input: { format: shownFormat(formats.input), turn_detection: shownTurns(turns) },
    output: { format: shownFormat(formats.output), voice, speed: speed ?? 1 },
  };
  const tool_choice = typeof toolChoice === 'string' ? toolChoice : { type: 'function', ...toolChoice };
  const functions = tools.map((tool) => ({ type: 'function', ...tool }));
  return { ...shown, tools: functions, tool_choice, max_output_tokens: maxOutputTokens ?? 'inf', audio };
}

function shownTurns(turns: SessionSettings['turns']): JsonObject | null {
  if (turns.by === 'commit') return null;
  const { silenceMs, prefixMs, responds, interrupts } = turns;
  return {
    type: 'server_vad',
    ...(silenceMs !== null && { silence_duration_ms: silenceMs }),
    ...(prefixMs !== null && { prefix_padding_ms: prefixMs }),
    create_response: responds,
    interrupt_response: interrupts,
  };
}

/** The older API names a format by a word. */
export const olderFormats: ReadonlyMap<JsonValue, SoundFormat> = new Map([
  ['pcm16', 'pcm'],
  ['g711_ulaw', 'pcmu'],
  ['g711_alaw', 'pcma'],
]);

/** Null: another one, or PCM of another rate. */
function formatOf(value: JsonValue): SoundFormat | null {
  if (!isObject(value)) return olderFormats.get(value) ?? null;
  if (value.type === 'audio/pcm') return (value.rate ?? 24_000) === 24_000 ? 'pcm' : null;
  return value.type === 'audio/pcmu' ? 'pcmu' : value.type === 'audio/pcma' ? 'pcma' : null;
}

export function shownFormat(format: SoundFormat): JsonObject {
  return { type: `audio/${format}`, ...(format === 'pcm' && { rate: 24_000 }) };
}

/** A session that only transcribes, likewise; `model` null: none is named yet. */
export function shownTranscriptions(id: string, model: string | null, { formats, turns }: SessionSettings): JsonObject {
  const detection = turns.by === 'silence' ? { type: 'server_vad' } : null;
  const transcription = model === null ? null : { model };
  const input = { format: shownFormat(formats.input), transcription, turn_detection: detection };
  return { id, object: 'realtime.transcription_session', type: 'transcription', audio: { input } };
}

/** Model that an update names for transcripts of the caller's speech; null: none. */
export function transcriptionModelIn(session: JsonValue | undefined): string | null {
  const { model } = objectIn(objectIn(objectIn(objectIn(session).audio).input).transcription);
  return typeof model === 'string' && model !== '' ? model : null;
}

/** The same in either form of OpenAI's API, of a session that may answer too. Undefined: it names nothing. */
export function transcriberIn(session: JsonValue | undefined): string | null | undefined {
  const { audio, input_audio_transcription: older } = objectIn(session);
  const { transcription = older } = objectIn(objectIn(audio).input);
  const { model } = objectIn(transcription);
  return typeof model === 'string' && model !== '' ? model : transcription === null ? null : undefined;
}

/** The update with the model under this name. */
export function withTranscriptionModel(session: JsonObject, model: string): JsonObject {
  const audio = objectIn(session.audio);
  const input = objectIn(audio.input);
  return {
    ...session,
    audio: { ...audio, input: { ...input, transcription: { ...objectIn(input.transcription), model } } },
  };
}

function hintsOf(transcription: JsonValue): SessionSettings['hints'] {
  const { languages, prompt, language = languages } = objectIn(transcription);
  const [only, second] = Array.isArray(language) ? language : [language];
  return {
    ...(typeof only === 'string' && second === undefined && { language: only }),
    ...(typeof prompt === 'string' && { prompt }),
  };
}

function turnsOf(detection: JsonValue): SessionSettings['turns'] {
  if (!isObject(detection) || detection.type === 'none') return { by: 'commit' };
  const { silence_duration_ms: silence, prefix_padding_ms: prefix } = detection;
  return {
    by: 'silence',
    silenceMs: typeof silence === 'number' ? silence : null,
    prefixMs: typeof prefix === 'number' ? prefix : null,
    responds: detection.create_response !== false,
    interrupts: detection.interrupt_response !== false,
  };
}

function toolsOf(values: readonly JsonValue[], at: string): SessionSettings['tools'] | WrongValue {
  const tools: SessionSettings['tools'][number][] = [];
  for (const [index, value] of values.entries()) {
    const { type, name, description, parameters } = objectIn(value);
    const param = `${at}.tools[${index}]`;
    if (type !== 'function') {
      return { param: `${param}.type`, message: `Invalid '${param}.type'. This model takes functions alone.` };
    }
    if (typeof name !== 'string' || name === '') {
      return { param: `${param}.name`, message: `Missing required parameter: '${param}.name'.` };
    }
    tools.push({
      name,
      description: typeof description === 'string' ? description : null,
      parameters: objectIn(parameters),
    });
  }
  return tools;
}

const speedMin = 0.25;
const speedMax = 1.5;

function speedOf(value: JsonValue | undefined, before: number | null, at: string): number | null | WrongValue {
  if (value === undefined || value === null) return before;
  if (typeof value === 'number' && value >= speedMin && value <= speedMax) return value;
  const param = `${at}.audio.output.speed`;
  return { param, message: `Invalid '${param}'. Send a number from ${speedMin} to ${speedMax}.` };
}

function isWrong(value: unknown): value is WrongValue {
  return typeof value === 'object' && value !== null && 'param' in value;
}

/** A present null says `off`. */
function first(input: JsonObject, session: JsonObject, present: string, older: string): JsonValue | undefined {
  return input[present] === undefined ? session[older] : input[present];
}
