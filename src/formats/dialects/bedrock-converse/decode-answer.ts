import { isObject, type JsonObject, type JsonValue, objectsIn, stringOr } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import { EventDecoder, type FinishReason, finishReasonOf, lostMember, type NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import { producedMedia } from '../../neutral/produced-media.ts';
import { addCount, noteService, reportedCount, reportsInvalidCount, type Usage } from '../../neutral/usage.ts';
import { toolInputOf } from '../anthropic-messages/encode-messages.ts';
import { stopReasons } from '../anthropic-messages/wire.ts';
import type { DecodeOptions, StreamDecoder } from '../dialect.ts';
import { faultOfError, readError } from './errors.ts';
import { vendor } from './wire.ts';

/**
 * ConverseStream's events → neutral events: `event` is the event's type, `data` its JSON. What is no JSON of this format
 * is skipped and counted, never thrown.
 */
export function decodeStream(options?: DecodeOptions): StreamDecoder {
  return new AnswerDecoder(options);
}

/** A whole Converse answer as the events of its stream. The same decoder makes them, so that the two cannot differ. */
export function decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[] {
  return new AnswerDecoder(options).whole(body);
}

type OpenBlock =
  | { kind: 'text'; start: number; citations: JsonObject[] }
  | { kind: 'reasoning'; signature: string }
  | { kind: 'tool'; call: number; argumentsSeen: boolean }
  /** The forced call that carries structured output: its arguments are text. */
  | { kind: 'unwrapped'; argumentsSeen: boolean }
  | { kind: 'image'; format: string }
  /** A call of a tool that Bedrock runs, or its result: `json` is the input, `content` the result. */
  | { kind: 'hosted'; name: 'toolUse' | 'toolResult'; begun: JsonObject; json: string; content: JsonValue[] }
  | { kind: 'ignored' };

const openBlocksMax = 256;
const counts = ['inputTokens', 'outputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens'];

const reasons: Readonly<Record<string, FinishReason>> = {
  ...stopReasons,
  guardrail_intervened: 'content-filter',
  content_filtered: 'content-filter',
};

class AnswerDecoder extends EventDecoder {
  readonly #unwrapTool: string | undefined;
  readonly #open = new Map<number, OpenBlock>();
  #started = false;
  #finished = false;
  #toolCalls = 0;
  #unwrapped = 0;
  #textLength = 0;
  #lastPart: 'text' | 'reasoning' | null = null;

  constructor(options: DecodeOptions | undefined) {
    super();
    if (options?.callers === vendor) this.callers = vendor;
    this.#unwrapTool = options?.unwrapTool;
  }

  override finish(): NeutralEvent[] {
    if (this.over) return [];
    this.over = true;
    // Usage comes behind the end of the message; an answer without it is whole.
    if (this.#finished) return [{ type: 'end' }];
    return [{ type: 'failed', fault: fault('truncated', 'the stream ended without messageStop') }];
  }

  whole(body: JsonObject): NeutralEvent[] {
    const message = isObject(body.output) ? body.output.message : undefined;
    if (!isObject(message) || !Array.isArray(message.content)) {
      const found = readError(body) === null ? fault('malformed', 'the answer has no message') : faultOfError(body);
      return [{ type: 'failed', fault: found }];
    }
    this.read({}, 'messageStart');
    message.content.forEach((block, index) => {
      if (isObject(block)) this.#wholeBlock(index, block);
    });
    if (typeof body.stopReason === 'string') this.read(body, 'messageStop');
    if (!this.over) this.read(body, 'metadata');
    return this.over ? this.events : [...this.events, ...this.finish()];
  }

  #wholeBlock(index: number, block: JsonObject): void {
    const { toolUse, reasoningContent, citationsContent, text, image } = block;
    const delta = (delta: JsonObject) => this.#delta(index, delta);
    if (isObject(toolUse) && toolUse.type == null) {
      this.#openTool(index, toolUse);
      delta({ toolUse: { input: JSON.stringify(toolUse.input ?? {}) } });
    } else if (isObject(reasoningContent)) {
      const { reasoningText } = reasoningContent;
      delta({ reasoningContent: isObject(reasoningText) ? reasoningText : reasoningContent });
      if (isObject(reasoningText) && typeof reasoningText.signature === 'string') {
        delta({ reasoningContent: { signature: reasoningText.signature } });
      }
    } else if (isObject(citationsContent)) {
      for (const one of objectsIn(citationsContent.content)) delta({ text: one.text ?? '' });
      for (const citation of objectsIn(citationsContent.citations)) delta({ citation });
    } else if (typeof text === 'string') delta({ text });
    else if (isObject(image)) delta({ image });
    else this.#vendorPart(block);
    this.#close(index);
  }

  protected override read(data: JsonObject, event: string): boolean {
    switch (event) {
      case 'messageStart':
        this.#start();
        return true;
      case 'contentBlockStart':
        if (typeof data.contentBlockIndex !== 'number' || !isObject(data.start)) return false;
        this.#start();
        this.#openBlock(data.contentBlockIndex, data.start);
        return true;
      case 'contentBlockDelta':
        if (typeof data.contentBlockIndex !== 'number' || !isObject(data.delta)) return false;
        this.#start();
        return this.#delta(data.contentBlockIndex, data.delta);
      case 'contentBlockStop':
        if (typeof data.contentBlockIndex !== 'number') return false;
        this.#close(data.contentBlockIndex);
        return true;
      case 'messageStop':
        this.#start();
        this.#stop(data);
        return true;
      case 'metadata':
        this.#usage(data);
        if (isObject(data.trace)) this.#trace(data.trace);
        if (!this.#finished) return true;
        this.over = true;
        this.emit({ type: 'end' });
        return true;
      case 'error':
        this.fail(faultOfError(data));
        return true;
      default:
        // Bedrock adds events over time.
        return event !== '';
    }
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.emit({ type: 'start', id: null, model: null, createdS: null });
  }

  #openBlock(index: number, { toolUse, toolResult, image }: JsonObject): void {
    const hosted = { kind: 'hosted', json: '', content: [] } as const;
    if (isObject(toolResult)) this.#place(index, { ...hosted, name: 'toolResult', begun: toolResult, content: [] });
    else if (isObject(image)) this.#openImage(index, image);
    else if (isObject(toolUse) && toolUse.type == null) this.#openTool(index, toolUse);
    else if (isObject(toolUse)) this.#place(index, { ...hosted, name: 'toolUse', begun: toolUse, content: [] });
  }

  #openTool(index: number, { toolUseId, name: toolName }: JsonObject): void {
    const name = stringOr(toolName, '');
    this.#lastPart = null;
    if (name !== '' && name === this.#unwrapTool) {
      this.#unwrapped += 1;
      // A model that may call several tools may call this one twice: two objects in a row are no JSON.
      this.#place(index, this.#unwrapped === 1 ? { kind: 'unwrapped', argumentsSeen: false } : { kind: 'ignored' });
      return;
    }
    const call = this.#toolCalls++;
    this.#place(index, { kind: 'tool', call, argumentsSeen: false });
    this.emit({ type: 'tool-call-start', choice: 0, call, id: stringOr(toolUseId, ''), name });
  }

  /** The format of a picture comes before its bytes. */
  #openImage(index: number, { format }: JsonObject): void {
    this.#lastPart = null;
    this.#place(index, { kind: 'image', format: stringOr(format, 'png') });
  }

  #place(index: number, block: OpenBlock): void {
    if (this.#open.has(index)) this.#close(index);
    if (this.#open.size >= openBlocksMax) {
      this.over = true;
      this.emit({ type: 'failed', fault: fault('malformed', `the answer has more than ${openBlocksMax} open blocks`) });
    } else this.#open.set(index, block);
  }

  /** Blocks of text and thoughts have no event for their beginning. */
  #part(index: number, kind: 'text' | 'reasoning'): OpenBlock {
    const open = this.#open.get(index);
    if (open !== undefined) return open;
    if (this.#lastPart === kind) this.emit({ type: 'part-end', choice: 0 });
    this.#lastPart = kind;
    const block: OpenBlock =
      kind === 'text' ? { kind, start: this.#textLength, citations: [] } : { kind, signature: '' };
    this.#place(index, block);
    return block;
  }

  #delta(index: number, { text, toolUse, toolResult, reasoningContent, citation, image }: JsonObject): boolean {
    if (typeof text === 'string') {
      this.#part(index, 'text');
      this.#text(text);
    } else if (isObject(toolUse)) {
      const block = this.#open.get(index);
      if (block?.kind === 'tool' || block?.kind === 'unwrapped') this.#arguments(block, stringOr(toolUse.input, ''));
      else if (block?.kind === 'hosted') block.json += stringOr(toolUse.input, '');
      return block !== undefined;
    } else if (Array.isArray(toolResult)) {
      const block = this.#open.get(index);
      if (block?.kind === 'hosted') block.content.push(...toolResult);
    } else if (isObject(reasoningContent)) this.#reasoning(index, reasoningContent);
    else if (isObject(citation)) {
      const block = this.#part(index, 'text');
      if (block.kind === 'text') block.citations.push(citation);
    } else if (isObject(image)) this.#image(index, image);
    return true;
  }

  #reasoning(index: number, { text, signature, redactedContent }: JsonObject): void {
    if (typeof redactedContent === 'string') {
      this.#lastPart = null;
      this.emit({ type: 'redacted-reasoning', choice: 0, data: redactedContent, vendor });
      return;
    }
    const block = this.#part(index, 'reasoning');
    if (block.kind !== 'reasoning') return;
    if (typeof text === 'string' && text !== '') this.emit({ type: 'reasoning-delta', choice: 0, text });
    else if (typeof signature === 'string') block.signature += signature;
  }

  #image(index: number, image: JsonObject): void {
    const { format, source } = image;
    // One in S3 is for this format alone.
    if (!isObject(source) || typeof source.bytes !== 'string') return this.#vendorPart({ image });
    const open = this.#open.get(index);
    const type = stringOr(format, open?.kind === 'image' ? open.format : 'png');
    const media = producedMedia(`image/${type}`, source.bytes);
    this.emit({ type: 'media', choice: 0, media });
  }

  #close(index: number): void {
    const block = this.#open.get(index);
    if (block === undefined) return;
    this.#open.delete(index);
    if (block.kind === 'reasoning' && block.signature !== '') {
      this.emit({ type: 'reasoning-signature', choice: 0, signature: block.signature, vendor });
    } else if (block.kind === 'text') {
      const span = { start: block.start, end: this.#textLength };
      for (const one of block.citations) {
        this.emit({ type: 'citation', choice: 0, citation: { ...readCitation(one), span } });
      }
    } else if (block.kind === 'hosted') {
      const { name, begun, json, content } = block;
      const rest: JsonObject = name === 'toolUse' ? { input: toolInputOf(json || '{}').input } : { content };
      this.#vendorPart({ [name]: { ...begun, ...rest } });
    } else if ((block.kind === 'tool' || block.kind === 'unwrapped') && !block.argumentsSeen) {
      this.#arguments(block, '{}');
    }
  }

  /** A block that this format alone has. */
  #vendorPart(block: JsonObject): void {
    this.#lastPart = null;
    this.emit({ type: 'vendor-part', choice: 0, vendor, field: Object.keys(block)[0] ?? null, block });
  }

  /** Gives the findings of guardrails as a part of the answer: they have texts, which our guards read. */
  #trace(trace: JsonObject): void {
    if (this.callers === undefined) this.emit(lostMember('trace'));
    else this.emit({ type: 'vendor-part', choice: 0, vendor, field: null, block: { trace }, apart: true });
  }

  #arguments(block: OpenBlock & { kind: 'tool' | 'unwrapped' }, argumentsJson: string): void {
    if (argumentsJson === '') return;
    block.argumentsSeen = true;
    if (block.kind === 'tool') this.emit({ type: 'tool-call-delta', choice: 0, call: block.call, argumentsJson });
    else this.#text(argumentsJson);
  }

  #text(text: string): void {
    if (text === '') return;
    this.#textLength += text.length;
    this.emit({ type: 'text-delta', choice: 0, text });
  }

  #stop(data: JsonObject): void {
    const { stopReason, additionalModelResponseFields: modelFields } = data;
    if (this.#finished || typeof stopReason !== 'string') return;
    for (const index of [...this.#open.keys()]) this.#close(index);
    if (stopReason.startsWith('malformed_')) {
      this.fail(fault('malformed', `the model's output was malformed (${stopReason})`));
      return;
    }
    this.#finished = true;
    const reason = finishReasonOf(stopReason, reasons, { toolCalls: this.#toolCalls, unwrapped: this.#unwrapped });
    const stopSequence = isObject(modelFields) ? stringOr(modelFields.stop_sequence, null) : null;
    const beside = this.beside(data, ['additionalModelResponseFields']);
    this.emit({ type: 'finish', choice: 0, reason, stopSequence, ...beside });
  }

  #usage(data: JsonObject): void {
    const { usage, serviceTier: service } = data;
    if (!isObject(usage)) return;
    const input = reportedCount(usage.inputTokens);
    const output = reportedCount(usage.outputTokens);
    if (input === null && output === null) return;
    const read = reportedCount(usage.cacheReadInputTokens) ?? 0;
    const written = reportedCount(usage.cacheWriteInputTokens) ?? 0;
    // Bedrock counts cached input apart from inputTokens, the neutral form inside of it: added here.
    const counted: Usage = { inputTokens: (input ?? 0) + read + written, outputTokens: output ?? 0 };
    if (usage.cacheReadInputTokens !== undefined) counted.cachedInputTokens = read;
    if (usage.cacheWriteInputTokens !== undefined) counted.cacheWriteTokens = written;
    for (const { ttl, inputTokens } of objectsIn(usage.cacheDetails))
      if (ttl === '1h') addCount(counted, 'cacheWrite1hTokens', inputTokens);
    if (isObject(service)) noteService(counted, [service.type]);
    this.emit({
      type: 'usage',
      usage: counted,
      ...(reportsInvalidCount(usage, counts) && { impossible: true as const }),
      ...this.beside(data, ['performanceConfig', 'serviceTier']),
    });
  }
}

function readCitation(citation: JsonObject): Citation {
  const { title, source, sourceContent, location } = citation;
  const place = isObject(location) ? location : {};
  const web = isObject(place.web) ? stringOr(place.web.url, null) : null;
  const sourceText = stringOr(source, '');
  const url = web ?? (/^https?:/i.test(sourceText) ? sourceText : null);
  const inDocument = Object.values(place).find(
    (one): one is JsonObject => isObject(one) && typeof one.documentIndex === 'number',
  );
  return {
    url,
    title: stringOr(title, url === null ? sourceText : ''),
    quote: objectsIn(sourceContent)
      .map(({ text }) => stringOr(text, ''))
      .join(''),
    ...(inDocument !== undefined && { document: inDocument.documentIndex as number }),
    vendorPart: { vendor, block: citation },
  };
}
