import { modelMessageOf } from '../../../formats/media/realtime/conversation-item.ts';
import type { RealtimeEvent } from '../../../formats/media/realtime/events.ts';
import { type EventWriter, ResponseWriter } from '../../../formats/media/realtime/response-writer.ts';
import type { SessionSettings } from '../../../formats/media/realtime/session-settings.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { type JsonObject, jsonText } from '../../../kernel/json.ts';
import { type AnswerParts, CascadeAnswer } from './cascade-answer.ts';
import type { CascadeConversation } from './cascade-conversation.ts';
import type { OrderedResponse } from './cascade-items.ts';
import { VoicedText } from './voiced-text.ts';

export interface ResponseParts extends Pick<AnswerParts, 'steps' | 'call'> {
  /** Models that answer; null: none does. */
  answers: AnswerParts['models'] | null;
  errorEvent(failure: Failure): RealtimeEvent;
}

interface Answering {
  /** Id of the response. */
  id: string;
  stop: AbortController;
  /** Why it is stopped, if it is. */
  reason: 'turn_detected' | 'client_cancelled';
}

/** The responses of a cascade: one is made at a time, others wait, and callers take them back. */
export class CascadeResponses {
  readonly #parts: ResponseParts;
  readonly #events: EventWriter;
  readonly #conversation: CascadeConversation;
  /** The response that is made; null: none is. */
  #answering: Answering | null = null;
  /** Responses that the caller has asked for, and that have not begun. */
  readonly #waiting = new Set<OrderedResponse>();
  #hasLeft = false;

  constructor(parts: ResponseParts, events: EventWriter, conversation: CascadeConversation) {
    this.#parts = parts;
    this.#events = events;
    this.#conversation = conversation;
  }

  /** Notes a response that waits for the turns before it. */
  add(ordered: OrderedResponse): void {
    this.#waiting.add(ordered);
  }

  /** Makes a response with its settings, and resolves when it is done; to a failure where it failed. */
  async make(ordered: OrderedResponse, settings: SessionSettings): Promise<Failure | null> {
    const { response: named, input } = ordered;
    const { steps, call, answers: models, errorEvent } = this.#parts;
    this.#waiting.delete(ordered);
    if (this.#hasLeft || models === null) return null;
    const stop = new AbortController();
    const voiced = new VoicedText();
    const response = new ResponseWriter(this.#events, settings.output, {
      isApart: named.conversation === 'none',
      metadata: named.metadata ?? null,
      keep: (item, stage) => this.#keep(item, stage, settings.output === 'audio' ? voiced : null),
    });
    const cancelled = (reason: Answering['reason'], usage: JsonObject | null) => {
      response.done({ status: 'cancelled', reason, usage });
      return null;
    };
    if (ordered.isCancelled) return cancelled('client_cancelled', null);
    const answering: Answering = { id: response.id, stop, reason: 'turn_detected' };
    this.#answering = answering;
    const made = new CascadeAnswer({ steps, call, models, settings, response, voiced, signal: stop.signal });
    const conversation = input === null ? this.#conversation : this.#conversation.excerpt(input);
    const failure = await made.make(conversation.request(models.chat, settings));
    this.#answering = null;
    const { cut, usage } = made;
    if (stop.signal.aborted) return cancelled(answering.reason, usage);
    if (failure !== null) {
      const { type = null, code = null, message = '' } = errorEvent(failure).error as JsonObject;
      response.done({ status: 'failed', error: { type, code, message }, usage });
    } else if (cut !== null) response.done({ status: 'incomplete', reason: cut, usage });
    else response.done({ status: 'completed', usage });
    return failure;
  }

  /** Takes a `response.cancel`. Without an id it takes back the responses that wait, too: they begin, and end at once. */
  cancel(event: RealtimeEvent): void {
    const waiting = (event.response_id ?? null) === null ? [...this.#waiting] : [];
    for (const ordered of waiting) ordered.isCancelled = true;
    if (this.#answering === null && waiting.length > 0) return;
    if (this.#events.cancels(event, this.#answering?.id ?? null)) this.stop('client_cancelled');
  }

  /** Stops the response that is made, if one is. */
  stop(reason: Answering['reason']): void {
    if (this.#answering === null) return;
    this.#answering.reason = reason;
    this.#answering.stop.abort();
  }

  /** The session is over. */
  leave(): void {
    this.#hasLeft = true;
    this.#answering?.stop.abort();
  }

  /** Keeps an item of the model's; returns the id of the item before it. */
  #keep(item: JsonObject, stage: 'added' | 'done', voiced: VoicedText | null): string | null {
    const id = jsonText(item.id);
    const sound = item.type === 'message' ? voiced : null;
    if (stage === 'added') return this.#conversation.add({ id, item, message: null }, null, sound);
    this.#conversation.complete(id, item, modelMessageOf(item));
    return this.#conversation.before(id);
  }
}
