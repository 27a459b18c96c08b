import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { furtherMembers } from '../../dialects/forward-body.ts';
import { invalidFieldIn, schemaBesideModel } from '../../dialects/forwarded/read-fields.ts';
import type { JsonSchema } from '../../neutral/described-check.ts';
import { type AudioFormat, audioFormats, type SpeechRequest, standardVoices } from '../../neutral/speech.ts';
import * as v from '../../neutral/value-checks.ts';
import { isNewer, isStandard } from './voices.ts';

const voiceCharsMax = 128;
const instructionsCharsMax = 32_768;

const rules = {
  response_format: v.oneOf(...audioFormats),
  speed: v.numberIn(0.25, 4),
  instructions: v.stringOf(0, instructionsCharsMax),
  stream_format: v.oneOf('audio', 'sse'),
};
const known = new Set(['model', 'input', 'voice', 'user', ...Object.keys(rules)]);

const inputSend = 'the text to speak';
const voiceSend = `a voice, such as ${standardVoices.map((name) => `'${name}'`).join(', ')} (GET /v1/audio/voices lists them)`;
const voiceName = v.stringOf(1, voiceCharsMax);

/** Schema of such a body for `/openapi.json`. */
export function speechSchema(): JsonSchema {
  const voice = v.textOr(v.members(voiceSend, { id: v.needed(voiceName, 'its id') }));
  return schemaBesideModel({ input: v.string, voice, ...rules }, { input: inputSend, voice: voiceSend });
}

/** The body of `POST /v1/audio/speech`; the first fault found names its field. How long `input` may be is not looked at. */
export function readSpeechRequest(body: JsonObject): SpeechRequest | Failure {
  const wrong = invalidFieldIn(body, null) ?? invalidInput(body.input);
  if (wrong !== null) return wrong;
  const voice = readVoice(body.voice);
  if (isFailure(voice)) return voice;
  for (const [name, rule] of Object.entries(rules)) {
    const complaint = v.optional(body, name, rule);
    if (complaint !== null) return v.asFailure(complaint);
  }
  // Half a character cannot be spoken, and is not UTF-8.
  const input = (body.input as string).toWellFormed();
  return {
    model: body.model as string,
    input,
    characters: codePoints(input),
    ...voice,
    format: (body.response_format as AudioFormat | null | undefined) ?? 'mp3',
    speed: (body.speed as number | null | undefined) ?? 1,
    instructions: (body.instructions as string | null | undefined) || null,
    delivery: body.stream_format === 'sse' ? 'events' : 'audio',
    user: typeof body.user === 'string' ? v.cleanUser(body.user) : null,
    extra: furtherMembers(body, known),
  };
}

/** A 400 when the text is longer than `limits.speech_chars` allows. */
export function tooLong({ characters }: Pick<SpeechRequest, 'characters'>, charactersMax: number): Failure | null {
  if (characters <= charactersMax) return null;
  return invalid(
    'input',
    `'input' has ${characters} characters. Send at most ${charactersMax}, or split the text into several requests.`,
  );
}

function invalidInput(input: JsonValue | undefined): Failure | null {
  if (input === undefined || v.string(input) !== null) return v.asFailure(v.complain('input', input, inputSend));
  return (input as string).trim() === ''
    ? invalid('input', "'input' is empty, so there is nothing to speak. Send some text.")
    : null;
}

/** The voice that a body names; a 400 when it is none. */
export function readVoice(voice: JsonValue | undefined): Pick<SpeechRequest, 'voice' | 'voiceKind'> | Failure {
  const name = isObject(voice) ? voice.id : voice;
  const fits = typeof name === 'string' && voiceName(name) === null && name.isWellFormed();
  if (!fits) return v.asFailure(v.complain('voice', voice === null ? undefined : voice, voiceSend));
  // An object names a voice that its caller has made. OpenAI's voices are the same in either form.
  const isCustom = isObject(voice) && !isStandard(name) && !isNewer(name);
  return { voice: name, voiceKind: isCustom ? 'id' : 'name' };
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
