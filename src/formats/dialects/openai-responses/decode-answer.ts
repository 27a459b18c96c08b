import { isObject, type JsonObject, type JsonValue, listIn, objectsIn, textIn } from '../../../kernel/json.ts';
import { EventDecoder, type NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import { producedMedia } from '../../neutral/produced-media.ts';
import { ArgumentsText } from '../arguments-text.ts';
import { cuttingDecoder, cutWhole } from '../cut-at-stop.ts';
import type { DecodeOptions, StreamDecoder } from '../dialect.ts';
import { faultInWhole, isHosted, reasonOf } from './answer-end.ts';
import { citationOf } from './citations.ts';
import { textOf } from './decode-messages.ts';
import { faultInside } from './errors.ts';
import { flatName } from './offered-tools.ts';
import { neutralUsage } from './read-usage.ts';
import { openAiResponsesId } from './wire.ts';

/**
 * A Responses stream as neutral events. Data that is not JSON of this format is skipped and counted, never thrown: one
 * bad line must not cost the caller the answer around it. `event:` names are not needed; a last `[DONE]` may come.
 */
export function decodeStream(options?: DecodeOptions): StreamDecoder {
  const decoder = new AnswerDecoder(options);
  return options?.stop === undefined ? decoder : cuttingDecoder(decoder, options.stop);
}

/** A whole response as the events of its stream. The same decoder makes them, so that the two cannot differ. */
export function decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[] {
  const wrong = faultInWhole(body);
  if (wrong !== null) return [{ type: 'failed', fault: wrong }];
  const events = new AnswerDecoder(options).whole(body);
  return options?.stop === undefined ? events : cutWhole(events, options.stop);
}

interface Item {
  type: string;
  /** Part of it that was passed on: the rest, if it only comes with the item's end, is passed on then. */
  shown: 'nothing' | 'something';
  /** For a thought: which of the two forms of its text came first; the other repeats it. */
  thoughtForm: 'summary' | 'text' | null;
  /** Index of a call. */
  call: number;
  /** Number of sources of a message that came while it grew. */
  citations: number;
  done: boolean;
  /** Arguments of a function; made at the first of them. */
  text: ArgumentsText | null;
}

/** Beyond any answer's items; further ones are skipped. */
const itemsMax = 4_096;

/** Words and figures of a response and of its items. */
const responseWords =
  'service_tier prompt_cache_retention reasoning temperature top_p top_logprobs truncation max_tool_calls'.split(' ');
const itemWords = ['phase', 'async'];

class AnswerDecoder extends EventDecoder {
  readonly #items = new Map<number, Item>();
  readonly #usageOf: DecodeOptions['usageOf'];
  #started = false;
  #calls = 0;
  #lastThought = false;
  #textLength = 0;
  /** Offset in the answer's text of the growing part. */
  #partStart = 0;
  /** A message had a phase: comments on the work and the final answer are separate messages. */
  #hasPhases = false;
  /** The next text begins a message behind another one, which other formats write as one text. */
  #isBehindMessage = false;

  constructor(options: DecodeOptions | undefined) {
    super();
    this.#usageOf = options?.usageOf;
    if (options?.callers === openAiResponsesId) this.callers = openAiResponsesId;
  }

  override finish(): NeutralEvent[] {
    if (this.over) return [];
    const cut = this.#started
      ? fault('truncated', 'the stream ended without response.completed')
      : fault('malformed', 'the stream ended without an answer');
    return [{ type: 'failed', fault: cut }];
  }

  whole(response: JsonObject): NeutralEvent[] {
    this.read({ type: 'response.completed', response });
    return this.events;
  }

  protected override read(event: JsonObject): boolean {
    const { type } = event;
    if (typeof type !== 'string') {
      // A server that breaks down may send its error bare.
      if (isObject(event.error) || typeof event.error === 'string') this.#fail(event);
      else return false;
      return true;
    }
    const response = isObject(event.response) ? event.response : null;
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        this.#start(response);
        return true;
      case 'response.completed':
      case 'response.incomplete':
        if (response === null) return false;
        this.#end(response);
        return true;
      case 'response.failed':
      case 'response.cancelled':
        this.#fail({ object: 'response', status: 'failed', ...response });
        return true;
      case 'error':
        this.#fail(event);
        return true;
    }
    const index = event.output_index;
    // Events without output, and unknown ones, mean nothing here.
    if (typeof index !== 'number') return true;
    this.#start(null);
    const wire = isObject(event.item) ? event.item : null;
    if (type === 'response.output_item.added') {
      if (wire === null) return false;
      this.#itemAt(index, wire);
    } else if (type === 'response.output_item.done') {
      if (wire === null) return false;
      this.#finishItem(index, wire);
    } else this.#delta(type, index, event);
    return true;
  }

  #start(response: JsonObject | null): void {
    if (this.#started) return;
    this.#started = true;
    this.emit({
      type: 'start',
      id: textIn(response?.id),
      model: textIn(response?.model),
      createdS: typeof response?.created_at === 'number' ? Math.floor(response.created_at) : null,
    });
  }

  #itemAt(index: number, wire: JsonObject): Item | null {
    const known = this.#items.get(index);
    if (known !== undefined) return known;
    if (this.#items.size >= itemsMax) return null;
    const type = typeof wire.type === 'string' ? wire.type : '';
    const item: Item = { type, shown: 'nothing', thoughtForm: null, call: -1, citations: 0, done: false, text: null };
    this.#items.set(index, item);
    if (type === 'reasoning') {
      if (this.#lastThought) this.emit({ type: 'part-end', choice: 0 });
      this.#lastThought = true;
    } else this.#lastThought = false;
    const beside = this.beside(wire, itemWords);
    if (type === 'message') {
      if (this.callers !== undefined) this.emit({ type: 'message-start', choice: 0, ...beside });
      this.#partStart = this.#textLength;
      this.#hasPhases ||= typeof wire.phase === 'string';
      this.#isBehindMessage = this.#hasPhases && this.#textLength > 0;
    }
    if (type === 'function_call' || type === 'custom_tool_call') {
      item.call = this.#calls;
      this.#calls += 1;
      const id = textIn(wire.call_id) ?? textIn(wire.id) ?? '';
      const namespace = textIn(wire.namespace);
      const name = flatName(textIn(wire.name) ?? '', namespace);
      const custom = type === 'custom_tool_call';
      const further = { ...beside, ...(custom && { custom }), ...(namespace !== null && { namespace }) };
      this.emit({ type: 'tool-call-start', choice: 0, call: item.call, id, name, ...further });
      if (custom) this.emit({ type: 'tool-call-delta', choice: 0, call: item.call, argumentsJson: '{"input":"' });
    }
    return item;
  }

  #text(text: string): void {
    if (this.#isBehindMessage) {
      this.#isBehindMessage = false;
      this.#partStart += 2;
      this.#text('\n\n');
    }
    this.#textLength += text.length;
    this.emit({ type: 'text-delta', choice: 0, text });
  }

  /** Text of a call as it grows; a custom tool's is put into the string that replaces it. */
  #argumentsDelta(item: Item, text: string): void {
    if (text === '' || item.done) return;
    item.shown = 'something';
    if (item.type === 'function_call') item.text ??= new ArgumentsText();
    const argumentsJson = item.text === null ? JSON.stringify(text).slice(1, -1) : item.text.next(text);
    if (argumentsJson !== '') this.emit({ type: 'tool-call-delta', choice: 0, call: item.call, argumentsJson });
  }

  #thoughtDelta(item: Item, form: 'summary' | 'text', text: string): void {
    item.thoughtForm ??= form;
    if (text === '' || item.thoughtForm !== form) return;
    item.shown = 'something';
    this.emit({ type: 'reasoning-delta', choice: 0, text });
  }

  /** Parts of the finished item that the deltas did not have. */
  #finishItem(index: number, wire: JsonObject): void {
    const item = this.#itemAt(index, wire);
    if (item === null || item.done) return;
    switch (item.type) {
      case 'message':
        if (item.shown === 'nothing') this.#message(wire.content);
        else if (item.citations === 0) this.#citeAll(wire.content);
        this.#nameOthers(wire.content);
        break;
      case 'image_generation_call':
        this.#picture(wire);
        break;
      case 'reasoning':
        if (item.shown === 'nothing') {
          const summary = textOf(wire.summary);
          this.#thoughtDelta(item, 'summary', summary === '' ? textOf(wire.content) : summary);
        }
        if (typeof wire.encrypted_content === 'string' && wire.encrypted_content !== '') {
          const signature = wire.encrypted_content;
          this.emit({ type: 'reasoning-signature', choice: 0, signature, vendor: openAiResponsesId });
          // The signature closed the thought.
          this.#lastThought = false;
        }
        break;
      case 'function_call':
        if (item.shown === 'nothing') this.#argumentsDelta(item, textIn(wire.arguments) ?? '');
        break;
      case 'custom_tool_call':
        if (item.shown === 'nothing') this.#argumentsDelta(item, textIn(wire.input) ?? '');
        this.#closeString(item);
        break;
      default:
        // An item of the provider's tools.
        this.#vendorPart(item.type, wire);
    }
    item.done = true;
  }

  /** Ends the JSON that replaces a custom tool's text. */
  #closeString(item: Item): void {
    if (item.done || item.type !== 'custom_tool_call') return;
    item.done = true;
    this.emit({ type: 'tool-call-delta', choice: 0, call: item.call, argumentsJson: '"}' });
  }

  #end(response: JsonObject): void {
    this.#start(response);
    // Servers exist that tell an item only here.
    if (Array.isArray(response.output)) {
      response.output.forEach((wire, index) => {
        if (isObject(wire)) this.#finishItem(index, wire);
      });
    }
    for (const item of this.#items.values()) this.#closeString(item);
    const items = [...this.#items.values()];
    const answered = items.every(({ shown }) => shown === 'nothing') && items.some(({ type }) => isHosted(type));
    const reason = reasonOf(response, this.#calls);
    const beside = this.beside(response, responseWords);
    this.emit({ type: 'finish', choice: 0, reason, stopSequence: null, ...(answered && { answered }), ...beside });
    const usage = neutralUsage(response, this.#usageOf);
    if (usage !== null) this.emit({ type: 'usage', usage, ...this.beside(response.usage) });
    this.emit({ type: 'end' });
    this.over = true;
  }

  #fail(body: JsonObject): void {
    this.fail(faultInside(body));
  }

  #delta(type: string, index: number, event: JsonObject): void {
    const kind = kindOfDelta.get(type);
    if (kind === undefined) return;
    const item = this.#items.get(index) ?? this.#itemAt(index, { type: kind });
    if (item === null || item.type !== kind) return;
    const text = textIn(event.delta) ?? '';
    switch (type) {
      case 'response.output_text.delta':
        if (text !== '') {
          item.shown = 'something';
          this.#text(text);
        }
        return this.#logprobs(event.logprobs);
      case 'response.refusal.delta':
        if (text === '') return;
        item.shown = 'something';
        this.emit({ type: 'refusal-delta', choice: 0, text });
        return;
      case 'response.content_part.added':
        // The first part needs no boundary before it.
        if (item.shown === 'something') this.emit({ type: 'part-end', choice: 0 });
        this.#partStart = this.#textLength;
        return;
      case 'response.output_text.annotation.added':
        item.citations += 1;
        return this.#cite(event.annotation);
      case 'response.reasoning_summary_part.added':
        if (item.shown === 'something') this.#thoughtDelta(item, 'summary', '\n\n');
        return;
      case 'response.reasoning_summary_text.delta':
        return this.#thoughtDelta(item, 'summary', text);
      case 'response.reasoning_text.delta':
        return this.#thoughtDelta(item, 'text', text);
      default:
        return this.#argumentsDelta(item, text);
    }
  }

  #message(content: JsonValue | undefined): void {
    if (!Array.isArray(content)) return;
    let parts = 0;
    for (const part of content) {
      if (!isObject(part)) continue;
      // What was spoken, by its words.
      const text = part.type === 'refusal' ? part.refusal : (part.text ?? part.transcript);
      if (typeof text !== 'string' || text === '') continue;
      if (parts > 0) this.emit({ type: 'part-end', choice: 0 });
      parts += 1;
      this.#partStart = this.#textLength;
      if (part.type === 'refusal') this.emit({ type: 'refusal-delta', choice: 0, text });
      else this.#text(text);
      for (const annotation of listIn(part.annotations)) this.#cite(annotation);
      this.#logprobs(part.logprobs);
    }
  }

  /** Parts without a text are of this format alone. */
  #nameOthers(content: JsonValue | undefined): void {
    for (const part of objectsIn(content)) {
      if (typeof part.type !== 'string' || part.type === 'refusal' || part.text !== undefined) continue;
      const field = `content.${part.type}`;
      this.emit({ type: 'vendor-part', choice: 0, vendor: `${openAiResponsesId}/part`, field, block: part });
    }
  }

  /** Servers exist that tell sources with a message's end alone. */
  #citeAll(content: JsonValue | undefined): void {
    if (!Array.isArray(content)) return;
    const texts = content.filter(isObject).filter(({ type }) => type !== 'refusal');
    const length = texts.reduce((sum, { text }) => sum + (typeof text === 'string' ? text.length : 0), 0);
    this.#partStart = Math.max(0, this.#textLength - length);
    for (const { text, annotations } of texts) {
      for (const annotation of listIn(annotations)) this.#cite(annotation);
      if (typeof text === 'string') this.#partStart += text.length;
    }
  }

  #cite(annotation: JsonValue | undefined): void {
    if (!isObject(annotation)) return;
    const citation = citationOf(annotation, this.#partStart);
    if (citation !== null) this.emit({ type: 'citation', choice: 0, citation });
    else this.#vendorPart('annotations', { annotation });
  }

  #vendorPart(field: string, block: JsonObject): void {
    this.emit({ type: 'vendor-part', choice: 0, vendor: openAiResponsesId, field, block });
  }

  /** A picture that was not drawn in the end has no `result`. */
  #picture(item: JsonObject): void {
    const { result, output_format: format, revised_prompt: prompt } = item;
    if (typeof result !== 'string' || result === '') return;
    const media = producedMedia(`image/${typeof format === 'string' && format !== '' ? format : 'png'}`, result);
    if (typeof prompt === 'string' && prompt !== '') media.prompt = prompt;
    this.emit({
      type: 'media',
      choice: 0,
      media: { ...media, vendorPart: { vendor: openAiResponsesId, block: item } },
    });
  }

  #logprobs(value: JsonValue | undefined): void {
    if (!Array.isArray(value) || value.length === 0) return;
    this.emit({ type: 'logprobs', choice: 0, logprobs: { content: value, refusal: null } });
  }
}

const kindOfDelta: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'response.output_text.delta': 'message',
    'response.refusal.delta': 'message',
    'response.content_part.added': 'message',
    'response.output_text.annotation.added': 'message',
    'response.reasoning_summary_part.added': 'reasoning',
    'response.reasoning_summary_text.delta': 'reasoning',
    'response.reasoning_text.delta': 'reasoning',
    'response.function_call_arguments.delta': 'function_call',
    'response.custom_tool_call_input.delta': 'custom_tool_call',
  }),
);
