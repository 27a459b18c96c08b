import { isObject, type JsonObject, type JsonValue, jsonText, parsedData } from '../../../kernel/json.ts';
import { besideOf, type FinishReason, isContent, lostMember, type NeutralEvent } from '../../neutral/event.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { noteService, type Usage } from '../../neutral/usage.ts';
import type { DecodeOptions, SseEvent, StreamDecoder, UsageOf } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';
import { holdCalls } from './answer-proofs.ts';
import { pagesBeside } from './citations.ts';
import { classOfError, faultInWhole, faultOfChoice, neutralFinishReason, readError } from './errors.ts';
import { type DeltaState, readDelta } from './read-delta.ts';
import { neutralUsage } from './read-usage.ts';
import { openAiChatId } from './wire.ts';

/**
 * Chunks of `text/event-stream` as events. `[DONE]` ends the answer, and so does a clean end of the bytes once every
 * choice has its finish reason, because several providers leave `[DONE]` out; any other end is a truncation. Together
 * says `finish_reason` after each of several calls, and Azure's filter may find something after it: so the reasons are
 * given at the end, behind all content.
 */
export function decodeStream(options?: DecodeOptions): StreamDecoder {
  return new ChunkDecoder(options);
}

class ChunkDecoder implements StreamDecoder {
  readonly #reader: ChunkReader;
  #closed = false;
  #malformed = 0;
  /** End of each choice, by its index. */
  readonly #finishes = new Map<number, FinishEvent>();
  /** Usage, which is given after the ends. */
  #usage: NeutralEvent[] = [];

  constructor(options: DecodeOptions | undefined) {
    this.#reader = new ChunkReader(options?.usageOf, options?.choices, options?.provider, options?.callers);
  }

  step({ data }: SseEvent): NeutralEvent[] {
    const events: NeutralEvent[] = [];
    if (this.#closed || data === '') return events;
    if (data === '[DONE]') {
      this.#reader.finishMarked(events);
      return [...this.#now(events), ...this.finish()];
    }
    const chunk = parsedData(data);
    // A server that fails in the middle may put a bare word or a page of HTML on the line; `[DONE]` among blanks is harmless.
    if (chunk === null) this.#malformed += 1;
    else this.#reader.read(chunk, events);
    if (this.#reader.failed) this.#closed = true;
    return this.#now(events);
  }

  /** Events that do not wait for the end. */
  #now(events: NeutralEvent[]): NeutralEvent[] {
    if (this.#finishes.size === 0 && !events.some(({ type }) => type === 'finish')) return events;
    return events.filter((event) => {
      if (event.type === 'finish') this.#finishes.set(event.choice, event);
      else if (event.type === 'usage' && this.#finishes.size > 0) this.#usage = [event];
      else return true;
      return false;
    });
  }

  finish(): NeutralEvent[] {
    if (this.#closed) return [];
    this.#closed = true;
    if (this.#reader.isComplete()) {
      const finishes = [...this.#finishes.values()].map((event) => ({
        ...event,
        ...this.#reader.filtersOf(event.choice),
      }));
      return [...finishes, ...this.#usage, { type: 'end' }];
    }
    const cut = this.#reader.hasStarted()
      ? fault('truncated', 'the stream ended before the answer was finished')
      : fault('malformed', 'the stream ended without an answer');
    return [...this.#usage, { type: 'failed', fault: cut }];
  }

  get malformedLines(): number {
    return this.#malformed + this.#reader.skipped;
  }
}

/** A whole answer as the events that a stream would have given; an error body or no answer gives one `failed`. */
export function decodeWhole(body: JsonObject, options?: DecodeOptions): NeutralEvent[] {
  const wrong = faultInWhole(body);
  if (wrong !== null) return [{ type: 'failed', fault: wrong }];
  const events: NeutralEvent[] = [];
  const reader = new ChunkReader(options?.usageOf, 1, options?.provider, options?.callers);
  reader.read({ ...body, choices: (body.choices as JsonObject[]).map(asChunk) }, events);
  if (reader.failed) return events;
  // Usage is last in a stream, after the finish reasons, so it is here.
  const usage = events.at(-1)?.type === 'usage' ? events.pop() : undefined;
  reader.finishAll(events);
  if (usage !== undefined) events.push(usage);
  events.push({ type: 'end' });
  return events;
}

/**
 * Perplexity's whole answers have an empty `delta` in addition to the message. A filtered choice may have no message at
 * all.
 */
function asChunk({ message, ...choice }: JsonObject): JsonObject {
  return { ...choice, delta: message ?? {} };
}

export const usual: UsageOf = (body) => body.usage;

const answerWords = ['service_tier', 'system_fingerprint', 'provider'];
/** Lists of Perplexity's outside the choices, which are no sources. */
const pageWords = ['images', 'related_questions', 'videos'];
/** All of its lists and xAI's, which may come again with each chunk. */
const answerLists = ['citations', 'search_results', ...pageWords];
/** OpenAI's bound on `n`. */
const choicesMax = 128;

type FinishEvent = Extract<NeutralEvent, { type: 'finish' }>;

interface Choice extends DeltaState {
  /**
   * Calls of Gemini's that wait for their proof, which OpenRouter may give behind them, while formats of callers have its
   * place at their beginning. Null: calls do not wait.
   */
  held: NeutralEvent[] | null;
  /** Its last finish reason; null: none yet. */
  finish: Pick<FinishEvent, 'reason' | 'stopSequence'> | null;
  /** It has a finish reason, and no content has come since. */
  finished: boolean;
  /** Pieces of calls that could not be placed, as far as they are counted. */
  skipped: number;
  /** Findings of Azure's filter in it so far, by category. */
  filtered: JsonObject;
}

/** Turns the JSON objects of an answer, chunks or the whole one, into events. One per answer. */
export class ChunkReader {
  /** After a `failed` nothing more is read. */
  failed = false;
  /** Chunks that could not be read. */
  skipped = 0;
  /** `forwarded` of each choice. */
  forwarded: DeltaState['forwarded'];
  readonly #usageOf: UsageOf;
  readonly #choicesRequested: number;
  readonly #provider: string | undefined;
  readonly #isCallers: boolean;
  readonly #choices = new Map<number, Choice>();
  #started = false;
  /** Findings of Azure's filter in the prompt; undefined: none came. */
  #promptFiltered: JsonValue[] | undefined;
  /** Lists of the answer so far, as JSON. */
  #lists = '';
  /** The latest one. */
  #usage: Usage | null = null;
  /** The usage has come, and no content since. */
  #counted = false;
  /** `[DONE]` has come. */
  #marked = false;

  /**
   * `usageOf`: the vendor's form of usage. `choicesRequested`: `n` of the request. `provider`: type of the one that answers;
   * absent: nobody wants its proofs. `callers`: their format.
   */
  constructor(usageOf: UsageOf = usual, choicesRequested = 1, provider?: string, callers?: string) {
    this.#provider = provider;
    this.#isCallers = callers === openAiChatId;
    this.#usageOf = usageOf;
    this.#choicesRequested = choicesRequested;
  }

  /** Appends the events of `chunk`. */
  read(chunk: JsonObject, events: NeutralEvent[]): void {
    if (this.failed) return;
    const error = readError(chunk);
    if (error !== null) return this.#fail(faultInside(chunk, error, classOfError), events);
    let usage = neutralUsage(this.#usageOf(chunk));
    // Layers over Anthropic's format count the input in the first chunk and the output in the last one, with an input of 0.
    if (usage?.inputTokens === 0 && this.#usage !== null) {
      const { outputTokens, reasoningTokens } = usage;
      usage = { ...usage, ...this.#usage, ...(outputTokens > 0 && { outputTokens }) };
      if (reasoningTokens) usage.reasoningTokens = reasoningTokens;
    }
    this.#usage = usage ?? this.#usage;
    const { service_tier: tier } = chunk;
    if (usage !== null && typeof tier === 'string' && tier !== 'default') noteService(usage, [tier]);
    const items = Array.isArray(chunk.choices) ? chunk.choices : null;
    if (Array.isArray(chunk.prompt_filter_results)) this.#promptFiltered = chunk.prompt_filter_results;
    if (items === null && usage === null) {
      this.skipped += 1;
      return;
    }
    // Azure's first chunk holds filter results alone, without an id: the answer begins with the next one.
    if (!this.#started && (usage !== null || (items !== null && items.length > 0))) this.#start(chunk, events);
    if (this.#isCallers) this.#list(chunk, events);
    const before = events.length;
    for (const item of items ?? []) {
      const broken = isObject(item) ? this.#readChoice(item, chunk, events) : this.#skip();
      if (broken !== null) return this.#fail(broken, events);
    }
    if (usage !== null || this.#counted) this.#counted = usage !== null && !events.slice(before).some(isContent);
    if (usage !== null)
      events.push({ type: 'usage', usage, ...(this.#isCallers && besideOf(openAiChatId, chunk.usage)) });
  }

  /** True if every choice that was asked for, and every one that began, has its finish reason after its content. */
  isComplete(): boolean {
    for (const choice of this.#choices.values()) if (!choice.finished) return false;
    return this.#choices.size > 0 && (this.#marked || this.#choices.size >= this.#choicesRequested);
  }

  hasStarted(): boolean {
    return this.#choices.size > 0;
  }

  hasCalled(index: number): boolean {
    return (this.#choices.get(index)?.toolCalls?.announced ?? 0) > 0;
  }

  /**
   * At `[DONE]`: it ends an answer whose choices have each said a reason, though content came after it, or though there
   * are fewer than were asked for. Snowflake tells no finish reason, nor does OpenRouter of some models' calls: an answer
   * that was counted after its last word, and whose calls are whole, was not cut. NVIDIA's servers neither count nor say
   * a reason behind calls.
   */
  finishMarked(events: NeutralEvent[]): void {
    this.#marked = true;
    const counted =
      this.#counted && [...this.#choices.values()].every(({ toolCalls }) => toolCalls?.areWhole() ?? true);
    const called = [...this.#choices.values()].every(({ finish, toolCalls }) => finish ?? toolCalls?.endInObject());
    if (counted || called || this.allHaveReason()) this.finishAll(events);
  }

  /** True if every choice that began has a finish reason, whatever came after it. */
  allHaveReason(): boolean {
    return [...this.#choices.values()].every(({ finish }) => finish !== null);
  }

  /** Marks what never got a finish reason as stopped: a whole answer cannot have been cut. */
  finishAll(events: NeutralEvent[]): void {
    for (const [index, choice] of this.#choices) {
      if (choice.finished) continue;
      const { reason, stopSequence } = choice.finish ?? { reason: 'stop', stopSequence: null };
      const value = { stop_reason: stopSequence };
      this.#finish(choice, index, reason === 'stop-sequence' ? 'stop' : reason, value, events);
    }
  }

  #fail(found: Fault, events: NeutralEvent[]): void {
    this.failed = true;
    events.push({ type: 'failed', fault: found });
  }

  #skip(): null {
    this.skipped += 1;
    return null;
  }

  #start(chunk: JsonObject, events: NeutralEvent[]): void {
    this.#started = true;
    events.push({
      type: 'start',
      id: typeof chunk.id === 'string' && chunk.id !== '' ? chunk.id : null,
      model: typeof chunk.model === 'string' && chunk.model !== '' ? chunk.model : null,
      createdS: typeof chunk.created === 'number' && chunk.created > 0 ? Math.floor(chunk.created) : null,
      ...(this.#isCallers && besideOf(openAiChatId, chunk, answerWords)),
    });
  }

  #list(chunk: JsonObject, events: NeutralEvent[]): void {
    const block = Object.fromEntries(answerLists.filter((name) => name in chunk).map((name) => [name, chunk[name]]));
    const json = JSON.stringify(block);
    if (json === '{}' || json === this.#lists) return;
    this.#lists = json;
    events.push({ type: 'vendor-part', choice: 0, vendor: openAiChatId, field: null, block, apart: true });
  }

  #readChoice(value: JsonObject, chunk: JsonObject, events: NeutralEvent[]): Fault | null {
    const index = typeof value.index === 'number' ? value.index : 0;
    if (!Number.isInteger(index) || index < 0 || index >= choicesMax) return this.#skip();
    const choice = this.#choiceAt(index, chunk);
    const delta = value.delta ?? value.message;
    const before = events.length;
    if (isObject(delta)) readDelta(delta, index, choice, events);
    if (choice.held !== null) choice.held = holdCalls(choice.held, events, before);
    if (choice.finished && events.slice(before).some(isContent)) choice.finished = false;
    if (isObject(value.content_filter_results)) Object.assign(choice.filtered, value.content_filter_results);
    if (isObject(value.logprobs)) events.push({ type: 'logprobs', choice: index, logprobs: value.logprobs });
    const word = value.finish_reason;
    if (typeof word !== 'string' || word === '' || choice.finished) return null;
    const reason = neutralFinishReason(word);
    if (reason !== null) {
      if (!choice.cited) {
        if (chunk.citations !== undefined || chunk.search_results !== undefined) {
          for (const citation of pagesBeside(chunk)) events.push({ type: 'citation', choice: index, citation });
        }
        choice.cited = true;
      }
      for (const name of this.#isCallers ? [] : pageWords)
        if (Array.isArray(chunk[name]) && chunk[name].length > 0) events.push(lostMember(name, index));
      this.#finish(choice, index, reason, value, events);
      return null;
    }
    return faultOfChoice(value);
  }

  #choiceAt(index: number, chunk: JsonObject): Choice {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = {
        toolCalls: null,
        answerId: chunk.id,
        namesThoughts: false,
        provider: this.#provider,
        proofs: null,
        held: this.#provider !== undefined && /gemini/i.test(jsonText(chunk.model)) ? [] : null,
        cited: false,
        forwarded: this.forwarded,
        finish: null,
        finished: false,
        skipped: 0,
        filtered: {},
      };
      this.#choices.set(index, choice);
    }
    return choice;
  }

  #finish(choice: Choice, index: number, reason: FinishReason, value: JsonObject, events: NeutralEvent[]): void {
    const { stop_reason: stopReason } = value;
    choice.finished = true;
    choice.toolCalls?.close(events);
    const unplaced = choice.toolCalls?.unfinished() ?? 0;
    this.skipped += unplaced - choice.skipped;
    choice.skipped = unplaced;
    const filters = this.filtersOf(index);
    // Several servers, and OpenAI itself for a forced tool, say `stop` after a tool call.
    if (reason === 'stop' && choice.toolCalls !== null && choice.toolCalls.announced > 0)
      choice.finish = { reason: 'tool-calls', stopSequence: null };
    // vLLM names the stop string that matched.
    else if (reason === 'stop' && typeof stopReason === 'string')
      choice.finish = { reason: 'stop-sequence', stopSequence: stopReason };
    else choice.finish = { reason, stopSequence: null };
    const from = events.length;
    const beside = this.#isCallers ? besideOf(openAiChatId, value, ['native_finish_reason']) : undefined;
    events.push(...(choice.held ?? []), { type: 'finish', choice: index, ...choice.finish, ...filters, ...beside });
    choice.proofs?.put(events, from, index);
    if (choice.held !== null) choice.held = [];
  }

  /** Findings of Azure's filter so far, the prompt's with the first choice. */
  filtersOf(index: number): { filters: JsonObject } | undefined {
    const { filtered = {} } = this.#choices.get(index) ?? {};
    const filters: JsonObject = {};
    if (index === 0 && this.#promptFiltered !== undefined) filters.prompt_filter_results = this.#promptFiltered;
    if (Object.keys(filtered).length > 0) filters.content_filter_results = filtered;
    return Object.keys(filters).length > 0 ? { filters } : undefined;
  }
}
