import { isObject, type JsonObject, type JsonValue, listIn, parsedData, stringOr } from '../../../kernel/json.ts';
import {
  type Beside,
  EventDecoder,
  type FinishReason,
  finishReasonOf,
  lostMember,
  type NeutralEvent,
} from '../../neutral/event.ts';
import { fault, withheldBecause } from '../../neutral/outcome.ts';
import {
  noteService,
  reportedCost,
  reportedCount,
  reportsInvalidCount,
  type Usage,
  type WithCost,
} from '../../neutral/usage.ts';
import type { DecodeOptions, StreamDecoder } from '../dialect.ts';
import { readCitation } from './citations.ts';
import { faultOfError, readError } from './errors.ts';
import { countsBeside, noCounts } from './iterations.ts';
import { stopReasons, vendor } from './wire.ts';

/**
 * Anthropic's stream → neutral events. Bytes that are not JSON of this format are skipped and counted, never thrown:
 * one bad line must not cost the caller the answer around it.
 */
export function decodeStream(options?: DecodeOptions): StreamDecoder {
  return new AnswerDecoder(options);
}

/** A whole Messages answer as the events of its stream. The same decoder makes them, so that the two cannot differ. */
export function decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[] {
  if (readError(body) !== null) return [{ type: 'failed', fault: faultOfError(body) }];
  if (!Array.isArray(body.content)) return [{ type: 'failed', fault: fault('malformed', 'the answer has no content') }];
  return new AnswerDecoder(options).whole(body);
}

type OpenBlock =
  /** Its citations come at its end: they are over all of it. */
  | { kind: 'text'; start: number; citations: JsonObject[] | null }
  /** The last signature counts: Anthropic sends it once, at the block's end. */
  | { kind: 'thinking'; signature: string }
  | { kind: 'tool'; call: number; input: JsonValue | undefined; argumentsSeen: boolean }
  /** The forced call that carries structured output: its arguments are text. */
  | { kind: 'unwrapped'; input: JsonValue | undefined; argumentsSeen: boolean }
  /** Server tools and unknown blocks: not for callers of other dialects. */
  | { kind: 'vendor'; block: JsonObject; inputJson: string }
  | { kind: 'ignored' };

const openBlocksMax = 256;
/** Beyond any model's calls; further ones are skipped. */
const callsMax = 4_096;

const reasons: Readonly<Record<string, FinishReason>> = {
  ...stopReasons,
  refusal: 'content-filter',
  pause_turn: 'pause',
  compaction: 'pause',
};

/** Words and figures of an answer and of its usage. */
const answerWords = ['container', 'context_management', 'stop_details'];
const usageWords = ['cache_creation', 'service_tier', 'inference_geo', 'iterations', 'speed'];

class AnswerDecoder extends EventDecoder {
  readonly #unwrapTool: string | undefined;
  readonly #open = new Map<number, OpenBlock>();
  readonly #counts = new UsageCounts();
  readonly #usageOf: DecodeOptions['usageOf'];
  /** Further members of the usage so far. */
  #beside: Beside | undefined;
  #started = false;
  #finished = false;
  #toolCalls = 0;
  #unwrapped = 0;
  #textLength = 0;
  #lastPart: 'text' | 'thinking' | null = null;
  /** message_start may already carry why it stopped, when a whole answer is replayed as a stream. */
  #early: JsonObject | null = null;

  constructor(options: DecodeOptions | undefined) {
    super();
    if (options?.callers === vendor) this.callers = vendor;
    this.#usageOf = options?.usageOf;
    this.#unwrapTool = options?.unwrapTool;
  }

  override finish(): NeutralEvent[] {
    if (this.over) return [];
    return [{ type: 'failed', fault: fault('truncated', 'the stream ended without message_stop') }];
  }

  whole(message: JsonObject): NeutralEvent[] {
    this.read({ type: 'message_start', message });
    this.read({ type: 'message_stop' });
    return this.events;
  }

  protected override read(data: JsonObject): boolean {
    switch (data.type) {
      case 'message_start':
        this.#startMessage(isObject(data.message) ? data.message : {});
        return true;
      case 'content_block_start':
        if (typeof data.index !== 'number' || !isObject(data.content_block)) return false;
        if (!this.#started) this.#startMessage({});
        if (this.#open.size >= openBlocksMax) this.#fail(`The answer has more than ${openBlocksMax} open blocks.`);
        else this.#openBlock(data.index, data.content_block);
        return true;
      case 'content_block_delta':
        if (typeof data.index !== 'number' || !isObject(data.delta)) return false;
        if (!this.#started) this.#startMessage({});
        return this.#delta(data.index, data.delta);
      case 'content_block_stop':
        if (typeof data.index !== 'number') return false;
        this.#closeBlock(data.index);
        return true;
      case 'message_delta':
        if (!this.#started) this.#startMessage({});
        if (isObject(data.delta)) this.#stop({ ...data, ...data.delta });
        if (this.callers !== undefined) this.#noteMembers(data.usage);
        if (this.#counts.take(this.#usageOf?.(data) ?? data.usage, this.#early === null))
          this.emit({ type: 'usage', usage: this.#counts.usage(), ...(this.#beside && { beside: this.#beside }) });
        else if (this.#counts.impossible) {
          this.emit({ type: 'usage', usage: this.#counts.usage(), impossible: true });
        }
        return true;
      case 'message_stop':
        if (!this.#started) this.#startMessage({});
        if (this.#early !== null) this.#stop(this.#early);
        this.over = true;
        // Without a reason nobody can tell a whole answer from a cut one.
        if (this.#finished) this.emit({ type: 'end' });
        else this.#fail('The answer ended without a stop reason.');
        return true;
      case 'error':
        this.fail(faultOfError(data));
        return true;
      // Anthropic asks clients to ignore event types they do not know; ping is one that means nothing.
      default:
        return typeof data.type === 'string';
    }
  }

  #fail(message: string): void {
    this.fail(fault('malformed', message));
  }

  /** Keeps the further members, each the latest one. Each usage is looked through once, however many come. */
  #noteMembers(usage: JsonValue | undefined): void {
    const { beside = this.#beside } = this.beside(usage, usageWords) ?? {};
    this.#beside = beside && { vendor, members: { ...this.#beside?.members, ...beside.members } };
  }

  /** `message` is empty where a server leaves its message_start out. */
  #startMessage(message: JsonObject): void {
    const first = !this.#started;
    this.#started = true;
    if (first) {
      const { id, model } = message;
      this.emit({ type: 'start', id: stringOr(id, null), model: stringOr(model, null), createdS: null });
    }
    if (this.callers !== undefined) this.#noteMembers(message.usage);
    if (this.#counts.take(this.#usageOf?.(message) ?? message.usage))
      this.emit({ type: 'usage', usage: this.#counts.usage(), ...(this.#beside && { beside: this.#beside }) });
    if (!first) return;
    if (typeof message.stop_reason === 'string') this.#early = message;
    if (!Array.isArray(message.content)) return;
    for (let i = 0; i < message.content.length; i++) {
      const block = message.content[i];
      if (!isObject(block)) continue;
      // Negative indexes: the blocks of the stream begin at 0 again.
      this.#openBlock(-1 - i, block);
      this.#closeBlock(-1 - i);
    }
  }

  #openBlock(index: number, block: JsonObject): void {
    if (this.#open.has(index)) this.#closeBlock(index);
    if (this.#lastPart !== null && block.type === this.#lastPart) this.emit({ type: 'part-end', choice: 0 });
    switch (block.type) {
      case 'text':
        this.#lastPart = 'text';
        this.#open.set(index, { kind: 'text', start: this.#textLength, citations: null });
        this.#text('text-delta', block.text);
        if (Array.isArray(block.citations)) for (const citation of block.citations) this.#cite(index, citation);
        return;
      case 'thinking':
        this.#lastPart = 'thinking';
        this.#open.set(index, { kind: 'thinking', signature: stringOr(block.signature, '') });
        this.#text('reasoning-delta', block.thinking);
        return;
      case 'redacted_thinking':
        this.#lastPart = null;
        this.#open.set(index, { kind: 'ignored' });
        if (typeof block.data === 'string') {
          this.emit({ type: 'redacted-reasoning', choice: 0, data: block.data, vendor });
        }
        return;
      case 'tool_use': {
        const name = stringOr(block.name, '');
        this.#lastPart = null;
        if (name === this.#unwrapTool && name !== '') {
          this.#unwrapped += 1;
          // A model that may call several tools may call this one twice: two objects in a row are not JSON.
          const first = this.#unwrapped === 1;
          this.#open.set(
            index,
            first ? { kind: 'unwrapped', input: block.input, argumentsSeen: false } : { kind: 'ignored' },
          );
          return;
        }
        if (this.#toolCalls >= callsMax) {
          this.#open.set(index, { kind: 'ignored' });
          return this.emit(lostMember('tool_use'));
        }
        const call = this.#toolCalls++;
        this.#open.set(index, { kind: 'tool', call, input: block.input, argumentsSeen: false });
        const beside = this.callers === undefined ? undefined : this.beside(block, ['caller']);
        this.emit({ type: 'tool-call-start', choice: 0, call, id: stringOr(block.id, ''), name, ...beside });
        return;
      }
      default:
        this.#lastPart = null;
        this.#open.set(index, { kind: 'vendor', block, inputJson: '' });
    }
  }

  #closeBlock(index: number): void {
    const block = this.#open.get(index);
    if (block === undefined) return;
    this.#open.delete(index);
    if (block.kind === 'thinking' && block.signature !== '') {
      this.emit({ type: 'reasoning-signature', choice: 0, signature: block.signature, vendor });
    } else if (block.kind === 'text') {
      const span = { start: block.start, end: this.#textLength };
      for (const one of block.citations ?? []) {
        this.emit({ type: 'citation', choice: 0, citation: readCitation(one, span) });
      }
    } else if (block.kind === 'vendor') this.#vendorPart(block);
    else if ((block.kind === 'tool' || block.kind === 'unwrapped') && !block.argumentsSeen) {
      // A call without arguments streams nothing or ""; a whole answer has them in the block itself.
      this.#arguments(block, isObject(block.input) ? JSON.stringify(block.input) : '{}');
    }
  }

  #delta(index: number, change: JsonObject): boolean {
    const block = this.#open.get(index);
    switch (change.type) {
      case 'text_delta':
        // Some servers leave out content_block_start: text must not be lost for that.
        if (block === undefined) this.#openBlock(index, { type: 'text' });
        if (block === undefined || block.kind === 'text') this.#text('text-delta', change.text);
        return true;
      case 'thinking_delta':
        if (block === undefined) this.#openBlock(index, { type: 'thinking' });
        if (block === undefined || block.kind === 'thinking') this.#text('reasoning-delta', change.thinking);
        return true;
      case 'signature_delta':
        if (block?.kind === 'thinking') block.signature = stringOr(change.signature, block.signature);
        return true;
      case 'input_json_delta':
        if (block?.kind === 'tool' || block?.kind === 'unwrapped') {
          this.#arguments(block, stringOr(change.partial_json, ''));
        } else if (block?.kind === 'vendor') block.inputJson += stringOr(change.partial_json, '');
        return block !== undefined;
      case 'citations_delta':
        this.#cite(index, change.citation);
        return true;
      case 'compaction_delta':
        if (block?.kind === 'vendor') block.block = { ...block.block, ...change, type: 'compaction' };
        return true;
      default:
        return true;
    }
  }

  #stop(message: JsonObject): void {
    const { stop_reason: word, stop_sequence: sequence, stop_details: details } = message;
    if (this.#finished || typeof word !== 'string') return;
    this.#finished = true;
    for (const index of [...this.#open.keys()]) this.#closeBlock(index);
    const reason = finishReasonOf(word, reasons, { toolCalls: this.#toolCalls, unwrapped: this.#unwrapped });
    const explains = reason === 'content-filter' && this.#textLength === 0 && this.#toolCalls === 0;
    if (explains && isObject(details)) {
      const text = withheldBecause(stringOr(details.category, 'refusal'), details.explanation);
      this.emit({ type: 'refusal-delta', choice: 0, text, ours: true });
    }
    const beside = this.callers === undefined ? undefined : this.beside(message, answerWords);
    if (this.callers === undefined) {
      const { container, context_management: context } = message;
      if (isObject(container)) this.emit(lostMember('container'));
      if (isObject(context) && listIn(context.applied_edits).length > 0) this.emit(lostMember('context_management'));
      if (isObject(details) && !explains) this.emit(lostMember('stop_details'));
    }
    this.emit({ type: 'finish', choice: 0, reason, stopSequence: stringOr(sequence, null), ...beside });
  }

  #text(type: 'text-delta' | 'reasoning-delta', text: JsonValue | undefined): void {
    if (typeof text !== 'string' || text === '') return;
    if (type === 'text-delta') this.#textLength += text.length;
    this.emit({ type, choice: 0, text });
  }

  #cite(index: number, citation: JsonValue | undefined): void {
    if (!isObject(citation)) return;
    const block = this.#open.get(index);
    if (block?.kind !== 'text') this.emit({ type: 'citation', choice: 0, citation: readCitation(citation, null) });
    else {
      block.citations ??= [];
      block.citations.push(citation);
    }
  }

  /** A step of a server tool. Its input is streamed as a call's is. */
  #vendorPart({ block, inputJson }: OpenBlock & { kind: 'vendor' }): void {
    const field = stringOr(block.type, '');
    if (field === '') return;
    const whole = inputJson === '' ? block : { ...block, input: parsedData(inputJson) ?? {} };
    this.emit({ type: 'vendor-part', choice: 0, vendor, field, block: whole });
  }

  #arguments(block: OpenBlock & { kind: 'tool' | 'unwrapped' }, argumentsJson: string): void {
    if (argumentsJson === '') return;
    block.argumentsSeen = true;
    if (block.kind === 'tool') this.emit({ type: 'tool-call-delta', choice: 0, call: block.call, argumentsJson });
    else this.#text('text-delta', argumentsJson);
  }
}

const mainCounts = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/** Anthropic's counts of one answer, each the latest one. */
export class UsageCounts {
  /** A count came that no request can have: none is believed, neither earlier nor later ones. */
  impossible = false;
  output = 0;
  #input = 0;
  #cacheRead = 0;
  #cacheWrite = 0;
  #cacheWrite1h = 0;
  #searches = 0;
  #hasLast = false;
  #thinking: number | null = null;
  #service: readonly (JsonValue | undefined)[] = [];
  /** Counts of runs that the other counts leave out. */
  #beside = noCounts;
  /** Cost of the whole answer, by the latest usage. */
  #cost: WithCost[typeof reportedCost];

  /**
   * Takes over the counts of `usage`. message_delta's counts are cumulative, and its input counts may differ from
   * message_start's: later ones replace earlier ones, absent ones leave them. True if there were any and all are valid.
   * Servers of this format that do not repeat the input say 0 there, which no request has. `isLast`: of message_delta.
   * Where that one has no output, the output of message_start counts the first words alone, and is dropped.
   */
  take(usage: JsonValue | undefined, isLast = false): boolean {
    const output = isObject(usage) ? reportedCount(usage.output_tokens) : null;
    this.#hasLast ||= isLast && output !== null;
    const isFirst = isLast && !this.#hasLast && this.output > 0;
    if (isFirst) this.output = 0;
    if (!isObject(usage)) return isFirst && !this.impossible;
    this.#cost = (usage as WithCost)[reportedCost];
    this.impossible ||= reportsInvalidCount(usage, mainCounts);
    const input = reportedCount(usage.input_tokens);
    const read = reportedCount(usage.cache_read_input_tokens);
    const written = reportedCount(usage.cache_creation_input_tokens);
    if ((input ?? 0) + (read ?? 0) + (written ?? 0) > 0) {
      this.#input = input ?? this.#input;
      this.#cacheRead = read ?? this.#cacheRead;
      this.#cacheWrite = written ?? this.#cacheWrite;
    }
    this.output = output ?? this.output;
    if (isObject(usage.cache_creation))
      this.#cacheWrite1h = reportedCount(usage.cache_creation.ephemeral_1h_input_tokens) ?? this.#cacheWrite1h;
    if (isObject(usage.server_tool_use))
      this.#searches = reportedCount(usage.server_tool_use.web_search_requests) ?? this.#searches;
    const details = usage.output_tokens_details;
    if (isObject(details)) this.#thinking = reportedCount(details.thinking_tokens) ?? this.#thinking;
    const { service_tier: tier = 'standard', speed, inference_geo: place } = usage;
    if (tier !== 'standard' || speed !== undefined || place !== undefined) this.#service = [tier, speed, place];
    if (Array.isArray(usage.iterations)) this.#beside = countsBeside(usage.iterations);
    return !this.impossible && (isFirst || input !== null || output !== null);
  }

  /** Anthropic counts cached input apart from input_tokens, the neutral form inside inputTokens: added here. */
  usage(): Usage {
    const beside = this.#beside;
    const usage: Usage = {
      inputTokens: this.#input + this.#cacheRead + this.#cacheWrite + beside.inputTokens,
      outputTokens: this.output + beside.outputTokens,
      cachedInputTokens: this.#cacheRead + beside.cachedInputTokens,
      cacheWriteTokens: this.#cacheWrite + beside.cacheWriteTokens,
    };
    if (this.#cacheWrite1h > 0) usage.cacheWrite1hTokens = this.#cacheWrite1h;
    if (this.#searches > 0) usage.webSearches = this.#searches;
    if (this.#thinking !== null) usage.reasoningTokens = this.#thinking;
    if (this.#service.length > 0) noteService(usage, this.#service);
    return Object.assign(usage, this.#cost);
  }
}
