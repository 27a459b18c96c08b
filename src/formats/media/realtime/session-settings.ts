import { factsOf } from '../../../kernel/failure-facts.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  jsonText,
  objectIn,
  objectsIn,
  stringOr,
} from '../../../kernel/json.ts';
import * as v from '../../neutral/value-checks.ts';
import type { WrongValue } from './events.ts';

/** PCM of 24 kHz and 16 bits, or G.711 by either law. */
export type SoundFormat = 'pcm' | 'pcmu' | 'pcma';

/** Settings of a session by `session.update`, in either form of OpenAI's API, as far as others can do them. */
export interface SessionSettings {
  instructions: string;
  output: 'audio' | 'text';
  /** In which the caller sends sound, and gets it. */
  formats: { input: SoundFormat; output: SoundFormat };
  /** The caller's name for it, or the id of a voice that it has made; null: the model's default. */
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

const voiceCheck = v.textOr(v.members('a name or {"id": "…"}', { id: v.needed(v.string, 'its id') }));
const detectionCheck = v.members('an object such as {"type": "server_vad"}, or null', {
  type: v.oneOf('server_vad', 'semantic_vad', 'none'),
  create_response: v.boolean,
  interrupt_response: v.boolean,
});
const tokensCheck = v.wordOr(['inf'], v.integerIn(1, Number.MAX_SAFE_INTEGER));
const speedCheck = v.numberIn(0.25, 1.5);
const functionMembers = {
  type: v.needed(v.oneOf('function'), "'function'"),
  name: v.needed(v.stringOf(1, 256), 'its name'),
};
const choiceCheck = v.members('\'auto\', \'none\', \'required\' or {"type": "function", "name": "…"}', functionMembers);

/** Values of the settings. One of another type would change nothing. */
const settingsCheck = v.members('an object of settings', {
  instructions: v.string,
  prompt: (value) => v.complain('', value, 'instructions, since this session reads no stored prompts'),
  tools: v.arrayOf(v.members('an object', functionMembers), 0, Number.POSITIVE_INFINITY, 'functions'),
  tool_choice: v.wordOr(['auto', 'none', 'required'], choiceCheck),
  parallel_tool_calls: v.boolean,
  temperature: v.numberIn(0, 2),
  reasoning: v.members('an object', { effort: v.string }),
  max_output_tokens: tokensCheck,
  max_response_output_tokens: tokensCheck,
  voice: voiceCheck,
  speed: speedCheck,
  turn_detection: detectionCheck,
  input_audio_transcription: v.object,
  audio: v.members('an object', {
    input: v.members('an object', { turn_detection: detectionCheck, transcription: v.object }),
    output: v.members('an object', { voice: voiceCheck, speed: speedCheck }),
  }),
});

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
  const complaint = settingsCheck(session);
  if (complaint !== null) {
    const { path } = v.within(at, complaint);
    return { param: path, message: factsOf(v.asFailure({ ...complaint, path }), 0).message };
  }
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
  const given = output.voice ?? session.voice;
  const pace = output.speed ?? session.speed;
  const voice = isObject(given) ? given.id : given;
  const { effort } = objectIn(session.reasoning);
  const parallel = session.parallel_tool_calls;
  const transcription = first(input, session, 'transcription', 'input_audio_transcription');
  const detection = first(input, session, 'turn_detection', 'turn_detection');
  const tokens = session.max_output_tokens ?? session.max_response_output_tokens;
  return {
    instructions: stringOr(session.instructions, before.instructions),
    output: modality,
    formats,
    voice: typeof voice !== 'string' ? before.voice : isObject(given) ? { id: voice } : voice,
    speed: typeof pace === 'number' ? pace : before.speed,
    turns: detection === undefined ? before.turns : turnsOf(detection),
    transcribes: transcription === undefined ? before.transcribes : transcription !== null,
    hints: transcription === undefined ? before.hints : hintsOf(transcription),
    tools: Array.isArray(session.tools) ? objectsIn(session.tools).map(toolOf) : before.tools,
    toolChoice: toolChoiceOf(session.tool_choice) ?? before.toolChoice,
    effort: stringOr(effort, before.effort),
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

/** Null: it is not there. */
function toolChoiceOf(value: JsonValue | undefined): SessionSettings['toolChoice'] | null {
  if (value === 'auto' || value === 'none' || value === 'required') return value;
  return isObject(value) ? { name: jsonText(value.name) } : null;
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

/** Model that an update, in either form of OpenAI's API, names for transcripts of the caller's speech. Null: none; undefined: it does not say. */
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

function toolOf({ name, description, parameters }: JsonObject): SessionSettings['tools'][number] {
  return { name: jsonText(name), description: stringOr(description, null), parameters: objectIn(parameters) };
}

/** A present null says `off`. */
function first(input: JsonObject, session: JsonObject, present: string, older: string): JsonValue | undefined {
  return input[present] === undefined ? session[older] : input[present];
}
