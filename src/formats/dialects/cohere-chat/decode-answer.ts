import { isObject, type JsonObject, type JsonValue, objectsIn, stringOr } from '../../../kernel/json.ts';
import { EventDecoder, type FinishReason, finishReasonOf, type NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import { reportedCount, reportsInvalidCount, type Usage } from '../../neutral/usage.ts';
import { stopReasons } from '../anthropic-messages/wire.ts';
import { ArgumentsText } from '../arguments-text.ts';
import type { DecodeOptions, StreamDecoder } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';
import { classOfError, readError } from '../openai-chat/errors.ts';
import { citationsOf, type TextBlock } from './citations.ts';
import { vendor } from './wire.ts';

/** The events of a stream of Chat v2 → neutral events. What is none of this format is skipped and counted, never thrown. */
export function decodeStream(options?: DecodeOptions): StreamDecoder {
  return new AnswerDecoder(options?.unwrapTool);
}

/** A whole answer as the events of its stream. The same decoder makes them, so that the two cannot differ. */
export function decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[] {
  return new AnswerDecoder(options?.unwrapTool).whole(body);
}

/** Text blocks of an answer; further ones have no citations. */
const textBlocksMax = 256;

const reasons: Readonly<Record<string, FinishReason>> = { ...stopReasons, tool_call: 'tool-calls' };

class AnswerDecoder extends EventDecoder {
  readonly #unwrapTool: string | undefined;
  /** Texts of the answer by the index of their block, which citations name. */
  readonly #texts = new Map<number, TextBlock>();
  /** The call of each index on the wire; null: the call that carries structured output, undefined: one to be ignored. */
  readonly #calls = new Map<number, number | null | undefined>();
  readonly #argumentsOf = new Map<number, ArgumentsText>();
  #started = false;
  #toolCalls = 0;
  #unwrapped = 0;
  #textLength = 0;
  #lastPart: 'text' | 'thinking' | null = null;

  constructor(unwrapTool: string | undefined) {
    super();
    this.#unwrapTool = unwrapTool;
  }

  override finish(): NeutralEvent[] {
    if (this.over) return [];
    this.over = true;
    return [{ type: 'failed', fault: fault('truncated', 'the stream ended without message-end') }];
  }

  whole(body: JsonObject): NeutralEvent[] {
    const { message } = body;
    if (!isObject(message)) {
      this.#failed(body);
      return this.events;
    }
    this.#start(body.id);
    if (typeof message.tool_plan === 'string') this.#thought(message.tool_plan);
    objectsIn(message.content).forEach((block, index) => {
      this.#content(index, block, 'start');
    });
    objectsIn(message.tool_calls).forEach((call, index) => {
      this.#call(index, call);
    });
    for (const citation of objectsIn(message.citations)) this.#citation(citation);
    this.#end(body);
    return this.events;
  }

  protected override read(event: JsonObject): boolean {
    const { type, index } = event;
    const delta = isObject(event.delta) ? event.delta : {};
    const message = isObject(delta.message) ? delta.message : {};
    const at = typeof index === 'number' ? index : 0;
    switch (type) {
      case 'message-start':
        this.#start(event.id);
        return true;
      case 'content-start':
      case 'content-delta':
        if (!isObject(message.content)) return false;
        this.#start(null);
        this.#content(at, message.content, type === 'content-start' ? 'start' : 'delta');
        return true;
      case 'tool-plan-delta':
        this.#start(null);
        this.#thought(stringOr(message.tool_plan, ''));
        return true;
      case 'tool-call-start':
        if (!isObject(message.tool_calls)) return false;
        this.#start(null);
        this.#call(at, message.tool_calls);
        return true;
      case 'tool-call-delta':
        if (!isObject(message.tool_calls)) return false;
        this.#arguments(at, message.tool_calls.function);
        return true;
      case 'citation-start':
        if (!isObject(message.citations)) return false;
        this.#citation(message.citations);
        return true;
      case 'message-end':
        this.#start(event.id);
        this.#end(delta);
        return true;
      case undefined:
        if (readError(event) === null) return false;
        this.#failed(event);
        return true;
      default:
        // The ends of parts, events for debugging, and those that Cohere adds over time.
        return typeof type === 'string';
    }
  }

  #start(id: JsonValue | undefined): void {
    if (this.#started) return;
    this.#started = true;
    this.emit({ type: 'start', id: stringOr(id, null), model: null, createdS: null });
  }

  #content(index: number, part: JsonObject, place: 'start' | 'delta'): void {
    const { type, text, thinking } = part;
    if (typeof thinking === 'string') {
      if (place === 'start') this.#part('thinking');
      this.#thought(thinking);
    } else if (typeof text === 'string') {
      if (place === 'start') this.#part('text');
      this.#text(index, text);
    } else if (typeof type === 'string' && type !== 'text' && type !== 'thinking')
      this.emit({ type: 'vendor-part', choice: 0, vendor, field: `content.${type}`, block: part });
  }

  #part(kind: 'text' | 'thinking'): void {
    if (this.#lastPart === kind) this.emit({ type: 'part-end', choice: 0 });
    this.#lastPart = kind;
  }

  #thought(text: string): void {
    if (text !== '') this.emit({ type: 'reasoning-delta', choice: 0, text });
  }

  #text(index: number, text: string): void {
    const block = this.#texts.get(index);
    if (block !== undefined) block.text += text;
    else if (this.#texts.size < textBlocksMax) this.#texts.set(index, { start: this.#textLength, text });
    this.#textLength += text.length;
    if (text !== '') this.emit({ type: 'text-delta', choice: 0, text });
  }

  #call(index: number, { id, function: fn }: JsonObject): void {
    this.#lastPart = null;
    const name = isObject(fn) ? stringOr(fn.name, '') : '';
    if (name !== '' && name === this.#unwrapTool) {
      this.#unwrapped += 1;
      // The model may call this one twice: two objects in a row are no JSON.
      this.#calls.set(index, this.#unwrapped === 1 ? null : undefined);
    } else {
      this.#calls.set(index, this.#toolCalls);
      this.emit({ type: 'tool-call-start', choice: 0, call: this.#toolCalls, id: stringOr(id, ''), name });
      this.#toolCalls += 1;
    }
    this.#arguments(index, fn);
  }

  #arguments(index: number, fn: JsonValue | undefined): void {
    const call = this.#calls.get(index);
    const piece = isObject(fn) ? stringOr(fn.arguments, '') : '';
    if (call === undefined || piece === '') return;
    // Of a call that carries structured output, the arguments are the answer's text.
    if (call === null) return this.#text(index, piece);
    const text = this.#argumentsOf.get(index) ?? new ArgumentsText();
    this.#argumentsOf.set(index, text);
    const argumentsJson = text.next(piece);
    if (argumentsJson !== '') this.emit({ type: 'tool-call-delta', choice: 0, call, argumentsJson });
  }

  #citation(event: JsonObject): void {
    // Those of plans and thoughts are none of the answer.
    if (typeof event.type === 'string' && event.type !== 'TEXT_CONTENT') return;
    const index = reportedCount(event.content_index);
    const block = index === null ? [...this.#texts.values()].at(-1) : this.#texts.get(index);
    for (const citation of citationsOf(event, block)) this.emit({ type: 'citation', choice: 0, citation });
  }

  #end({ finish_reason: word, error, usage }: JsonObject): void {
    this.over = true;
    const reason = stringOr(word, '').toLowerCase();
    if (reason === '' || reason === 'error' || reason === 'timeout') {
      const why = stringOr(error, reason === 'timeout' ? 'the generation took too long' : 'the generation failed');
      this.emit({ type: 'failed', fault: fault('transient', why) });
      return;
    }
    const made = { toolCalls: this.#toolCalls, unwrapped: this.#unwrapped };
    const neutral = finishReasonOf(reason, reasons, made);
    this.emit({ type: 'finish', choice: 0, reason: neutral, stopSequence: null });
    this.#usage(usage);
    this.emit({ type: 'end' });
  }

  /**
   * Reads the billed units: `tokens` counts Cohere's template too, which is not billed. Servers that bill no one report
   * only `tokens`.
   */
  #usage(usage: JsonValue | undefined): void {
    if (!isObject(usage)) return;
    const { billed_units: billed, tokens, cached_tokens: cached } = usage;
    const counts = isObject(billed) && reportedCount(billed.input_tokens) !== null ? billed : tokens;
    if (!isObject(counts)) return;
    const inputTokens = reportedCount(counts.input_tokens);
    const outputTokens = reportedCount(counts.output_tokens);
    const impossible = reportsInvalidCount(counts, ['input_tokens', 'output_tokens']);
    if (inputTokens === null && outputTokens === null && !impossible) return;
    const counted: Usage = { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 };
    const read = reportedCount(cached);
    // The template is cached as well, and is none of the billed input.
    if (read !== null) counted.cachedInputTokens = Math.min(read, counted.inputTokens);
    this.emit({ type: 'usage', usage: counted, ...(impossible && { impossible: true as const }) });
  }

  #failed(body: JsonObject): void {
    const error = readError(body);
    this.fail(
      error === null ? fault('malformed', 'the answer has no message') : faultInside(body, error, classOfError),
    );
  }
}
