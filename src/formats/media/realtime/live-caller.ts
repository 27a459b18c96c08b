import { isObject, type JsonObject, jsonText, objectIn, objectsIn, parsedData } from '../../../kernel/json.ts';
import type { RealtimeEvent } from './events.ts';
import { type LiveSetup, liveUsageOf } from './live-session.ts';

/** Where messages go. */
export interface LiveCallerSinks {
  /** Events for the session, in OpenAI's form. */
  up(event: RealtimeEvent): void;
  /** Messages for the caller, in Google's. */
  down(message: JsonObject): void;
  /** The caller's sound as PCM of 24 kHz, both in base64. */
  sound(base64: string, rateHz: number): string;
  /** The session cannot go on, for this reason. */
  fail(message: string): void;
}

/** Errors that cost a caller of Google's nothing: it was late by a moment. */
const harmless = new Set([
  'input_audio_buffer_commit_empty',
  'response_cancel_not_active',
  'conversation_already_has_active_response',
  'invalid_tool_call_id',
]);
const soundRateHz = 16_000;
/** Size of the session's sound, PCM of 24 kHz. */
const bytesPerMs = 48;
/** Sound in base64 of less than 40 ms, which is no speech: nothing follows its end. */
const speechCharsMin = 2_560;

/**
 * A caller of Gemini's Live API (https://ai.google.dev/api/live) in a session of OpenAI's events. Errors have no message
 * there: they close the session.
 */
export class LiveCaller {
  readonly #setup: LiveSetup;
  readonly #sinks: LiveCallerSinks;
  #isReady = false;
  #isRunning = false;
  #isInterrupted = false;
  /** Sound since the last end of its stream, in base64. */
  #soundChars = 0;
  /** Calls of the response that runs, and ids of those that wait for their results. */
  #calls: JsonObject[] = [];
  readonly #open = new Set<string>();
  /** The model waits for a result that has come, and was not asked for an answer since. */
  #isAwaited = false;
  /** Items of the caller's of which pieces were written down already. */
  readonly #transcribing = new Set<string>();

  constructor(setup: LiveSetup, sinks: LiveCallerSinks) {
    this.#setup = setup;
    this.#sinks = sinks;
  }

  /** Gives the session its settings. The caller gets the message that it is set up once they were accepted. */
  begin(): void {
    this.#sinks.up({ type: 'session.update', session: this.#setup.session });
  }

  fromCaller(message: JsonObject): void {
    const { clientContent, realtimeInput, toolResponse } = message;
    if (isObject(clientContent)) this.#content(clientContent);
    else if (isObject(realtimeInput)) this.#input(realtimeInput);
    else if (isObject(toolResponse)) this.#results(toolResponse);
    else
      this.#sinks.fail(
        'A message has one of clientContent, realtimeInput and toolResponse. The first alone has setup.',
      );
  }

  fromSession(event: RealtimeEvent): void {
    switch (event.type) {
      case 'session.updated':
        if (!this.#isReady) this.#sinks.down({ setupComplete: {} });
        this.#isReady = true;
        return;
      case 'response.created':
        this.#isRunning = true;
        this.#isInterrupted = false;
        return;
      case 'response.output_audio.delta':
        return this.#sendPart({ inlineData: { mimeType: 'audio/pcm;rate=24000', data: jsonText(event.delta) } });
      case 'response.output_text.delta':
        return this.#sendPart({ text: jsonText(event.delta) });
      case 'response.output_audio_transcript.delta':
        if (this.#setup.transcribes.output) this.#sendContent({ outputTranscription: { text: jsonText(event.delta) } });
        return;
      case 'conversation.item.input_audio_transcription.delta':
      case 'conversation.item.input_audio_transcription.completed':
        return this.#transcribed(event);
      case 'input_audio_buffer.speech_started':
        if (this.#isRunning && this.#setup.interrupts) this.#interrupt();
        return;
      case 'response.output_item.done':
        return this.#item(event);
      case 'response.done':
        return this.#ended(event);
      case 'error':
        return this.#failed(event);
      default:
    }
  }

  #content({ turns, turnComplete }: JsonObject): void {
    for (const turn of objectsIn([turns].flat())) {
      const role = turn.role === 'model' ? 'assistant' : 'user';
      const content = objectsIn(turn.parts).flatMap((part) => this.#partOf(part, role));
      if (content.length > 0) this.#add({ type: 'message', role, content });
    }
    if (turnComplete !== false) this.#respond();
  }

  #input(input: JsonObject): void {
    const { audio, text, video, mediaChunks, activityStart, activityEnd, audioStreamEnd } = input;
    if (isObject(activityStart) && this.#isRunning && this.#setup.interrupts) {
      this.#sinks.up({ type: 'response.cancel' });
      this.#interrupt();
    }
    const blobs = objectsIn([audio, video, mediaChunks].flat());
    for (const part of blobs.flatMap((blob) => this.#mediaOf(blob))) {
      if (part.type === 'input_audio') this.#append(jsonText(part.audio));
      else this.#add({ type: 'message', role: 'user', content: [part] });
    }
    if (typeof text === 'string' && text !== '') {
      this.#add({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
      this.#respond();
    }
    if (isObject(activityEnd)) {
      this.#sinks.up({ type: 'input_audio_buffer.commit' });
      this.#respond();
    } else if (audioStreamEnd === true && this.#soundChars >= speechCharsMin) {
      // By silence a turn ends and is answered; a commit would only end it.
      this.#append(Buffer.alloc(this.#setup.silenceMs * bytesPerMs).toString('base64'));
      this.#soundChars = 0;
    }
  }

  #append(audio: string): void {
    this.#soundChars += audio.length;
    this.#sinks.up({ type: 'input_audio_buffer.append', audio });
  }

  #results({ functionResponses }: JsonObject): void {
    for (const { id, response } of objectsIn(functionResponses)) {
      const isAnother = this.#isAwaited;
      this.#isAwaited = true;
      const callId = jsonText(id);
      const result = isObject(response) ? (response.output ?? response.result ?? response) : (response ?? '');
      const output = typeof result === 'string' ? result : JSON.stringify(result);
      this.#open.delete(callId);
      this.#add({ type: 'function_call_output', call_id: callId, output });
      this.#isAwaited ||= isAnother;
    }
    if (this.#isAwaited && this.#open.size === 0) this.#respond();
  }

  #add(item: JsonObject): void {
    this.#sinks.up({ type: 'conversation.item.create', item });
  }

  /** Asks for an answer. Speech of the caller interrupts that of the model, as at Google. */
  #respond(): void {
    this.#isAwaited = false;
    if (this.#isRunning) this.#sinks.up({ type: 'response.cancel' });
    this.#sinks.up({ type: 'response.create' });
  }

  #partOf({ text, inlineData }: JsonObject, role: 'user' | 'assistant'): JsonObject[] {
    if (typeof text === 'string') return [{ type: role === 'user' ? 'input_text' : 'output_text', text }];
    return isObject(inlineData) && role === 'user' ? this.#mediaOf(inlineData) : [];
  }

  #mediaOf({ mimeType, data }: JsonObject): JsonObject[] {
    const [type, base64] = [jsonText(mimeType), jsonText(data)];
    if (type.startsWith('image/')) return [{ type: 'input_image', image_url: `data:${type};base64,${base64}` }];
    return type.startsWith('audio/') ? [{ type: 'input_audio', audio: this.#sinks.sound(base64, rateOf(type)) }] : [];
  }

  #sendPart(part: JsonObject): void {
    if (!this.#isInterrupted) this.#sendContent({ modelTurn: { role: 'model', parts: [part] } });
  }

  #sendContent(serverContent: JsonObject): void {
    this.#sinks.down({ serverContent });
  }

  #interrupt(): void {
    if (this.#isInterrupted) return;
    this.#isInterrupted = true;
    this.#sendContent({ interrupted: true });
  }

  #transcribed({ type, item_id, delta, transcript }: RealtimeEvent): void {
    if (!this.#setup.transcribes.input) return;
    const item = jsonText(item_id);
    const isWhole = type.endsWith('.completed');
    const text = jsonText(isWhole ? transcript : delta);
    const isKnown = this.#transcribing.has(item);
    if (isWhole) this.#transcribing.delete(item);
    else this.#transcribing.add(item);
    if (text !== '' && !(isWhole && isKnown)) this.#sendContent({ inputTranscription: { text } });
  }

  #item({ item }: RealtimeEvent): void {
    const { type, call_id, name, arguments: given } = objectIn(item);
    if (type !== 'function_call') return;
    const id = jsonText(call_id);
    this.#open.add(id);
    this.#calls.push({ id, name: jsonText(name), args: objectIn(parsedData(jsonText(given))) });
  }

  #ended({ response }: RealtimeEvent): void {
    const { status, status_details: details, usage } = objectIn(response);
    this.#isRunning = false;
    const functionCalls = this.#calls;
    this.#calls = [];
    if (status === 'failed') {
      return this.#sinks.fail(jsonText(objectIn(objectIn(details).error).message) || 'The model gave no answer.');
    }
    const usageMetadata = liveUsageOf(usage);
    if (status === 'cancelled') this.#interrupt();
    // Google's models wait for the results then, and their turn goes on behind them.
    else if (functionCalls.length > 0) return this.#sinks.down({ toolCall: { functionCalls }, usageMetadata });
    else this.#sendContent({ generationComplete: true });
    this.#sinks.down({ serverContent: { turnComplete: true }, usageMetadata });
  }

  #failed({ error }: RealtimeEvent): void {
    const { code, message } = objectIn(error);
    // The model has cancelled the call.
    if (code === 'invalid_tool_call_id') this.#isAwaited = false;
    if (!harmless.has(jsonText(code))) this.#sinks.fail(jsonText(message) || 'The session failed.');
  }
}

function rateOf(mimeType: string): number {
  const rate = Number(/;\s*rate=(\d{4,6})\b/.exec(mimeType)?.[1] ?? soundRateHz);
  return rate >= 8_000 && rate <= 48_000 ? rate : soundRateHz;
}
