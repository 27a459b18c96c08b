import type { Failure } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, wordsOf } from '../../kernel/json.ts';
import { wavHeader } from '../audio/wav.ts';
import { eventIn, type Frame, type RealtimeEvent } from '../dialects/realtime/events.ts';
import { type EventForm, EventWriter, ResponseWriter } from '../dialects/realtime/response-writer.ts';
import { firstSettings, type SessionSettings, shownSession, updated } from '../dialects/realtime/session-settings.ts';
import type { ModelCall } from '../spine/model-call.ts';
import type { Pace } from '../spine/sink.ts';
import type { CascadeSteps } from './cascade-steps.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';
import { type Heard, SpeechDetector, sampleRateHz } from './speech-detector.ts';

export interface CascadeParts {
  steps: CascadeSteps;
  call: ModelCall;
  id: string;
  form: EventForm;
  /** The chat model, as the caller names it, and those that hear and speak. */
  models: { chat: string; transcription: string; speech: string; voice: string };
  errorEvent(failure: Failure): RealtimeEvent;
}

const silenceUsualMs = 500;
const prefixUsualMs = 300;
/** Of sound that waits for its end; more of it is said in the next turn. */
const soundMaxMs = 300_000;
const soundBytesMax = (soundMaxMs * sampleRateHz * 2) / 1_000;
/** Messages that the chat model is given, the newest, and characters of all of them together. */
const messagesMax = 200;
const messagesCharsMax = 4_000_000;
/** Turns of the caller that wait for those before them. */
const turnsWaitingMax = 8;
/** Longest sound that is kept from before the speech, and longest silence that ends it. */
const paddingMaxMs = 10_000;
/** A piece of speech ends with a sentence of so many characters at least. */
const spokenCharsMin = 24;

/**
 * The end of a session that no model holds: what the caller says is transcribed, a chat model answers, and its answer is
 * spoken sentence by sentence while it goes on. Whoever begins to speak stops the answer.
 */
export class CascadeEnd implements SessionEnd {
  readonly #parts: CascadeParts;
  readonly #events: EventWriter;
  #listener: EndListener | null = null;
  #settings: SessionSettings = firstSettings;
  #detector = detectorFor(firstSettings);
  /** Of a caller that commits its sound itself. */
  #sound: Buffer[] = [];
  #soundBytes = 0;
  readonly #messages: JsonObject[] = [];
  #messagesChars = 0;
  /** The response that is made; null: none is. */
  #answering: { stop: AbortController; reason: 'turn_detected' | 'client_cancelled' } | null = null;
  /** What is said first is heard first. */
  #turns: Promise<void> = Promise.resolve();
  #turnsWaiting = 0;
  #pace: Pace = 'ready';
  readonly #left = new AbortController();

  constructor(parts: CascadeParts) {
    this.#parts = parts;
    this.#events = new EventWriter(parts.form, parts.id, (event) =>
      this.#listener?.frame(JSON.stringify(event), false),
    );
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    this.#events.write('session.created', { session: this.#shown() });
  }

  send(frame: Frame): Pace {
    const event = eventIn(frame);
    if (event !== null) this.#take(event);
    return this.#pace;
  }

  /** It makes no more than a response at a time, which has the bounds of each call. But events are answered by events. */
  pause(): void {
    this.#pace = 'behind';
  }

  resume(): void {
    this.#pace = 'ready';
    this.#listener?.drained();
  }

  close(code: number, reason: string): void {
    const listener = this.#listener;
    this.#listener = null;
    this.#left.abort();
    this.#answering?.stop.abort();
    // Of calls that were left, the settlement is their own.
    queueMicrotask(() => listener?.closed(code, reason));
  }

  terminate(): void {
    this.close(1006, '');
  }

  #take(event: RealtimeEvent): void {
    switch (event.type) {
      case 'session.update':
        return this.#update(event);
      case 'input_audio_buffer.append':
        return this.#append(event);
      case 'input_audio_buffer.commit': {
        const sound = Buffer.concat(this.#sound.splice(0));
        this.#soundBytes = 0;
        return this.#heard(sound, this.#events.id('item'), 'waits');
      }
      case 'input_audio_buffer.clear':
        this.#sound = [];
        this.#soundBytes = 0;
        return this.#events.write('input_audio_buffer.cleared', {});
      case 'conversation.item.create':
        return this.#createItem(event);
      case 'conversation.item.truncate': {
        const { item_id, content_index, audio_end_ms } = event;
        return this.#events.write('conversation.item.truncated', { item_id, content_index, audio_end_ms });
      }
      case 'response.create': {
        const { response } = event;
        const more = isObject(response) && typeof response.instructions === 'string' ? response.instructions : null;
        return this.#after(() => this.#respond(more));
      }
      case 'response.cancel':
        return this.#stop('client_cancelled');
      case 'output_audio_buffer.clear':
        return;
      default:
        this.#events.error(
          `This model does not take events of type '${event.type.slice(0, 100)}'.`,
          'type',
          event.event_id,
        );
    }
  }

  #update(event: RealtimeEvent): void {
    const next = updated(this.#settings, isObject(event.session) ? event.session : {});
    if ('param' in next) return this.#events.error(next.message, next.param, event.event_id);
    if (JSON.stringify(next.turns) !== JSON.stringify(this.#settings.turns)) this.#detector = detectorFor(next);
    this.#settings = next;
    this.#events.write('session.updated', { session: this.#shown() });
  }

  #append({ audio, event_id }: RealtimeEvent): void {
    if (typeof audio !== 'string') return this.#events.error('audio must be base64.', 'audio', event_id);
    const sound = Buffer.from(audio, 'base64');
    if (this.#detector !== null) {
      for (const heard of this.#detector.push(sound)) this.#detected(heard);
    } else if (this.#soundBytes + sound.length > soundBytesMax) {
      this.#events.error(`The sound is longer than ${soundMaxMs / 1_000} s. Commit it earlier.`, 'audio', event_id);
    } else {
      this.#sound.push(sound);
      this.#soundBytes += sound.length;
    }
  }

  /** The item that holds what the caller is saying. */
  #speaking = '';

  #detected(heard: Heard): void {
    if (heard.kind === 'begins') {
      this.#speaking = this.#events.id('item');
      this.#stop('turn_detected');
      this.#events.write('input_audio_buffer.speech_started', { audio_start_ms: heard.atMs, item_id: this.#speaking });
      return;
    }
    this.#events.write('input_audio_buffer.speech_stopped', { audio_end_ms: heard.atMs, item_id: this.#speaking });
    const { turns } = this.#settings;
    this.#heard(heard.sound, this.#speaking, turns.by === 'silence' && turns.responds ? 'responds' : 'waits');
  }

  /** One turn of the caller. */
  #heard(sound: Buffer, itemId: string, then: 'responds' | 'waits'): void {
    this.#events.write('input_audio_buffer.committed', { previous_item_id: null, item_id: itemId });
    this.#after(async () => {
      const { steps, call, models } = this.#parts;
      const wav = Buffer.concat([wavHeader({ rateHz: sampleRateHz, channels: 1 }, sound.length), sound]);
      const words = await steps.transcribe({ call, signal: this.#left.signal }, models.transcription, wav);
      if (typeof words !== 'string') return this.#failed(words);
      const content = [{ type: 'input_audio', transcript: words }];
      this.#events.item({
        id: itemId,
        object: 'realtime.item',
        type: 'message',
        role: 'user',
        status: 'completed',
        content,
      });
      if (this.#settings.transcribes) {
        const told = { item_id: itemId, content_index: 0, transcript: words };
        this.#events.write('conversation.item.input_audio_transcription.completed', told);
      }
      if (words.trim() === '') return;
      this.#say({ role: 'user', content: words });
      if (then === 'responds') await this.#respond(null);
    });
  }

  #createItem(event: RealtimeEvent): void {
    const item = isObject(event.item) ? event.item : {};
    const id = typeof item.id === 'string' ? item.id : this.#events.id('item');
    if (item.type === 'function_call_output') {
      this.#say({ role: 'tool', tool_call_id: wordsOf(item.call_id), content: wordsOf(item.output ?? '') });
    } else if (item.type === 'message') {
      const role = item.role === 'assistant' || item.role === 'system' ? item.role : 'user';
      this.#say({ role, content: Array.isArray(item.content) ? item.content.map(textOf).join('') : '' });
    } else {
      return this.#events.error(
        `This model does not take items of type '${wordsOf(item.type).slice(0, 100)}'.`,
        'item.type',
        event.event_id,
      );
    }
    const previous = typeof event.previous_item_id === 'string' ? event.previous_item_id : null;
    this.#events.item({ ...item, id, object: 'realtime.item', status: 'completed' }, previous);
  }

  #say(message: JsonObject): void {
    this.#messages.push(message);
    this.#messagesChars += charsOf(message);
    while (this.#messages.length > messagesMax || (this.#messages.length > 1 && this.#messagesChars > messagesCharsMax))
      this.#messagesChars -= charsOf(this.#messages.shift()!);
  }

  #after(turn: () => Promise<void>): void {
    if (this.#turnsWaiting >= turnsWaitingMax) {
      return this.#events.error(`${turnsWaitingMax} turns wait for their answers already. Wait for one.`, null, null);
    }
    this.#turnsWaiting += 1;
    this.#turns = this.#turns
      .then(turn)
      .catch(() => this.#failed({ kind: 'internal' }))
      .finally(() => {
        this.#turnsWaiting -= 1;
      });
  }

  async #respond(instructions: string | null): Promise<void> {
    if (this.#left.signal.aborted) return;
    const stop = new AbortController();
    const answering = { stop, reason: 'turn_detected' as const };
    this.#answering = answering;
    const response = new ResponseWriter(this.#events, this.#settings.output);
    const made = new Answer(this.#parts, this.#settings, response, stop.signal);
    const failure = await made.make(this.#asked(instructions));
    this.#answering = null;
    if (made.message !== null) this.#say(made.message);
    const { usage } = made;
    if (stop.signal.aborted) return response.done({ status: 'cancelled', reason: answering.reason, usage });
    if (failure === null) return response.done({ status: 'completed', usage });
    response.done({ status: 'failed', reason: failure.kind, usage });
    this.#failed(failure);
  }

  #asked(instructions: string | null): JsonObject {
    const { tools, temperature, maxOutputTokens } = this.#settings;
    const system = [this.#settings.instructions, instructions ?? ''].filter((text) => text !== '').join('\n\n');
    return {
      model: this.#parts.models.chat,
      stream: true,
      stream_options: { include_usage: true },
      messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...this.#messages],
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          type: 'function',
          function: { name, ...(description !== null && { description }), parameters },
        })),
      }),
      ...(temperature !== null && { temperature }),
      ...(maxOutputTokens !== null && { max_completion_tokens: maxOutputTokens }),
    };
  }

  #stop(reason: 'turn_detected' | 'client_cancelled'): void {
    if (this.#answering === null) return;
    Object.assign(this.#answering, { reason });
    this.#answering.stop.abort();
  }

  /** A caller that may have nothing more is closed; anything else may go better the next time. */
  #failed(failure: Failure): void {
    const { signal } = this.#left;
    if (signal.aborted) return;
    this.#listener?.frame(JSON.stringify(this.#parts.errorEvent(failure)), false);
    if (endsSession.has(failure.kind)) this.close(1008, failure.kind);
  }

  #shown(): JsonObject {
    return shownSession(`sess_${this.#parts.id}`, this.#parts.models.chat, this.#settings);
  }
}

const endsSession: ReadonlySet<Failure['kind']> = new Set(['quota-exceeded', 'unauthenticated', 'forbidden']);

/** One response: the chat model's words, and their sound. */
class Answer {
  /** For the conversation; null: nothing was said. */
  message: JsonObject | null = null;
  usage: JsonObject | null = null;
  readonly #parts: CascadeParts;
  readonly #settings: SessionSettings;
  readonly #response: ResponseWriter;
  readonly #signal: AbortSignal;
  #text = '';
  /** Not yet given to the speaker. */
  #unspoken = '';
  #speech: Promise<Failure | null> = Promise.resolve(null);
  readonly #calls: { id: string; name: string; arguments: string }[] = [];

  constructor(parts: CascadeParts, settings: SessionSettings, response: ResponseWriter, signal: AbortSignal) {
    this.#parts = parts;
    this.#settings = settings;
    this.#response = response;
    this.#signal = signal;
  }

  async make(body: JsonObject): Promise<Failure | null> {
    const { steps, call } = this.#parts;
    const failure = await steps.chat({ call, signal: this.#signal }, body, (chunk) => this.#chunk(chunk));
    if (failure === null) this.#speak(this.#unspoken);
    const unspoken = await this.#speech;
    if (!this.#signal.aborted) {
      for (const { id, name, arguments: given } of this.#calls) this.#response.call(id, name, given);
    }
    const calls = this.#calls.map(({ id, ...called }) => ({ id, type: 'function', function: called }));
    if (this.#text !== '' || calls.length > 0) {
      this.message = { role: 'assistant', content: this.#text, ...(calls.length > 0 && { tool_calls: calls }) };
    }
    return failure ?? unspoken;
  }

  #chunk({ choices, usage }: JsonObject): void {
    if (isObject(usage)) this.usage = usageOf(usage);
    const [choice] = Array.isArray(choices) ? choices : [];
    const delta = isObject(choice) && isObject(choice.delta) ? choice.delta : {};
    if (typeof delta.content === 'string' && delta.content !== '') this.#words(delta.content);
    for (const call of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
      if (!isObject(call)) continue;
      const at = typeof call.index === 'number' ? call.index : this.#calls.length;
      this.#calls[at] ??= { id: '', name: '', arguments: '' };
      const called = this.#calls[at]!;
      const given = isObject(call.function) ? call.function : {};
      if (typeof call.id === 'string') called.id = call.id;
      if (typeof given.name === 'string') called.name += given.name;
      if (typeof given.arguments === 'string') called.arguments += given.arguments;
    }
  }

  #words(text: string): void {
    if (this.#signal.aborted) return;
    this.#text += text;
    this.#response.text(text);
    if (this.#settings.output === 'text') return;
    this.#unspoken += text;
    const end = sentenceEnd(this.#unspoken);
    if (end === -1) return;
    this.#speak(this.#unspoken.slice(0, end));
    this.#unspoken = this.#unspoken.slice(end);
  }

  /** After what is being spoken; the model goes on writing meanwhile. */
  #speak(text: string): void {
    if (this.#settings.output === 'text' || text.trim() === '') return;
    const { steps, call, models } = this.#parts;
    const voice = this.#settings.voice ?? models.voice;
    const body = { model: models.speech, voice, input: text.trim(), response_format: 'pcm' };
    // A sample may be cut in two.
    let rest: Buffer = Buffer.alloc(0);
    const onSound = (sound: Buffer) => {
      const bytes = Buffer.concat([rest, sound]);
      const whole = bytes.length - (bytes.length % 2);
      rest = bytes.subarray(whole);
      if (whole > 0 && !this.#signal.aborted) this.#response.audio(bytes.toString('base64', 0, whole));
    };
    this.#speech = this.#speech.then((failure) =>
      failure !== null || this.#signal.aborted ? failure : steps.speak({ call, signal: this.#signal }, body, onSound),
    );
  }
}

/** Where a piece that can be spoken ends; -1: nowhere yet. */
function sentenceEnd(text: string): number {
  const found = /[.!?…]["')\]]*\s|[。！？]|\n/g;
  for (let match = found.exec(text); match !== null; match = found.exec(text)) {
    if (found.lastIndex >= spokenCharsMin) return found.lastIndex;
  }
  return -1;
}

function detectorFor({ turns }: SessionSettings): SpeechDetector | null {
  if (turns.by === 'commit') return null;
  const { silenceMs, prefixMs } = turns;
  return new SpeechDetector(
    {
      silenceMs: Math.min(silenceMs ?? silenceUsualMs, paddingMaxMs),
      prefixMs: Math.min(prefixMs ?? prefixUsualMs, paddingMaxMs),
    },
    soundMaxMs,
  );
}

function charsOf({ content, tool_calls: calls }: JsonObject): number {
  return String(content).length + (calls === undefined ? 0 : JSON.stringify(calls).length);
}

function textOf(part: JsonValue): string {
  if (!isObject(part)) return '';
  const said = part.text ?? part.transcript;
  return typeof said === 'string' ? said : '';
}

/** A chat completion's, in the words of the realtime API. */
function usageOf({
  prompt_tokens: input = 0,
  completion_tokens: output = 0,
  total_tokens: total = 0,
}: JsonObject): JsonObject {
  return { total_tokens: total, input_tokens: input, output_tokens: output };
}
