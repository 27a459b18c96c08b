import {
  type ItemPlace,
  itemIdIn,
  type ReadItem,
  readItem,
  soundsIn,
  withTranscripts,
} from '../../../formats/media/realtime/conversation-item.ts';
import type { RealtimeEvent, WrongValue } from '../../../formats/media/realtime/events.ts';
import type { EventWriter } from '../../../formats/media/realtime/response-writer.ts';
import { isObject, type JsonObject, type JsonValue, jsonText, objectIn } from '../../../kernel/json.ts';
import type { CascadeConversation } from './cascade-conversation.ts';

/** Abilities of the session's models. */
export interface ItemModels {
  sees: ItemPlace['sees'];
  /** Transcribes sounds in base64, and calls `then`, with null after a failure. Returns why it cannot; null: it can. */
  transcribe(sounds: readonly string[], then: (transcripts: readonly string[] | null) => void): string | null;
}

/** Events of the caller about items of the conversation. */
export class CascadeItems {
  readonly #events: EventWriter;
  readonly #conversation: CascadeConversation;
  readonly #models: ItemModels;

  constructor(events: EventWriter, conversation: CascadeConversation, models: ItemModels) {
    this.#events = events;
    this.#conversation = conversation;
    this.#models = models;
  }

  /** Whether it took the event. */
  take(event: RealtimeEvent): boolean {
    switch (event.type) {
      case 'conversation.item.create':
        this.#create(event);
        return true;
      case 'conversation.item.retrieve':
        this.#retrieve(event);
        return true;
      case 'conversation.item.delete':
        this.#delete(event);
        return true;
      case 'conversation.item.truncate':
        this.#truncate(event);
        return true;
      default:
        return false;
    }
  }

  /** Reads the items of a response in place of the conversation, or their ids in it; null: one was refused. */
  input(items: readonly JsonValue[], eventId: JsonValue | undefined): (string | ReadItem)[] | null {
    const input: (string | ReadItem)[] = [];
    for (const [at, item] of items.entries()) {
      const path = `response.input[${at}]`;
      const read = this.#inputItem(item, path);
      if (typeof read === 'object' && 'param' in read) {
        this.#events.error(read.message, read.param, eventId, 'invalid_value');
        return null;
      }
      input.push(read);
    }
    const excerpt = this.#conversation.excerpt(input);
    for (const [at, one] of input.entries()) {
      const { type, call_id } = objectIn(typeof one === 'string' ? this.#conversation.item(one) : one.item);
      if (type !== 'function_call_output' || excerpt.hasCall(call_id)) continue;
      this.#events.error(noCall(call_id), `response.input[${at}].call_id`, eventId, 'invalid_tool_call_id');
      return null;
    }
    return input;
  }

  #inputItem(item: JsonValue, at: string): string | ReadItem | WrongValue {
    const param = 'response.input';
    if (isObject(item) && item.type === 'item_reference') {
      const id = jsonText(item.id);
      if (this.#conversation.has(id)) return id;
      return { param, message: `${at}: the conversation has no item with the id '${id.slice(0, 128)}'.` };
    }
    const read = isObject(item) ? readItem(item, { at, sees: this.#models.sees }) : null;
    const types = "'message', 'function_call', 'function_call_output' or 'item_reference'";
    return read ?? { param, message: `${at} must be an item of type ${types}.` };
  }

  #create(event: RealtimeEvent): void {
    const given = objectIn(event.item);
    const wrong = ({ message, param }: WrongValue, code = 'invalid_value') =>
      this.#events.error(message, param, event.event_id, code);
    const sounds = soundsIn(given);
    const read = this.#read(given, sounds, '');
    if (read === null) return this.#events.notTaken(event, given);
    if ('param' in read) return wrong(read);
    const { call_id } = read.item;
    if (given.type === 'function_call_output' && !this.#conversation.hasCall(call_id))
      return wrong({ param: 'item.call_id', message: noCall(call_id) }, 'invalid_tool_call_id');
    const named = itemIdIn(given);
    if (named !== null && typeof named === 'object') return wrong(named);
    if (named !== null && this.#conversation.has(named)) {
      return wrong({ param: 'item.id', message: `Error adding item: an item with id '${named}' already exists.` });
    }
    const { previous_item_id: previousId } = event;
    // OpenAI takes '' for none, too.
    const isLast = previousId === undefined || previousId === null || previousId === '';
    const after = isLast ? null : jsonText(previousId);
    if (after !== null && after !== 'root' && !this.#conversation.has(after)) {
      const message = `Error adding item: the previous item with id '${after.slice(0, 128)}' does not exist.`;
      return wrong({ param: 'previous_item_id', message }, 'item_create_invalid_previous_item_id');
    }
    const id = named ?? this.#events.id('item');
    const item = { id, object: 'realtime.item', ...read.item, status: 'completed' };
    if (sounds.length === 0) {
      return this.#events.item(item, this.#conversation.add({ id, item, message: read.message }, after));
    }
    const refusal = this.#models.transcribe(
      sounds.map(({ audio }) => audio),
      (transcripts) => this.#transcribed(id, given, sounds, transcripts),
    );
    if (refusal !== null) return wrong({ param: `item.content[${sounds[0]?.index}].audio`, message: refusal });
    const untranscribed = new Map(sounds.map(({ index }) => [index, null]));
    const begun = { ...withTranscripts(item, untranscribed), id, status: 'in_progress' };
    const previous = this.#conversation.add({ id, item: begun, message: null }, after);
    this.#events.write('conversation.item.added', { previous_item_id: previous, item: begun });
  }

  /** The model reads the words of its sound from now on, unless it was deleted meanwhile. */
  #transcribed(id: string, given: JsonObject, sounds: Sounds, transcripts: readonly string[] | null): void {
    const read = this.#conversation.has(id) ? this.#read(given, sounds, transcripts ?? '') : null;
    if (read === null || 'param' in read) return;
    const status = transcripts === null ? 'incomplete' : 'completed';
    const item = { id, object: 'realtime.item', ...read.item, status };
    this.#conversation.complete(id, item, transcripts === null ? null : read.message);
    this.#events.write('conversation.item.done', { previous_item_id: this.#conversation.before(id), item });
  }

  #read(given: JsonObject, sounds: Sounds, transcripts: readonly string[] | string): ReadItem | WrongValue | null {
    const textAt = (at: number) => (typeof transcripts === 'string' ? transcripts : (transcripts[at] ?? ''));
    const item = withTranscripts(given, new Map(sounds.map(({ index }, at) => [index, textAt(at)])));
    return readItem(sounds.length === 0 ? given : item, { at: 'item', sees: this.#models.sees });
  }

  #retrieve(event: RealtimeEvent): void {
    const id = jsonText(event.item_id);
    const item = this.#conversation.item(id);
    if (item !== null) return this.#events.write('conversation.item.retrieved', { item });
    this.#unknown('retrieve', id, event);
  }

  #delete(event: RealtimeEvent): void {
    const id = jsonText(event.item_id);
    if (this.#conversation.delete(id)) return this.#events.write('conversation.item.deleted', { item_id: id });
    this.#unknown('delete', id, event);
  }

  #unknown(verb: 'retrieve' | 'delete', id: string, { event_id }: RealtimeEvent): void {
    const doing = verb.replace(/e$/, 'ing');
    const message = `Error ${doing} item: the item with id '${id.slice(0, 128)}' does not exist.`;
    this.#events.error(message, 'item_id', event_id, `item_${verb}_invalid_item_id`);
  }

  #truncate(event: RealtimeEvent): void {
    const { audio_end_ms: endMs, event_id } = event;
    if (typeof endMs !== 'number' || !Number.isFinite(endMs) || endMs < 0) {
      const message = "Invalid 'audio_end_ms'. Send the milliseconds of audio that were played.";
      return this.#events.error(message, 'audio_end_ms', event_id, 'invalid_value');
    }
    const wrong = this.#conversation.truncate(jsonText(event.item_id), endMs);
    if (wrong === null) this.#events.truncated(event);
    else this.#events.error(wrong.message, wrong.param, event_id, wrong.code);
  }
}

type Sounds = ReturnType<typeof soundsIn>;

const noCall = (id: JsonValue | undefined) =>
  `Tool call ID '${jsonText(id).slice(0, 128)}' not found in conversation. Add the call first.`;

/** Item of what the caller said. */
export function speechItem(id: string, status: 'in_progress' | 'completed' | 'incomplete', transcript: string | null) {
  const content = [{ type: 'input_audio', transcript }];
  return { id, object: 'realtime.item', type: 'message', role: 'user', status, content };
}

/** A `response.create` that was read. */
export interface OrderedResponse {
  /** Settings for this response alone, `metadata`, and `conversation: none`: it is no part of the conversation. */
  response: JsonObject;
  /** Answered in place of the conversation, with ids of its items; null: the conversation. */
  input: readonly (string | ReadItem)[] | null;
  /** The caller has taken it back before it began. */
  isCancelled?: boolean;
}
