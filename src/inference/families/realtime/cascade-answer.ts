import type { ResponseWriter } from '../../../formats/media/realtime/response-writer.ts';
import type { SessionSettings } from '../../../formats/media/realtime/session-settings.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, listIn, objectIn } from '../../../kernel/json.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { CascadeSteps } from './cascade-steps.ts';
import { soundWriter } from './session-sound.ts';
import { sampleRateHz } from './speech-detector.ts';
import type { VoicedText } from './voiced-text.ts';

export interface AnswerParts {
  steps: CascadeSteps;
  call: ModelCall;
  /** The chat model, as the caller names it, and the one that speaks. */
  models: { chat: string; speech: string; voice: string };
  settings: SessionSettings;
  response: ResponseWriter;
  /** The sound of its words, as it is made. */
  voiced: VoicedText;
  signal: AbortSignal;
}

/** A piece of speech ends with a sentence of so many characters at least. */
const sentenceCharsMin = 24;

/** One response: the chat model's words, and their sound. */
export class CascadeAnswer {
  usage: JsonObject | null = null;
  /** Why the model's words end early, in OpenAI's word; null: they do not. */
  cut: 'max_output_tokens' | 'content_filter' | null = null;
  readonly #parts: AnswerParts;
  /** Not yet given to the speaker. */
  #unspoken = '';
  #speech: Promise<Failure | null> = Promise.resolve(null);
  /** By the model's own numbers, which some count from 1. */
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>();

  constructor(parts: AnswerParts) {
    this.#parts = parts;
  }

  async make(body: JsonObject): Promise<Failure | null> {
    const { steps, call, response, signal } = this.#parts;
    const failure = await steps.chat({ call, signal }, body, (chunk) => this.#chunk(chunk));
    if (failure === null) this.#speak(this.#unspoken);
    const unspoken = await this.#speech;
    // Arguments of a call may be cut as the words are.
    if (!signal.aborted && this.cut === null) {
      for (const { id, name, arguments: given } of this.#calls.values()) response.call(id, name, given);
    }
    return failure ?? unspoken;
  }

  #chunk({ choices, usage }: JsonObject): void {
    if (isObject(usage)) this.usage = usageOf(usage);
    const [choice] = listIn(choices);
    const { delta: given, finish_reason: finish } = objectIn(choice);
    if (finish === 'length') this.cut = 'max_output_tokens';
    else if (finish === 'content_filter') this.cut = finish;
    const delta = objectIn(given);
    if (typeof delta.content === 'string' && delta.content !== '') this.#words(delta.content);
    for (const call of listIn(delta.tool_calls)) {
      if (!isObject(call)) continue;
      // Without a number, a piece with an id begins a call, and others go on with the last one.
      const last = this.#calls.size - 1;
      const at =
        typeof call.index === 'number' ? call.index : typeof call.id === 'string' ? last + 1 : Math.max(0, last);
      const called = this.#calls.get(at) ?? { id: '', name: '', arguments: '' };
      this.#calls.set(at, called);
      const given = objectIn(call.function);
      if (typeof call.id === 'string') called.id = call.id;
      if (typeof given.name === 'string') called.name += given.name;
      if (typeof given.arguments === 'string') called.arguments += given.arguments;
    }
  }

  #words(text: string): void {
    const { settings, response, signal } = this.#parts;
    if (signal.aborted) return;
    response.text(text);
    if (settings.output === 'text') return;
    this.#unspoken += text;
    const end = sentenceEnd(this.#unspoken);
    if (end === -1) return;
    this.#speak(this.#unspoken.slice(0, end));
    this.#unspoken = this.#unspoken.slice(end);
  }

  /** After what is being spoken; the model goes on writing meanwhile. */
  #speak(text: string): void {
    const { steps, call, models, settings, response, voiced, signal } = this.#parts;
    if (settings.output === 'text' || text === '') return;
    const { speed } = settings;
    const voice = settings.voice ?? models.voice;
    const paced = speed === null ? {} : { speed };
    const body = { model: models.speech, voice, input: text.trim(), response_format: 'pcm', ...paced };
    const writer = soundWriter(settings.formats.output);
    const give = (sound: Buffer) => {
      if (sound.length > 0 && !signal.aborted) response.audio(sound.toString('base64'));
    };
    this.#speech = this.#speech.then(async (failure) => {
      if (failure !== null || signal.aborted) return failure;
      voiced.begin(text.length);
      if (text.trim() === '') return null;
      const failed = await steps.speak({ call, signal }, body, (sound) => {
        voiced.add((sound.length * 1_000) / (sampleRateHz * 2));
        give(writer.push(sound));
      });
      give(writer.end());
      return failed;
    });
  }
}

/** Where a piece that can be spoken ends; -1: nowhere yet. */
function sentenceEnd(text: string): number {
  const found = /[.!?…]["')\]]*\s|[。！？]|\n/g;
  for (let match = found.exec(text); match !== null; match = found.exec(text)) {
    if (found.lastIndex >= sentenceCharsMin) return found.lastIndex;
  }
  return -1;
}

/** A chat completion's, in the words of the realtime API. */
function usageOf({
  prompt_tokens: input = 0,
  completion_tokens: output = 0,
  total_tokens: total = 0,
}: JsonObject): JsonObject {
  return { total_tokens: total, input_tokens: input, output_tokens: output };
}
