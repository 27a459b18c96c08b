import { wavHeader } from '../../../engines/audio/wav.ts';
import { eventIn, type Frame, notAnEvent, type RealtimeEvent } from '../../../formats/dialects/realtime/events.ts';
import { type EventForm, EventWriter, ResponseWriter } from '../../../formats/dialects/realtime/response-writer.ts';
import {
  firstSettings,
  type SessionSettings,
  shownSession,
  shownTranscriptions,
  updated,
} from '../../../formats/dialects/realtime/session-settings.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Pace } from '../../spine/sink.ts';
import { type AnswerParts, CascadeAnswer } from './cascade-answer.ts';
import { CascadeConversation, messageOf } from './cascade-conversation.ts';
import { soundReader } from './session-sound.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';
import { type DetectedSpeech, SpeechDetector, sampleRateHz } from './speech-detector.ts';

export interface CascadeParts extends Pick<AnswerParts, 'steps' | 'call'> {
  id: string;
  /** The model that transcribes, as the caller names it. */
  transcription: string;
  /** Models that answer; null: speech is transcribed alone. */
  answers: AnswerParts['models'] | null;
  form: EventForm;
  errorEvent(failure: Failure): RealtimeEvent;
}

const silenceUsualMs = 500;
/** Shorter pauses are within words, and each piece of speech is a call that is paid. */
const silenceMinMs = 100;
const prefixUsualMs = 300;
/** Longest sound that waits for its end; more of it is for the next turn. */
const soundMaxMs = 300_000;
const soundBytesMax = (soundMaxMs * sampleRateHz * 2) / 1_000;
/** Turns of the caller that wait for those before them. */
const turnsWaitingMax = 8;
/** Longest sound that is kept from before the speech, and longest silence that ends it. */
const paddingMaxMs = 10_000;

const soundsTaken = ['pcm', 'pcmu', 'pcma'] as const;

interface OrderedResponse {
  /** Settings for this response alone, `metadata`, and `conversation: none`: it is no part of the conversation. */
  response: JsonObject;
  /** Answered in place of the conversation; null: the conversation. */
  input: CascadeConversation | null;
}

interface Answering {
  stop: AbortController;
  /** Why it is stopped, if it is. */
  reason: 'turn_detected' | 'client_cancelled';
}

/**
 * The end of a session that no model holds: what the caller says is transcribed, a chat model answers, and its answer
 * is spoken sentence by sentence while it goes on. A caller who begins to speak stops the answer.
 */
export class CascadeEnd implements SessionEnd {
  readonly #parts: CascadeParts;
  readonly #events: EventWriter;
  #listener: EndListener | null = null;
  #settings: SessionSettings = firstSettings;
  #detector = detectorFor(firstSettings);
  #readSound = soundReader(firstSettings.formats.input);
  /** Sound of a caller that commits it itself. */
  #sound: Buffer[] = [];
  #soundBytes = 0;
  readonly #conversation = new CascadeConversation();
  /** The response that is made; null: none is. */
  #answering: Answering | null = null;
  /** The last turn in line: turns are answered in the order in which they were spoken. */
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
    if (event === null) this.#events.error(notAnEvent, null, undefined);
    else this.#take(event);
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
        // Nobody is asked, and paid, for nothing.
        if (sound.length === 0) return this.#events.error(noSound, null, event.event_id);
        return this.#heard(sound, this.#events.id('item'), 'waits');
      }
      case 'input_audio_buffer.clear':
        this.#sound = [];
        this.#soundBytes = 0;
        return this.#events.write('input_audio_buffer.cleared', {});
      case 'conversation.item.create':
        return this.#createItem(event);
      case 'conversation.item.truncate':
        return this.#events.truncated(event);
      case 'response.create': {
        if (this.#parts.answers === null) return this.#events.notTaken(event);
        const ordered = this.#ordered(event);
        return ordered === null ? undefined : this.#after(() => this.#respond(ordered));
      }
      case 'response.cancel':
        return this.#stop('client_cancelled');
      case 'output_audio_buffer.clear':
        return;
      default:
        this.#events.notTaken(event);
    }
  }

  #update(event: RealtimeEvent): void {
    const next = updated(this.#settings, isObject(event.session) ? event.session : {}, soundsTaken);
    if ('param' in next) return this.#events.error(next.message, next.param, event.event_id);
    if (JSON.stringify(next.turns) !== JSON.stringify(this.#settings.turns)) this.#detector = detectorFor(next);
    const { input } = next.formats;
    if (input !== this.#settings.formats.input) this.#readSound = soundReader(input);
    this.#settings = next;
    this.#events.write('session.updated', { session: this.#shown() });
  }

  #append({ audio, event_id }: RealtimeEvent): void {
    if (typeof audio !== 'string') return this.#events.error('audio must be base64.', 'audio', event_id);
    const sound = this.#readSound(Buffer.from(audio, 'base64'));
    if (this.#detector !== null) {
      for (const found of this.#detector.push(sound)) this.#detected(found);
    } else if (this.#soundBytes + sound.length > soundBytesMax) {
      this.#events.error(`The audio is longer than ${soundMaxMs / 1_000} s. Commit it earlier.`, 'audio', event_id);
    } else {
      this.#sound.push(sound);
      this.#soundBytes += sound.length;
    }
  }

  /** The item that holds what the caller is saying. */
  #speaking = '';

  #detected(found: DetectedSpeech): void {
    if (found.kind === 'begins') {
      this.#speaking = this.#events.id('item');
      this.#stop('turn_detected');
      this.#events.write('input_audio_buffer.speech_started', { audio_start_ms: found.atMs, item_id: this.#speaking });
      return;
    }
    this.#events.write('input_audio_buffer.speech_stopped', { audio_end_ms: found.atMs, item_id: this.#speaking });
    const { turns } = this.#settings;
    this.#heard(found.sound, this.#speaking, turns.by === 'silence' && turns.responds ? 'responds' : 'waits');
  }

  /** One turn of the caller. */
  #heard(sound: Buffer, itemId: string, then: 'responds' | 'waits'): void {
    this.#events.write('input_audio_buffer.committed', { previous_item_id: null, item_id: itemId });
    this.#after(async () => {
      const { steps, call, transcription, answers } = this.#parts;
      const wav = Buffer.concat([wavHeader({ rateHz: sampleRateHz, channels: 1 }, sound.length), sound]);
      const { hints } = this.#settings;
      const transcript = await steps.transcribe({ call, signal: this.#left.signal }, transcription, wav, hints);
      if (typeof transcript !== 'string') return this.#unheard(itemId, transcript);
      const content = [{ type: 'input_audio', transcript }];
      this.#events.item({
        id: itemId,
        object: 'realtime.item',
        type: 'message',
        role: 'user',
        status: 'completed',
        content,
      });
      if (this.#settings.transcribes || answers === null) {
        const usage = { type: 'duration', seconds: sound.length / (sampleRateHz * 2) };
        const event = { item_id: itemId, content_index: 0, transcript, usage };
        this.#events.write('conversation.item.input_audio_transcription.completed', event);
      }
      if (transcript.trim() === '' || answers === null) return;
      this.#conversation.addMessage({ role: 'user', content: transcript });
      if (then === 'responds') await this.#respond({ response: {}, input: null });
    });
  }

  /** In a session that only transcribes, the caller gets the item of the failure. */
  #unheard(item_id: string, failure: Failure): void {
    if (this.#parts.answers === null && !this.#left.signal.aborted) {
      const { error } = this.#parts.errorEvent(failure);
      const event = { item_id, content_index: 0, error };
      this.#events.write('conversation.item.input_audio_transcription.failed', event);
      if (!endsSession.has(failure.kind)) return;
    }
    this.#failed(failure);
  }

  #createItem(event: RealtimeEvent): void {
    const item = isObject(event.item) ? event.item : {};
    if (this.#parts.answers === null) return this.#events.notTaken(event);
    const message = messageOf(item);
    if (message === null) return this.#events.notTaken(event, item);
    this.#conversation.addMessage(message);
    this.#events.taken(event, item);
  }

  #after(turn: () => Promise<void>): void {
    if (this.#turnsWaiting >= turnsWaitingMax) {
      return this.#events.error(
        `${turnsWaitingMax} turns are already waiting for their answers. Wait for one.`,
        null,
        null,
      );
    }
    this.#turnsWaiting += 1;
    this.#turns = this.#turns
      .then(turn)
      .catch(() => this.#failed({ kind: 'internal' }))
      .finally(() => {
        this.#turnsWaiting -= 1;
      });
  }

  /** Reads a `response.create`; null: it is refused. */
  #ordered({ response, event_id }: RealtimeEvent): OrderedResponse | null {
    const named = isObject(response) ? response : {};
    const settings = updated(this.#settings, named, soundsTaken);
    if ('param' in settings) {
      this.#events.error(settings.message, settings.param, event_id);
      return null;
    }
    if (!Array.isArray(named.input)) return { response: named, input: null };
    const input = new CascadeConversation();
    for (const [at, item] of named.input.entries()) {
      const message = isObject(item) ? messageOf(item) : null;
      if (message === null) {
        const types = "'message', 'function_call' or 'function_call_output'";
        this.#events.error(`response.input[${at}] must be an item of type ${types}.`, 'response.input', event_id);
        return null;
      }
      input.addMessage(message);
    }
    return { response: named, input };
  }

  async #respond({ response: named, input }: OrderedResponse): Promise<void> {
    const { steps, call, answers: models } = this.#parts;
    if (this.#left.signal.aborted || models === null) return;
    const stop = new AbortController();
    const answering: Answering = { stop, reason: 'turn_detected' };
    this.#answering = answering;
    const changed = updated(this.#settings, named, soundsTaken);
    const settings = 'param' in changed ? this.#settings : changed;
    const isApart = named.conversation === 'none';
    const response = new ResponseWriter(this.#events, settings.output, { isApart, metadata: named.metadata ?? null });
    const made = new CascadeAnswer({ steps, call, models }, settings, response, stop.signal);
    const failure = await made.make((input ?? this.#conversation).request(models.chat, settings));
    this.#answering = null;
    if (made.message !== null && !isApart) this.#conversation.addMessage(made.message);
    const { usage } = made;
    if (stop.signal.aborted) return response.done({ status: 'cancelled', reason: answering.reason, usage });
    if (failure === null) return response.done({ status: 'completed', usage });
    response.done({ status: 'failed', reason: failure.kind, usage });
    this.#failed(failure);
  }

  #stop(reason: Answering['reason']): void {
    if (this.#answering === null) return;
    this.#answering.reason = reason;
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
    const { id, answers, transcription } = this.#parts;
    if (answers === null) return shownTranscriptions(`sess_${id}`, transcription, this.#settings);
    return shownSession(`sess_${id}`, answers.chat, this.#settings);
  }
}

const noSound =
  'There is no audio to commit. Append some first. With turn detection, Culvert commits it automatically.';

const endsSession: ReadonlySet<Failure['kind']> = new Set(['quota-exceeded', 'unauthenticated', 'forbidden']);

function detectorFor({ turns }: SessionSettings): SpeechDetector | null {
  if (turns.by === 'commit') return null;
  const { silenceMs, prefixMs } = turns;
  return new SpeechDetector(
    {
      silenceMs: Math.max(silenceMinMs, Math.min(silenceMs ?? silenceUsualMs, paddingMaxMs)),
      prefixMs: Math.min(prefixMs ?? prefixUsualMs, paddingMaxMs),
    },
    soundMaxMs,
  );
}
