import { wavHeader } from '../../../engines/audio/wav.ts';
import type { ItemPlace } from '../../../formats/media/realtime/conversation-item.ts';
import {
  eventIn,
  type Frame,
  notAnEvent,
  type RealtimeEvent,
  type WrongValue,
} from '../../../formats/media/realtime/events.ts';
import { type EventForm, EventWriter } from '../../../formats/media/realtime/response-writer.ts';
import {
  firstSettings,
  type SessionSettings,
  shownSession,
  shownTranscriptions,
  updated,
} from '../../../formats/media/realtime/session-settings.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import { type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import type { RoomHold } from '../../../kernel/sharing/room.ts';
import type { Pace } from '../../spine/sink.ts';
import type { AnswerParts } from './cascade-answer.ts';
import { CascadeConversation } from './cascade-conversation.ts';
import { CascadeItems, type OrderedResponse, speechItem } from './cascade-items.ts';
import { CascadeResponses } from './cascade-responses.ts';
import { decodedSound, HeldSound, soundReader } from './session-sound.ts';
import type { EndListener, SessionEnd } from './socket-end.ts';
import { type DetectedSpeech, detectorFor, sampleRateHz } from './speech-detector.ts';
import { TurnLine } from './turn-line.ts';

export interface CascadeParts extends Pick<AnswerParts, 'steps' | 'call'> {
  id: string;
  /** The model that transcribes, as the caller names it. */
  transcription: string;
  /** Models that answer; null: speech is transcribed alone. */
  answers: (AnswerParts['models'] & { sees: ItemPlace['sees'] }) | null;
  /** A place in the room for bodies. */
  holdSound(): RoomHold;
  form: EventForm;
  errorEvent(failure: Failure): RealtimeEvent;
}

/** Longest sound that waits for its end; more of it is for the next turn. */
const soundMaxMs = 300_000;
const soundBytesMax = (soundMaxMs * sampleRateHz * 2) / 1_000;

const soundsTaken = ['pcm', 'pcmu', 'pcma'] as const;

/**
 * The end of a session that no model holds: what the caller says is transcribed, a chat model answers, and its answer
 * is spoken sentence by sentence while it goes on. A caller who begins to speak stops the answer.
 */
export class CascadeEnd implements SessionEnd {
  readonly #parts: CascadeParts;
  readonly #events: EventWriter;
  #listener: EndListener | null = null;
  /** Answers to the settings of a client secret, for a listener that is not there yet. */
  readonly #early: RealtimeEvent[] = [];
  #settings: SessionSettings = firstSettings;
  #detector = detectorFor(firstSettings, soundMaxMs);
  #readSound = soundReader(firstSettings.formats.input);
  /** Sound of a caller that commits it itself. */
  #sound: HeldSound;
  readonly #conversation = new CascadeConversation();
  readonly #items: CascadeItems;
  readonly #responses: CascadeResponses;
  /** The item that holds what the caller is saying, or has said last. */
  #speaking = '';
  /** A turn has no answer yet, since the caller spoke on before it began. */
  #unanswered = false;
  /** Turns are answered in the order in which they were spoken. */
  readonly #turns = new TurnLine(() => this.#failed({ kind: 'internal' }));
  #pace: Pace = 'ready';
  readonly #left = new AbortController();

  constructor(parts: CascadeParts) {
    this.#parts = parts;
    this.#sound = new HeldSound(parts.holdSound());
    this.#events = new EventWriter(parts.form, parts.id, (event) => {
      if (this.#listener !== null) this.#listener.frame(JSON.stringify(event), false);
      else if (!this.#left.signal.aborted) this.#early.push(event);
    });
    this.#responses = new CascadeResponses(parts, this.#events, this.#conversation);
    this.#items = new CascadeItems(this.#events, this.#conversation, {
      sees: parts.answers?.sees ?? 'text',
      transcribe: (sounds, then) => this.#transcribe(sounds, then),
    });
  }

  listen(listener: EndListener): void {
    this.#listener = listener;
    this.#events.write('session.created', { session: this.#shown() });
    for (const event of this.#early.splice(0)) listener.frame(JSON.stringify(event), false);
  }

  send(frame: Frame): Pace {
    const event = eventIn(frame);
    if (event === null) this.#events.error(notAnEvent, null, undefined);
    else this.#take(event);
    return this.#pace;
  }

  /**
   * Slows the caller down, whose events are answered by events. A response need not be paused: there is one at a time,
   * within the bounds of each call.
   */
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
    this.#sound.drop();
    this.#responses.leave();
    // Calls that were aborted settle themselves.
    queueMicrotask(() => listener?.closed(code, reason));
  }

  terminate(): void {
    this.close(1006, '');
  }

  #take(event: RealtimeEvent): void {
    switch (event.type) {
      case 'session.update':
      case 'transcription_session.update':
        return this.#update(event);
      case 'input_audio_buffer.append':
        return this.#append(event);
      case 'input_audio_buffer.commit':
        return this.#commit(event);
      case 'input_audio_buffer.clear':
        this.#takeSound().drop();
        this.#detector?.clear();
        this.#speaking = '';
        this.#events.write('input_audio_buffer.cleared', {});
        if (this.#unanswered) this.#after(() => this.#respond({ response: {}, input: null }));
        this.#unanswered = false;
        return;
      case 'response.create': {
        if (this.#parts.answers === null) return this.#events.notTaken(event);
        const ordered = this.#ordered(event);
        if (ordered === null || !this.#after(() => this.#respond(ordered))) return;
        return this.#responses.add(ordered);
      }
      case 'response.cancel':
        return this.#responses.cancel(event);
      case 'output_audio_buffer.clear':
        return;
      default:
        if (this.#parts.answers === null || !this.#items.take(event)) this.#events.notTaken(event);
    }
  }

  #update(event: RealtimeEvent): void {
    const next = this.#updated(event.session, 'session');
    if ('param' in next) return this.#events.error(next.message, next.param, event.event_id, 'invalid_value');
    if (JSON.stringify(next.turns) !== JSON.stringify(this.#settings.turns))
      this.#detector = detectorFor(next, soundMaxMs);
    const { input } = next.formats;
    if (input !== this.#settings.formats.input) this.#readSound = soundReader(input);
    this.#settings = next;
    this.#events.write(`${event.type}d`, { session: this.#shown() });
  }

  /** The settings after an update; a value of them that is wrong. */
  #updated(given: JsonValue | undefined, at: 'session' | 'response'): SessionSettings | WrongValue {
    const { steps, call, answers } = this.#parts;
    const next = updated(this.#settings, given, soundsTaken, at);
    if ('param' in next || answers === null) return next;
    const voice = next.voice === this.#settings.voice ? null : next.voice;
    const refusal = voice === null ? null : steps.voiceRefusal(call, { model: answers.speech, voice });
    return refusal === null ? next : { param: `${at}.audio.output.voice`, message: factsOf(refusal, 0).message };
  }

  #append({ audio, event_id }: RealtimeEvent): void {
    const bytes = decodedSound(audio);
    if (bytes === null) return this.#events.error(notBase64, 'audio', event_id, 'invalid_value');
    const sound = this.#readSound(bytes);
    if (this.#detector !== null) {
      for (const found of this.#detector.push(sound)) this.#detected(found);
    } else if (this.#sound.bytes + sound.length > soundBytesMax) {
      this.#events.error(`${tooLong} Commit it earlier.`, 'audio', event_id);
    } else {
      const noRoom = this.#sound.push(sound);
      if (noRoom !== null) this.#failed(noRoom);
    }
  }

  #takeSound(): HeldSound {
    const sound = this.#sound;
    this.#sound = new HeldSound(this.#parts.holdSound());
    return sound;
  }

  #commit({ event_id }: RealtimeEvent): void {
    // Nobody is asked, and paid, for nothing.
    if (this.#sound.bytes === 0) return this.#events.error(noSound, null, event_id, 'input_audio_buffer_commit_empty');
    // The sound stays for a later try.
    const full = this.#turns.full();
    if (full !== null) return this.#events.error(full, null, event_id);
    this.#takeTurn(this.#takeSound(), this.#events.id('item'), 'waits');
  }

  #detected(found: DetectedSpeech): void {
    if (found.kind === 'begins') {
      this.#speaking = this.#events.id('item');
      if (this.#settings.turns.by === 'commit' || this.#settings.turns.interrupts)
        this.#responses.stop('turn_detected');
      this.#events.write('input_audio_buffer.speech_started', { audio_start_ms: found.atMs, item_id: this.#speaking });
      return;
    }
    this.#events.write('input_audio_buffer.speech_stopped', { audio_end_ms: found.atMs, item_id: this.#speaking });
    const { turns } = this.#settings;
    const sound = new HeldSound(this.#parts.holdSound());
    const noRoom = sound.push(found.sound);
    if (noRoom !== null) {
      sound.drop();
      return this.#failed(noRoom);
    }
    this.#takeTurn(sound, this.#speaking, turns.by === 'silence' && turns.responds ? 'responds' : 'waits');
  }

  /** Takes one turn of the caller: its item is added at once, transcribed and answered after the turns before it. */
  #takeTurn(held: HeldSound, itemId: string, then: 'responds' | 'waits'): void {
    const full = this.#turns.full();
    if (full !== null) {
      held.drop();
      return this.#events.error(full, null, null);
    }
    // Its place in the conversation is where the caller ended, not where its transcript comes.
    const begun = speechItem(itemId, 'in_progress', null);
    const previous = this.#conversation.add({ id: itemId, item: begun, message: null });
    this.#events.write('input_audio_buffer.committed', { previous_item_id: previous, item_id: itemId });
    this.#events.write('conversation.item.added', { previous_item_id: previous, item: begun });
    this.#after(async () => {
      const sound = held.whole();
      const found = await this.#transcriptOf(sound).finally(() => held.drop());
      const transcript = typeof found === 'string' ? found : '';
      if (typeof found !== 'string') this.#transcriptionFailed(itemId, found);
      else this.#transcribed(speechItem(itemId, 'completed', found), found);
      if (typeof found === 'string' && (this.#settings.transcribes || this.#parts.answers === null)) {
        const usage = { type: 'duration', seconds: sound.length / (sampleRateHz * 2) };
        const event = { item_id: itemId, content_index: 0, transcript, usage };
        this.#events.write('conversation.item.input_audio_transcription.completed', event);
      }
      if ((transcript.trim() === '' && !this.#unanswered) || then === 'waits') return;
      const { turns } = this.#settings;
      // Speaking on stops an answer.
      this.#unanswered = turns.by === 'silence' && turns.interrupts && !['', itemId].includes(this.#speaking);
      if (!this.#unanswered) await this.#respond({ response: {}, input: null });
    });
  }

  #transcribed(item: JsonObject & { id: string }, transcript: string): void {
    const message = transcript.trim() === '' ? null : { role: 'user', content: transcript };
    this.#conversation.complete(item.id, item, message);
    this.#events.write('conversation.item.done', { previous_item_id: this.#conversation.before(item.id), item });
  }

  #transcriptOf(sound: Buffer): Promise<string | Failure> {
    const { steps, call, transcription } = this.#parts;
    const wav = Buffer.concat([wavHeader({ rateHz: sampleRateHz, channels: 1 }, sound.length), sound]);
    return steps.transcribe({ call, signal: this.#left.signal }, transcription, wav, this.#settings.hints);
  }

  /** Transcribes sounds of a message in their turn. Returns a message where it cannot; null: it can. */
  #transcribe(sounds: readonly string[], then: (transcripts: readonly string[] | null) => void): string | null {
    const read = sounds.map((base64) => {
      const bytes = decodedSound(base64);
      return bytes === null ? null : soundReader(this.#settings.formats.input)(bytes);
    });
    const whole = read.filter((sound) => sound !== null);
    if (whole.length < read.length) return notBase64;
    if (whole.reduce((bytes, { length }) => bytes + length, 0) > soundBytesMax) return tooLong;
    const full = this.#turns.full();
    if (full !== null) return full;
    const hold = this.#parts.holdSound();
    for (const { length } of whole) hold.add(length);
    this.#after(async () => {
      const transcripts = await this.#transcriptsOf(whole).finally(() => hold.giveBack());
      if (Array.isArray(transcripts)) return then(transcripts);
      then(null);
      this.#failed(transcripts);
    });
    return null;
  }

  async #transcriptsOf(sounds: readonly Buffer[]): Promise<string[] | Failure> {
    const transcripts: string[] = [];
    for (const sound of sounds) {
      const transcript = await this.#transcriptOf(sound);
      if (typeof transcript !== 'string') return transcript;
      transcripts.push(transcript);
    }
    return transcripts;
  }

  /** Reports a turn that could not be transcribed: by its item where the session only transcribes, else as an error. */
  #transcriptionFailed(item_id: string, failure: Failure): void {
    this.#transcribed(speechItem(item_id, 'incomplete', null), '');
    if (this.#parts.answers === null && !this.#left.signal.aborted) {
      const { error } = this.#parts.errorEvent(failure);
      const event = { item_id, content_index: 0, error };
      this.#events.write('conversation.item.input_audio_transcription.failed', event);
      if (!endsSession.has(failure.kind)) return;
    }
    this.#failed(failure);
  }

  /** False: too many turns wait, and an error event said so. */
  #after(turn: () => Promise<void>): boolean {
    const full = this.#turns.full();
    if (full !== null) this.#events.error(full, null, null);
    else this.#turns.add(turn);
    return full === null;
  }

  /** Reads a `response.create`; null: it is refused. */
  #ordered({ response, event_id }: RealtimeEvent): OrderedResponse | null {
    const named = objectIn(response);
    const settings = this.#updated(named, 'response');
    if ('param' in settings) {
      this.#events.error(settings.message, settings.param, event_id, 'invalid_value');
      return null;
    }
    if (!Array.isArray(named.input)) return { response: named, input: null };
    const input = this.#items.input(named.input, event_id);
    return input === null ? null : { response: named, input };
  }

  async #respond(ordered: OrderedResponse): Promise<void> {
    const changed = updated(this.#settings, ordered.response, soundsTaken);
    const failure = await this.#responses.make(ordered, 'param' in changed ? this.#settings : changed);
    if (failure !== null) this.#failed(failure);
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

const notBase64 = "Invalid 'audio'. Expected base64-encoded audio bytes but got an invalid value.";
const tooLong = `The audio is longer than ${soundMaxMs / 1_000} s.`;

const endsSession: ReadonlySet<Failure['kind']> = new Set(['quota-exceeded', 'unauthenticated', 'forbidden']);
