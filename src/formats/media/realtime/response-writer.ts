import { type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';
import type { RealtimeEvent } from './events.ts';

/** OpenAI's events have other names since the API left its beta; callers say which they speak. */
export type EventForm = 'present' | 'older';

/** Null: the older API has none. */
const olderNames: Readonly<Record<string, string | null>> = {
  'response.output_audio.delta': 'response.audio.delta',
  'response.output_audio.done': 'response.audio.done',
  'response.output_audio_transcript.delta': 'response.audio_transcript.delta',
  'response.output_audio_transcript.done': 'response.audio_transcript.done',
  'response.output_text.delta': 'response.text.delta',
  'response.output_text.done': 'response.text.done',
  'conversation.item.added': 'conversation.item.created',
  'conversation.item.done': null,
};

/** Makes the events of a session whose upstream does not speak OpenAI's. */
export class EventWriter {
  readonly form: EventForm;
  readonly #out: (event: RealtimeEvent) => void;
  readonly #prefix: string;
  #count = 0;

  /** `session`: a name that its ids begin with. */
  constructor(form: EventForm, session: string, out: (event: RealtimeEvent) => void) {
    this.form = form;
    this.#prefix = session;
    this.#out = out;
  }

  id(kind: 'event' | 'item' | 'resp' | 'call'): string {
    this.#count += 1;
    return `${kind}_${this.#prefix}${this.#count}`;
  }

  write(type: string, members: JsonObject): void {
    const name = this.form === 'older' && Object.hasOwn(olderNames, type) ? olderNames[type] : type;
    if (name) this.#out({ type: name, event_id: this.id('event'), ...members });
  }

  /** An item of the conversation is there, and complete. */
  item(item: JsonObject, previous: string | null = null): void {
    this.write('conversation.item.added', { previous_item_id: previous, item });
    this.write('conversation.item.done', { previous_item_id: previous, item });
  }

  /** The caller put this into the conversation. */
  taken({ previous_item_id: previous }: RealtimeEvent, item: JsonObject): void {
    const id = typeof item.id === 'string' ? item.id : this.id('item');
    const doneItem = { ...item, id, object: 'realtime.item', status: 'completed' };
    this.item(doneItem, typeof previous === 'string' ? previous : null);
  }

  truncated({ item_id, content_index, audio_end_ms }: RealtimeEvent): void {
    this.write('conversation.item.truncated', { item_id, content_index, audio_end_ms });
  }

  /** The model has no use for such events, or for such items. */
  notTaken(event: RealtimeEvent, item: JsonObject | null = null): void {
    const [what, type] = item === null ? ['events', event.type] : ['items', jsonText(item.type)];
    const param = item === null ? 'type' : 'item.type';
    this.error(`This model does not take ${what} of type '${type.slice(0, 100)}'.`, param, event.event_id);
  }

  /** Whether a `response.cancel` is for the response that runs, `running`; null: none runs. Any other is refused. */
  cancels({ response_id: named = null, event_id }: RealtimeEvent, running: string | null): boolean {
    if (running !== null && (named === null || named === running)) return true;
    this.error('Cancellation failed: no active response found.', null, event_id, 'response_cancel_not_active');
    return false;
  }

  /** The caller's event `eventId` was wrong. `code`: OpenAI's word for it. */
  error(message: string, param: string | null, eventId: JsonValue | undefined, code = 'invalid_request'): void {
    const error = { type: 'invalid_request_error', code, message, param, event_id: eventId ?? null };
    this.write('error', { error });
  }
}

/** End of a response, in OpenAI's words. */
export interface ResponseEnd {
  status: 'completed' | 'cancelled' | 'incomplete' | 'failed';
  /** Reason of a cancelled one: `turn_detected`, `client_cancelled`; of an incomplete one: `max_output_tokens`, `content_filter`. */
  reason?: string;
  /** Error of a failed one. */
  error?: JsonObject;
  usage: JsonObject | null;
}

/** Where a response belongs. */
export interface ResponsePlace {
  /** Its items are no part of the conversation (`conversation: none`). */
  isApart: boolean;
  /** The caller's, by which it knows the response again; null: none. */
  metadata: JsonValue | null;
  /** Keeps an item in the conversation; returns the id of the item before it. Absent: nobody keeps it. */
  keep?(item: JsonObject, stage: 'added' | 'done'): string | null;
}

/** The events of one response, in the order in which OpenAI sends them. */
export class ResponseWriter {
  readonly id: string;
  readonly #events: EventWriter;
  readonly #kind: 'audio' | 'text';
  readonly #output: JsonObject[] = [];
  /** The message that grows; null: there is none. */
  #message: { id: string; text: string } | null = null;

  readonly #apart: ResponsePlace;

  constructor(events: EventWriter, kind: 'audio' | 'text', apart: ResponsePlace = { isApart: false, metadata: null }) {
    this.#events = events;
    this.#kind = kind;
    this.#apart = apart;
    this.id = events.id('resp');
    const response = {
      id: this.id,
      object: 'realtime.response',
      status: 'in_progress',
      output: [],
      usage: null,
      ...this.#marks(),
    };
    events.write('response.created', { response });
  }

  /** Base64. */
  audio(delta: string): void {
    this.#events.write('response.output_audio.delta', { ...this.#place(), delta });
  }

  /** Text, or the transcript of what is spoken. */
  text(delta: string): void {
    const place = this.#place();
    if (this.#message !== null) this.#message.text += delta;
    this.#events.write(`response.${this.#textName}.delta`, { ...place, delta });
  }

  call(callId: string, name: string, callArguments: string): void {
    this.#endMessage('completed');
    const item = { object: 'realtime.item', type: 'function_call', name, call_id: callId };
    const id = this.#events.id('item');
    const begun = { ...item, id, status: 'in_progress', arguments: '' };
    const place = { response_id: this.id, output_index: this.#output.length };
    this.#events.write('response.output_item.added', { ...place, item: begun });
    this.#inConversation('added', begun);
    const inside = { ...place, item_id: id, call_id: callId };
    this.#events.write('response.function_call_arguments.delta', { ...inside, delta: callArguments });
    this.#events.write('response.function_call_arguments.done', { ...inside, name, arguments: callArguments });
    this.#endItem({ ...item, id, status: 'completed', arguments: callArguments });
  }

  done({ status, reason, error, usage }: ResponseEnd): void {
    this.#endMessage(status === 'completed' ? 'completed' : 'incomplete');
    const details = status === 'completed' ? null : { type: status, ...(status === 'failed' ? { error } : { reason }) };
    const response = {
      id: this.id,
      object: 'realtime.response',
      status,
      status_details: details,
      output: this.#output,
      usage,
      ...this.#marks(),
    };
    this.#events.write('response.done', { response });
  }

  get #textName(): string {
    return this.#kind === 'audio' ? 'output_audio_transcript' : 'output_text';
  }

  #place(): JsonObject {
    if (this.#message === null) {
      this.#message = { id: this.#events.id('item'), text: '' };
      const { id } = this.#message;
      const item = {
        id,
        object: 'realtime.item',
        type: 'message',
        role: 'assistant',
        status: 'in_progress',
        content: [],
      };
      const output_index = this.#output.length;
      this.#events.write('response.output_item.added', { response_id: this.id, output_index, item });
      this.#inConversation('added', item);
      this.#events.write('response.content_part.added', { ...this.#inMessage(id), part: this.#part('') });
    }
    return this.#inMessage(this.#message.id);
  }

  #inMessage(id: string): JsonObject {
    return { response_id: this.id, item_id: id, output_index: this.#output.length, content_index: 0 };
  }

  #part(text: string): JsonObject {
    return this.#kind === 'audio' ? { type: 'audio', transcript: text } : { type: 'text', text };
  }

  #endMessage(status: 'completed' | 'incomplete'): void {
    if (this.#message === null) return;
    const { id, text } = this.#message;
    const place = this.#inMessage(id);
    this.#message = null;
    if (this.#kind === 'audio') this.#events.write('response.output_audio.done', place);
    const textPart = this.#kind === 'audio' ? { transcript: text } : { text };
    this.#events.write(`response.${this.#textName}.done`, { ...place, ...textPart });
    this.#events.write('response.content_part.done', { ...place, part: this.#part(text) });
    const content = this.#events.form === 'older' ? this.#part(text) : { type: `output_${this.#kind}`, ...textPart };
    this.#endItem({ id, object: 'realtime.item', type: 'message', role: 'assistant', status, content: [content] });
  }

  #endItem(item: JsonObject): void {
    const output_index = this.#output.length;
    this.#output.push(item);
    this.#events.write('response.output_item.done', { response_id: this.id, output_index, item });
    this.#inConversation('done', item);
  }

  #inConversation(stage: 'added' | 'done', item: JsonObject): void {
    if (this.#apart.isApart) return;
    const previous = this.#apart.keep?.(item, stage) ?? null;
    this.#events.write(`conversation.item.${stage}`, { previous_item_id: previous, item });
  }

  #marks(): JsonObject {
    const { isApart, metadata } = this.#apart;
    return { ...(isApart && { conversation_id: null }), ...(metadata !== null && { metadata }) };
  }
}
