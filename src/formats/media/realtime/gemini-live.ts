import { isObject, type JsonObject, type JsonValue, jsonText, listIn, objectIn } from '../../../kernel/json.ts';
import type { RealtimeEvent } from './events.ts';
import { GeminiChannel } from './gemini-channel.ts';
import { lostOf, noForcedCalls, setupOf } from './gemini-setup.ts';
import { hasTokens, usageOf } from './gemini-usage.ts';
import { type EventForm, EventWriter, ResponseWriter } from './response-writer.ts';
import { firstSettings, type SessionSettings, shownSession, updated } from './session-settings.ts';

export interface GeminiLiveFacts {
  /** Name of the session. */
  id: string;
  /** Names of the model, as the caller and the provider write it: an id, or a whole resource. */
  alias: string;
  model: string;
  form: EventForm;
  /** The provider's voice for a name of the caller's; null: it has none. */
  voiceOf(name: string): string | null;
  /** Its voices, for a message. */
  voices: readonly string[];
  /** Whether the session may go on over another connection. */
  resumes: boolean;
}

/** Receivers of messages. */
export interface GeminiLiveSinks {
  up(message: JsonObject): void;
  down(event: RealtimeEvent): void;
  /** Calls back when a message that was sent just now would be here. */
  soon(call: () => void): void;
  /** The present connection is to be left for another, of which `opened` tells. */
  reopen(): void;
}

/**
 * OpenAI's realtime events on the caller's side, Gemini's Live API (`BidiGenerateContent`,
 * https://ai.google.dev/api/live) on the other. Gemini takes its settings in the first message alone, so that is sent when
 * the caller first says something else than `session.update`; later ones need another connection.
 */
export class GeminiLive {
  readonly #facts: GeminiLiveFacts;
  readonly #events: EventWriter;
  #settings: SessionSettings = firstSettings;
  readonly #channel: GeminiChannel;
  readonly #soon: GeminiLiveSinks['soon'];
  #response: ResponseWriter | null = null;
  /** The response was interrupted, or the caller has cancelled it: what still comes of it is not passed on. */
  #cancelled: 'turn_detected' | 'client_cancelled' | null = null;
  /** A request for another response, which waits for the end of the cancelled one. */
  #next: RealtimeEvent | null = null;
  #usage: JsonObject | null = null;
  /** The turn is over but for its usage, which may come in the next message. */
  #awaitsUsage = false;
  /** Names of functions that were called, by the id of the call, and answers for Gemini, which takes all at once. */
  readonly #calls = new Map<string, string>();
  #results: JsonObject[] = [];
  /** Sound that the caller commits itself is between two marks. */
  #activity: 'none' | 'open' | 'committed' = 'none';
  /** The caller's item for its present speech, and the transcript so far; null: it does not speak. */
  #speech: { item: string; transcript: string } | null = null;

  constructor(facts: GeminiLiveFacts, sinks: GeminiLiveSinks) {
    this.#facts = facts;
    this.#soon = sinks.soon;
    this.#events = new EventWriter(facts.form, facts.id, sinks.down);
    this.#channel = new GeminiChannel({
      ...sinks,
      setup: () => setupOf(facts, this.#settings),
      resumes: facts.resumes,
      isAtRest: () => this.#isAtRest(),
    });
  }

  /** Characters that wait for a connection. */
  get waitingChars(): number {
    return this.#channel.waitingChars;
  }

  begin(): void {
    this.#events.write('session.created', { session: this.#shown() });
  }

  /** There is another connection, which has heard nothing yet. */
  opened(): void {
    this.#channel.opened();
  }

  /** The connection broke. False: the session cannot go on. */
  broken(): boolean {
    if (!this.#channel.broken()) return false;
    const message = 'The connection to the provider broke during the response. Ask for it again.';
    const error = { type: 'server_error', code: null, message };
    this.#response?.done({ status: 'failed', error, usage: this.#usage });
    this.#forgetTurn();
    // Gemini does not know of them any more, or has cancelled them.
    this.#calls.clear();
    this.#results = [];
    this.#activity = 'none';
    this.#respondNext();
    return true;
  }

  /** A message of the caller that is no event. */
  refuse(message: string): void {
    this.#events.error(message, null, undefined);
  }

  fromCaller(event: RealtimeEvent): void {
    switch (event.type) {
      case 'session.update':
        return this.#update(event);
      case 'input_audio_buffer.append':
        return this.#append(event);
      case 'input_audio_buffer.commit':
        return this.#commit();
      case 'input_audio_buffer.clear':
        return this.#events.write('input_audio_buffer.cleared', {});
      case 'conversation.item.create':
        return this.#createItem(event);
      case 'conversation.item.truncate':
        return this.#events.truncated(event);
      case 'response.create':
        return this.#respond(event);
      case 'response.cancel':
        if (!this.#events.cancels(event, this.#response?.id ?? null)) return;
        this.#cancelled ??= 'client_cancelled';
        this.#next = null;
        return;
      case 'output_audio_buffer.clear':
        return;
      default:
        this.#events.notTaken(event);
    }
  }

  fromGemini(message: JsonObject): void {
    this.#channel.take(message);
    if (isObject(message.usageMetadata)) this.#usage = usageOf(message.usageMetadata);
    if (this.#awaitsUsage && (this.#usage !== null || isObject(message.serverContent) || isObject(message.toolCall)))
      this.#end();
    if (isObject(message.serverContent)) this.#content(message.serverContent);
    if (isObject(message.toolCall)) this.#toolCall(message.toolCall);
    const cancellation = message.toolCallCancellation;
    if (isObject(cancellation) && Array.isArray(cancellation.ids)) {
      for (const id of cancellation.ids) this.#calls.delete(jsonText(id));
    }
  }

  #update(event: RealtimeEvent): void {
    const merged = updated(this.#settings, event.session, ['pcm']);
    if ('param' in merged) return this.#events.error(merged.message, merged.param, event.event_id);
    const lost = lostOf(merged);
    const next: SessionSettings = Object.assign({ ...merged, speed: null }, ...lost.map(([, instead]) => instead));
    const voice = typeof next.voice === 'string' ? next.voice : (next.voice?.id ?? null);
    if (voice !== null && this.#facts.voiceOf(voice) === null) {
      const message = `The model has no voice '${voice.slice(0, 64)}'. Its voices: ${this.#facts.voices.join(', ')}.`;
      return this.#events.error(message, 'session.audio.output.voice', event.event_id);
    }
    const isOther = JSON.stringify(next) !== JSON.stringify(this.#settings);
    if (isOther && this.#channel.isFixed) {
      const message =
        'This model takes settings only before the session has heard anything. Open a new session for others.';
      return this.#events.error(message, 'session', event.event_id);
    }
    this.#settings = next;
    if (isOther) this.#channel.renew();
    this.#events.write('session.updated', { session: this.#shown() });
    for (const [field, , message] of lost) this.#events.error(message, `session.${field}`, event.event_id);
  }

  #append({ audio, event_id }: RealtimeEvent): void {
    if (typeof audio !== 'string') return this.#events.error(noSound, 'audio', event_id, 'invalid_value');
    if (this.#settings.turns.by === 'commit' && this.#activity === 'none') {
      this.#activity = 'open';
      this.#up({ realtimeInput: { activityStart: {} } });
    }
    this.#up({ realtimeInput: { audio: { mimeType: 'audio/pcm;rate=24000', data: audio } } });
  }

  #commit(): void {
    const item = this.#speechItem();
    this.#events.write('input_audio_buffer.committed', { previous_item_id: null, item_id: item });
    if (this.#activity === 'open') this.#activity = 'committed';
    else this.#up({ realtimeInput: { audioStreamEnd: true } });
  }

  /** Id of the caller's item for its present speech, which is added with its first piece. */
  #speechItem(): string {
    if (this.#speech === null) {
      this.#speech = { item: this.#events.id('item'), transcript: '' };
      const content = [{ type: 'input_audio', transcript: null }];
      const { item: id } = this.#speech;
      this.#events.item({ id, object: 'realtime.item', type: 'message', role: 'user', status: 'completed', content });
    }
    return this.#speech.item;
  }

  #createItem(event: RealtimeEvent): void {
    const item = objectIn(event.item);
    if (item.type === 'function_call_output') {
      const callId = jsonText(item.call_id);
      const name = this.#calls.get(callId);
      if (name === undefined) {
        const message = `No call with the id '${callId.slice(0, 100)}' is open.`;
        return this.#events.error(message, 'item.call_id', event.event_id, 'invalid_tool_call_id');
      }
      this.#calls.delete(callId);
      this.#results.push({ id: callId, name, response: { output: item.output ?? '' } });
    } else if (item.type === 'message') {
      const parts = listIn(item.content).map(partOf);
      // Google takes no turn without parts.
      if (parts.length === 0) return this.#events.error(noParts, 'item.content', event.event_id);
      const wrong = parts.indexOf(null);
      if (wrong !== -1) return this.#events.error(noSuchPart, `item.content[${wrong}]`, event.event_id);
      // It has no separate role for instructions of the application within a conversation.
      const role = item.role === 'assistant' ? 'model' : 'user';
      this.#up({ clientContent: { turns: [{ role, parts }], turnComplete: false } });
    } else {
      return this.#events.notTaken(event, item);
    }
    this.#events.taken(event, item);
  }

  #respond(event: RealtimeEvent): void {
    if (this.#response !== null) {
      if (this.#cancelled !== null && this.#next === null) {
        this.#next = event;
        return;
      }
      const message = 'The session has a response already. Wait for its end, or cancel it.';
      return this.#events.error(message, null, event.event_id, 'conversation_already_has_active_response');
    }
    const { tool_choice: choice, metadata, ...given } = objectIn(event.response);
    const apart = given.conversation === 'none' ? 'conversation' : given.input == null ? null : 'input';
    if (apart !== null) return this.#events.error(noneApart, `response.${apart}`, event.event_id);
    const { instructions } = this.#settings;
    const merged = updated(this.#settings, { ...given, instructions }, ['pcm'], 'response');
    if ('param' in merged) return this.#events.error(merged.message, merged.param, event.event_id);
    if (choice != null && choice !== 'auto') {
      this.#events.error(noForcedCalls, 'response.tool_choice', event.event_id);
    }
    if (JSON.stringify(merged) !== JSON.stringify(this.#settings))
      this.#events.error(noneForOne, 'response', event.event_id);
    this.#begin(metadata);
    // Instructions for one response go before it as the caller's words: those of the session are fixed.
    const text = given.instructions;
    const turns = typeof text === 'string' ? [{ role: 'user', parts: [{ text }] }] : [];
    if (this.#results.length > 0) this.#up({ toolResponse: { functionResponses: this.#results.splice(0) } });
    else if (this.#activity === 'none') this.#up({ clientContent: { turns, turnComplete: true } });
    else {
      this.#activity = 'none';
      this.#up({ realtimeInput: { activityEnd: {} } });
    }
  }

  #content(content: JsonObject): void {
    const { inputTranscription: input, outputTranscription: output, modelTurn, interrupted, turnComplete } = content;
    if (isObject(input) && typeof input.text === 'string' && this.#settings.transcribes) this.#transcribe(input.text);
    if (interrupted === true && this.#response !== null) {
      this.#cancelled ??= 'turn_detected';
      // By this callers stop what they play.
      this.#events.write('input_audio_buffer.speech_started', { audio_start_ms: 0, item_id: this.#speechItem() });
    }
    const parts = isObject(modelTurn) && Array.isArray(modelTurn.parts) ? modelTurn.parts : [];
    for (const part of parts) if (isObject(part)) this.#part(part);
    if (isObject(output) && typeof output.text === 'string' && this.#settings.output === 'audio') {
      const { text } = output;
      this.#write((response) => response.text(text));
    }
    if (turnComplete === true) this.#complete();
  }

  #complete(): void {
    const response = this.#response;
    if (this.#usage !== null) return this.#end();
    this.#awaitsUsage = true;
    this.#soon(() => {
      if (this.#awaitsUsage && this.#response === response) this.#end();
    });
  }

  #part({ inlineData, text, thought }: JsonObject): void {
    if (isObject(inlineData) && typeof inlineData.data === 'string') {
      const { data } = inlineData;
      this.#write((response) => response.audio(data));
    } else if (typeof text === 'string' && thought !== true && this.#settings.output === 'text') {
      this.#write((response) => response.text(text));
    }
  }

  #transcribe(delta: string): void {
    const item_id = this.#speechItem();
    this.#speech!.transcript += delta;
    this.#events.write('conversation.item.input_audio_transcription.delta', { item_id, content_index: 0, delta });
  }

  #write(write: (response: ResponseWriter) => void): void {
    const response = this.#begin();
    if (this.#cancelled === null) write(response);
  }

  /** Gemini begins responses itself when the caller has said all. */
  #begin(metadata: JsonValue = null): ResponseWriter {
    if (this.#response === null) {
      if (this.#speech !== null) {
        const { item: item_id, transcript } = this.#speech;
        this.#speech = null;
        const transcription = { item_id, content_index: 0, transcript };
        if (transcript !== '')
          this.#events.write('conversation.item.input_audio_transcription.completed', transcription);
      }
      this.#awaitsUsage = false;
      this.#response = new ResponseWriter(this.#events, this.#settings.output, { isApart: false, metadata });
    }
    return this.#response;
  }

  #toolCall({ functionCalls }: JsonObject): void {
    if (!Array.isArray(functionCalls)) return;
    for (const call of functionCalls) {
      if (!isObject(call) || typeof call.name !== 'string') continue;
      const { name } = call;
      const id = typeof call.id === 'string' ? call.id : this.#events.id('call');
      // Nobody will answer a call that is not passed on.
      if (this.#cancelled === null) this.#calls.set(id, name);
      this.#write((response) => response.call(id, name, JSON.stringify(call.args ?? {})));
    }
    // It waits for their results now: to OpenAI's callers that is the end of a response.
    this.#end();
  }

  #end(): void {
    const usage = this.#usage;
    // A turn without any answer is paid for, too: OpenAI's callers get a response that holds nothing.
    const response = hasTokens(usage) ? this.#begin() : this.#response;
    const cancelled = this.#cancelled;
    this.#forgetTurn();
    if (cancelled === null) response?.done({ status: 'completed', usage });
    else response?.done({ status: 'cancelled', reason: cancelled, usage });
    this.#respondNext();
    this.#channel.leaveAtRest();
  }

  #respondNext(): void {
    const next = this.#next;
    this.#next = null;
    if (next !== null) this.#respond(next);
  }

  #forgetTurn(): void {
    this.#response = null;
    this.#usage = null;
    this.#awaitsUsage = false;
    this.#cancelled = null;
  }

  #isAtRest(): boolean {
    const isSilent = this.#speech === null && this.#activity === 'none';
    return isSilent && this.#response === null && this.#calls.size === 0 && this.#results.length === 0;
  }

  #up(message: JsonObject): void {
    this.#channel.send(message);
  }

  #shown(): JsonObject {
    return shownSession(`sess_${this.#facts.id}`, this.#facts.alias, this.#settings);
  }
}

const noSound = "Invalid 'audio'. Send sound in base64.";

const noneApart = "Gemini's Live API answers the conversation alone. Leave it out, or ask a model that chats.";

const noneForOne = "Gemini's Live API takes instructions alone for one response. Send settings in session.update.";

const noParts = "Invalid 'item.content'. Send a list of at least one part.";
const noSuchPart = 'Send a text, sound in base64, or a picture as a data URL.';

/** Null: it is none that Gemini takes. */
function partOf(part: JsonValue): JsonObject | null {
  const { type, text, audio, image_url: image, transcript } = objectIn(part);
  if (type === 'input_audio' && typeof audio === 'string') {
    return { inlineData: { mimeType: 'audio/pcm;rate=24000', data: audio } };
  }
  if (type === 'input_image' && typeof image === 'string') {
    const read = /^data:([\w/+.-]+);base64,(.*)$/s.exec(image);
    return read && { inlineData: { mimeType: read[1], data: read[2] } };
  }
  const content = typeof text === 'string' ? text : transcript;
  return typeof content === 'string' ? { text: content } : null;
}
