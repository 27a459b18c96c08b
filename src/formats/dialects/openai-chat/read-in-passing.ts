import {
  hasText,
  isObject,
  type JsonObject,
  type JsonValue,
  listIn,
  parsedData,
  stringOr,
} from '../../../kernel/json.ts';
import { contentCharsOf, isContent, type NeutralEvent } from '../../neutral/event.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { estimatedTokens, noteService, type Usage } from '../../neutral/usage.ts';
import type { DecodeOptions, PassingFacts, PassingReader, PassingVerdict, SseEvent, UsageOf } from '../dialect.ts';
import { brokenLine, contentAndUsage, contentOnly, isEndMark, nothing, usageChunk } from '../event-data.ts';
import type { GivenId } from '../named-objects.ts';
import { ChunkReader, decodeWhole, usual } from './decode-answer.ts';
import { finishReasons } from './encode-answer.ts';
import { faultInWhole, neutralFinishReason } from './errors.ts';
import { lackingUsage, neutralUsage, usageFrame } from './read-usage.ts';
import { TextFinder } from './text-finder.ts';
import { type Call, idPrefix, lacksArguments, mendCall, mendPiece } from './tool-call-reader.ts';
import { doneFrame } from './wire.ts';

const oddReason = /"finish_reason": ?"(?!stop"|length")/;

/**
 * Watches chunks that are forwarded as bytes. Until the first content every chunk is parsed; after it only those
 * that hold anything but text of the first choice: usage, a finish reason, an error, another choice.
 */
export function readInPassing(options: DecodeOptions = {}): PassingReader {
  return new ReaderInPassing(options);
}

class ReaderInPassing implements PassingReader {
  readonly seen: SeenInPassing;
  readonly #finder = new TextFinder();
  readonly #usageOf: UsageOf;
  readonly #names: boolean;
  readonly #isOneChoice: boolean;
  #sawContent = false;
  #sawCalls = false;
  #sawRole = false;

  constructor({ usageOf = usual, choices, names = false, shownInputTokens }: DecodeOptions) {
    this.seen = new SeenInPassing(usageOf, choices, shownInputTokens);
    this.#usageOf = usageOf;
    this.#names = names;
    this.#isOneChoice = (choices ?? 1) === 1;
  }

  step({ event, data }: SseEvent): PassingVerdict {
    const { seen } = this;
    if (seen.failed || data === '') return nothing;
    if (isEndMark(data)) return this.#end();
    if (isForeign(event)) return nothing;
    // Each choice needs a role.
    const isPlain = this.#sawContent && !seen.mendsCalls && (this.#sawRole || this.#isOneChoice);
    const length = isPlain ? this.#finder.textLength(data) : -1;
    if (length < 0) return this.#parse(data);
    seen.characters += length;
    return contentOnly;
  }

  whole(body: unknown): Fault | null {
    return faultInWhole(body) ?? readWhole(body as JsonObject, this.seen, this.#usageOf, this.#names);
  }

  #parse(data: string): PassingVerdict {
    const { seen } = this;
    const chunk = parsedData(data);
    if (chunk === null) return this.#fails(brokenLine);
    if (this.#names && (!this.#sawContent || data.includes('"audio"'))) seen.give(idsGivenIn(chunk));
    const events: NeutralEvent[] = [];
    seen.readChunk(chunk, events);
    let content = false;
    let counted = false;
    let finished: string | null = null;
    let found: Fault | null = null;
    for (const event of events) {
      if (event.type === 'usage') {
        seen.usage = event.usage;
        counted = true;
        if (isObject(chunk.usage) && (chunk.usage.total_tokens === undefined || chunk.usage.prompt_tokens === 0))
          seen.mendUsage(chunk.usage, event.usage);
      } else if (event.type === 'failed') found = event.fault;
      else if (event.type === 'start') seen.answeredAs = event.model;
      else if (event.type === 'finish') finished = event.reason;
      else if (isContent(event)) {
        content = true;
        this.#sawCalls ||= event.type === 'tool-call-start';
        if (event.type === 'reasoning-delta') seen.mendThoughts(chunk);
        seen.characters +=
          event.type === 'tool-call-delta' ? event.argumentsJson.length : 'text' in event ? event.text.length : 0;
      }
    }
    if (finished !== null) seen.finish(finished);
    if ((finished !== null && this.#sawCalls) || oddReason.test(data)) seen.mendReasons(chunk);
    if (!this.#sawContent) this.#sawRole ||= data.includes('"role"');
    if (content && !this.#sawRole) seen.addRoles(chunk);
    if (content) this.#sawContent = true;
    else if (counted) seen.countedAt = seen.characters;
    if (found !== null) return this.#fails(found);
    const beside = isObject(chunk.usage) ? contentAndUsage : contentOnly;
    const verdict = content ? beside : verdictOfEmpty(chunk);
    return seen.mended ? { ...verdict, data: verdict.data ?? JSON.stringify(chunk) } : verdict;
  }

  #fails(found: Fault): PassingVerdict {
    this.seen.failed = true;
    return { ...nothing, fault: found };
  }

  #end(): PassingVerdict {
    const { seen } = this;
    const cut = seen.endMarked();
    if (cut !== null) return this.#fails(cut);
    const lacksUsage = seen.usage === null && seen.shownInputTokens !== undefined;
    const before = (seen.allHaveReason() ? '' : seen.missingReasons()) + (lacksUsage ? seen.missingUsage() : '');
    return before === '' ? nothing : { ...nothing, before, data: '[DONE]' };
  }
}

function readWhole(answer: JsonObject, seen: SeenInPassing, usageOf: UsageOf, names: boolean): null {
  seen.usage = neutralUsage(usageOf(answer)) ?? seen.usage;
  if (seen.usage === null) answer.usage = lackingUsage(answer.usage);
  else if (isObject(answer.usage) && answer.usage.total_tokens === undefined) seen.mendUsage(answer.usage, seen.usage);
  const { service_tier: tier } = answer;
  if (seen.usage !== null && typeof tier === 'string' && tier !== 'default') noteService(seen.usage, [tier]);
  seen.ended = true;
  seen.answeredAs = stringOr(answer.model, null);
  if (names) seen.give(idsGivenIn(answer));
  for (const choice of answer.choices as JsonObject[]) {
    seen.finishReason ??= stringOr(choice.finish_reason, null);
    const { tool_calls: calls, reasoning } = (choice.message ?? {}) as JsonObject;
    const called = Array.isArray(calls) && calls.length > 0;
    if (called || choice.finish_reason !== 'stop') seen.mendReason(choice, called, 'stop');
    if (called) {
      for (const [place, call] of calls.entries())
        if (isObject(call) && mendCall(call, call.id || `${idPrefix(answer.id, choice.index)}${place}`, '{}'))
          seen.mended = true;
    }
    if (reasoning !== undefined) seen.mendThought(choice.message);
  }
  if (!seen.usage?.outputTokens) seen.characters = contentCharsOf(decodeWhole(answer));
  return null;
}

const noMembers: JsonObject = {};
const noCalls: readonly never[] = [];

/** A class and not accessors in a literal: each evaluation of those makes a hidden class that holds its request. */
class SeenInPassing implements PassingFacts {
  usage: Usage | null = null;
  ended = false;
  failed = false;
  characters = 0;
  /** `characters` when the usage has come. */
  countedAt = -1;
  answeredAs: string | null = null;
  finishReason: string | null = null;
  given: GivenId[] | undefined = undefined;
  /** The chunk or the whole answer that was read last is not as it came. */
  mended = false;
  /** Calls of this stream lack what clients join them by: all their pieces must be read. */
  mendsCalls = false;
  /** Places of the last calls, if nothing came behind their beginnings, and `characters` at these. */
  #bare: readonly { place: number; at: number }[] = noCalls;
  /** Calls that began. */
  #begun = 0;
  /** Indexes of choices that got their role from us. */
  #withRole: Set<JsonValue | undefined> | undefined = undefined;
  /** The chunk that was parsed last. */
  #last: JsonObject = noMembers;
  /** Tracks the choices that began and finished in parsed chunks; a whole answer needs none. */
  #reader: ChunkReader | null = null;
  readonly #usageOf: UsageOf;
  readonly #choices: number | undefined;
  /** `characters` when the last choice so far finished. */
  #finishedAt = -1;

  /** Estimate of the input, where the caller asked for usage. */
  readonly shownInputTokens: number | undefined;

  constructor(usageOf: UsageOf, choices: number | undefined, shownInputTokens: number | undefined) {
    this.shownInputTokens = shownInputTokens;
    this.#usageOf = usageOf;
    this.#choices = choices;
  }

  /** Chunks repeat the id of what they continue. */
  give(ids: readonly GivenId[]): void {
    for (const one of ids) {
      this.given ??= [];
      if (this.given.every(({ id }) => id !== one.id)) this.given.push(one);
    }
  }

  readChunk(chunk: JsonObject, events: NeutralEvent[]): void {
    this.mended = false;
    this.#last = chunk;
    if (this.#reader === null) {
      this.#reader = new ChunkReader(this.#usageOf, this.#choices);
      this.#reader.forwarded = (piece, call) => this.#mendCall(piece, call);
    }
    this.#reader.read(chunk, events);
  }

  /** Adds the total, which callers read and SDKs of Rust demand, and the input that an earlier chunk counted. */
  mendUsage(usage: JsonObject, { inputTokens, outputTokens }: Usage): void {
    const lacksInput = usage.prompt_tokens === 0 && inputTokens > 0;
    if (!lacksInput && usage.total_tokens !== undefined) return;
    if (lacksInput) Object.assign(usage, { prompt_tokens: inputTokens, completion_tokens: outputTokens });
    usage.total_tokens = inputTokens + outputTokens;
    this.mended = true;
  }

  /** OpenAI's SDKs throw at the end of a stream in which nobody has a role. */
  addRoles({ choices }: JsonObject): void {
    for (const choice of listIn(choices)) {
      if (!isObject(choice) || !isObject(choice.delta) || this.#withRole?.has(choice.index)) continue;
      this.#withRole ??= new Set();
      this.#withRole.add(choice.index);
      choice.delta.role = 'assistant';
      this.mended = true;
    }
  }

  /** Chunks with the reasons that are missing at `[DONE]`, without which clients take an answer for a cut one. */
  missingReasons(): string {
    const events: NeutralEvent[] = [];
    this.#reader?.finishAll(events);
    const { usage: _, ...head } = this.#last;
    return events
      .filter((event) => event.type === 'finish')
      .map(({ choice: index, reason }) => {
        const end = { index, delta: {}, finish_reason: reason === 'tool-calls' ? 'tool_calls' : 'stop' };
        this.#giveArguments(end);
        return `data: ${JSON.stringify({ ...head, choices: [end] })}\n\n`;
      })
      .join('');
  }

  missingUsage(): string {
    return usageFrame({ ...this.#last, choices: [] }, this.shownInputTokens ?? 0, this.outputTokensSeen);
  }

  /**
   * Clients join the pieces of calls by their index alone, or throw where it is missing: Gemini leaves it out, Ollama had 0
   * for every call. An empty id cannot be answered.
   */
  #mendCall(piece: JsonObject, call: Readonly<Call>): void {
    this.mendsCalls ||= typeof piece.index !== 'number';
    const at = this.characters;
    const begun = call.place >= this.#begun && lacksArguments(piece) ? [{ place: call.place, at }] : noCalls;
    this.#bare = [...this.#bare.filter((one) => one.at === at && one.place !== call.place), ...begun];
    this.#begun = Math.max(this.#begun, call.place + 1);
    if (!mendPiece(piece, call)) return;
    this.mended = true;
    this.mendsCalls = true;
  }

  mendReasons({ choices }: JsonObject): void {
    for (const choice of listIn(choices)) {
      if (!isObject(choice) || typeof choice.finish_reason !== 'string') continue;
      const index = typeof choice.index === 'number' ? choice.index : 0;
      this.mendReason(choice, this.#reader?.hasCalled(index) === true, null);
      this.#giveArguments(choice);
    }
  }

  /** Clients parse the arguments of each call, and no text is no JSON. */
  #giveArguments(choice: JsonObject): void {
    const bare = this.#bare.filter(({ at }) => at === this.characters);
    if (bare.length === 0 || (this.#choices ?? 1) > 1 || !isObject(choice.delta)) return;
    const pieces = bare.map(({ place }) => ({ index: place, function: { arguments: '{}' } }));
    choice.delta.tool_calls = [...listIn(choice.delta.tool_calls), ...pieces];
    this.#bare = noCalls;
    this.mended = true;
  }

  /**
   * Says `tool_calls` where a choice that called a tool says `stop`, as several servers do: clients would not run it. SDKs
   * of .NET and Rust throw at words that OpenAI does not have, such as `sensitive`, and at the empty one of LocalAI's
   * chunks, which is `none`.
   */
  mendReason(choice: JsonObject, called: boolean, none: 'stop' | null): void {
    const word = choice.finish_reason || none;
    const reason = typeof word === 'string' ? openAiReason(word, called) : word;
    if (reason === choice.finish_reason) return;
    choice.finish_reason = reason;
    this.mended = true;
  }

  /**
   * Says a thought in `reasoning_content` too, which most clients read, where a message has it in `reasoning` alone: vLLM,
   * OpenRouter, Groq and Together have that name.
   */
  mendThought(message: JsonValue | undefined): void {
    if (!isObject(message) || (message.reasoning_content ?? '') !== '' || !hasText(message.reasoning)) return;
    message.reasoning_content = message.reasoning;
    this.mended = true;
  }

  mendThoughts({ choices }: JsonObject): void {
    for (const choice of listIn(choices)) if (isObject(choice)) this.mendThought(choice.delta);
  }

  /** Content of the chunk that was read is counted. */
  finish(reason: string): void {
    this.finishReason = reason;
    this.#finishedAt = this.characters;
  }

  /** Takes `[DONE]`. Not cut is what said its reasons, or has no content behind its usage. */
  endMarked(): Fault | null {
    if (this.#reader?.hasStarted() !== true) return fault('malformed', 'the stream ended without an answer');
    this.ended = this.allHaveReason() || this.countedAt === this.characters;
    return this.ended ? null : fault('truncated', 'the stream ended before the answer was finished');
  }

  /** Every choice has said a reason. */
  allHaveReason(): boolean {
    return this.#reader?.allHaveReason() ?? false;
  }

  /** At the end of the bytes: no text came behind the last reason. */
  isComplete(): boolean {
    return !this.failed && this.#finishedAt === this.characters && (this.#reader?.isComplete() ?? false);
  }

  get terminal(): boolean {
    return this.ended || this.isComplete();
  }

  get closing(): string {
    if (this.ended || !this.isComplete()) return '';
    return this.usage === null && this.shownInputTokens !== undefined ? this.missingUsage() + doneFrame : doneFrame;
  }

  get outputTokensSeen(): number {
    return estimatedTokens(this.characters);
  }
}

/** OpenAI's word for `word`. */
function openAiReason(word: string, called: boolean): string {
  const reason = neutralFinishReason(word);
  if (reason === 'stop' && called) return finishReasons['tool-calls'];
  return reason === null || word === 'function_call' ? word : finishReasons[reason];
}

/** True for a named event that only this server has, such as a sign of life: chunks have no name. */
function isForeign(event: string): boolean {
  return event !== '' && event !== 'message' && event !== 'error';
}

/** For a chunk without content. OpenAI's SDKs skip its usage if its id is empty, as Snowflake's are: it gets one. */
function verdictOfEmpty(chunk: JsonObject): PassingVerdict {
  if (!Array.isArray(chunk.choices) || chunk.choices.length > 0 || !isObject(chunk.usage)) return nothing;
  return chunk.id === '' ? { ...usageChunk, data: JSON.stringify({ ...chunk, id: 'chatcmpl' }) } : usageChunk;
}

/** The answer, where the provider stores it, and spoken answers, of a whole answer or a chunk. */
function idsGivenIn({ id, choices }: JsonObject): GivenId[] {
  const given: GivenId[] = typeof id === 'string' ? [{ id, nameable: 'if-kept' }] : [];
  for (const choice of listIn(choices) as JsonObject[]) {
    const delta = (choice?.message ?? choice?.delta) as JsonObject | null | undefined;
    const id = (delta?.audio as JsonObject | null | undefined)?.id;
    if (typeof id === 'string') given.push({ id, nameable: 'always' });
  }
  return given;
}
