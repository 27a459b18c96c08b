import type { JsonObject } from '../../../kernel/json.ts';
import { citationsMax } from '../../neutral/citation.ts';
import { type FinishReason, membersIn, type NeutralEvent } from '../../neutral/event.ts';
import { type ProducedMedia, urlOfMedia } from '../../neutral/produced-media.ts';
import { customInput } from '../arguments-text.ts';
import type { AnswerHead, StreamEncoder } from '../dialect.ts';
import { membersOf } from './answer-proofs.ts';
import { annotationOf } from './citations.ts';
import { extraContentOf, google, ReasoningDetails, type ThoughtEvent } from './thoughts.ts';
import { type ChatFinishReason, doneFrame, openAiChatId } from './wire.ts';

/**
 * Events as OpenAI's chunks. Every choice begins with its role and ends with a finish reason (the SDK's helper wants
 * both), all chunks share id, time and model, usage is a separate chunk on request, and `[DONE]` follows only `end`:
 * after `failed` the caller of this writes the error frame.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  return new ChunkEncoder(head);
}

/** A choice as far as it was sent. */
interface SentChoice {
  /** A chunk of it up to the value of `delta`: joined once, not for every piece of text. */
  opening: string;
  /** Its role went out. */
  begun: boolean;
  finished: boolean;
  textLength: number;
  pictures: number;
  /** Null: it has shown no thought. */
  thoughts: ReasoningDetails | null;
  /** One entry a tool call: whether any of its arguments were sent; of a custom tool, its arguments so far. */
  callHasArguments: (boolean | string)[];
  /** By call: those that wait for their last argument. */
  whole: (JsonObject & { function: { name: string; arguments: string } })[];
}

/** Whether a call is one of a tool that takes text. */
export function isCustom({ custom, name }: { custom?: true; name: string }, { echo }: AnswerHead): boolean {
  return custom ?? (Array.isArray(echo?.customTools) && echo.customTools.includes(name));
}

/** The rest of a choice behind the value of `delta`. */
const goesOn = ',"logprobs":null,"finish_reason":null}]';
/** The rest of a chunk behind its choices, and behind the value of `delta`. */
const ends = { chunk: '}\n\n', delta: `${goesOn}}\n\n` };
/** OpenAI counts in the last chunk alone, and says so in the others. */
const uncountedEnds = { chunk: ',"usage":null}\n\n', delta: `${goesOn},"usage":null}\n\n` };

/** Vendors whose clients read a call in one piece, and those whose clients read usage in the chunk of the finish reason. */
const readsWholeCalls: ReadonlySet<string> = new Set(['mistral', 'xai', 'cerebras']);
const countsAtFinish: ReadonlySet<string> = new Set(['mistral', 'groq', 'cerebras', 'perplexity']);

class ChunkEncoder implements StreamEncoder {
  lost: Set<string> | undefined = undefined;
  readonly #head: AnswerHead;
  readonly #choices = new Map<number, SentChoice>();
  /**
   * Annotations by choice, sent in one delta at its end: OpenAI's clients keep the last such list, or throw at a second
   * one.
   */
  #annotations: Map<number, JsonObject[]> | null = null;
  #start: (NeutralEvent & { type: 'start' }) | null = null;
  /** A chunk up to the value of `choices`, the same in every chunk; '' before the first. */
  #opening = '';
  #usage: Counted = null;
  /** The last chunk of a choice up to its usage, which comes later. */
  #unended = '';
  #closed = false;
  readonly #ends: typeof ends;

  constructor(head: AnswerHead) {
    this.#head = head;
    this.#ends = head.includeUsage && head.clientOf === undefined ? uncountedEnds : ends;
  }

  step(event: NeutralEvent): string {
    if (this.#closed) return '';
    switch (event.type) {
      case 'start':
        this.#start = event;
        return '';
      case 'text-delta': {
        this.#choiceAt(event.choice).textLength += event.text.length;
        return this.#emit(event.choice, `{"content":${JSON.stringify(event.text)}}`);
      }
      case 'reasoning-delta':
        this.#prove(event);
        return this.#emit(event.choice, `{"${thoughtName(this.#head)}":${JSON.stringify(event.text)}}`);
      case 'refusal-delta':
        return this.#emit(event.choice, `{"refusal":${JSON.stringify(event.text)}}`);
      case 'tool-call-start':
        return this.#call(event);
      case 'tool-call-delta':
        return this.#addArguments(event);
      case 'audio-delta':
        return this.#emit(event.choice, `{"audio":${JSON.stringify(event.audio)}}`);
      case 'media':
        return this.#picture(event.choice, event.media);
      case 'citation':
      case 'vendor-part': {
        const members = answerMembers(event);
        if (members !== null) return this.#emit(event.choice, '{}', goesOn + membersText(members) + this.#ends.chunk);
        const annotation = annotationIn(event, this.#choices.get(event.choice)?.textLength ?? 0);
        if (typeof annotation !== 'string') this.#annotate(event.choice, annotation);
        else if (annotation !== '') this.#lose(annotation);
        return '';
      }
      case 'logprobs':
        return this.#emit(
          event.choice,
          '{}',
          `,"logprobs":${JSON.stringify(event.logprobs)},"finish_reason":null}]${this.#ends.chunk}`,
        );
      case 'usage':
        this.#usage = event;
        return '';
      case 'finish':
        return this.#finish(
          event.choice,
          event.reason,
          event.beside === undefined ? event.filters : { ...event.filters, ...membersIn(event.beside, openAiChatId) },
        );
      case 'end':
        return this.#end();
      case 'failed':
        this.#closed = true;
        return '';
      case 'text-signature':
        if (event.vendor === google) return this.#emit(event.choice, JSON.stringify(extraContentOf(event)));
        this.#lose('signature');
        return '';
      case 'reasoning-signature':
      case 'redacted-reasoning':
      case 'part-end':
        return this.#prove(event);
      // Without a word in this format.
      case 'server-tool':
      case 'message-start':
        return '';
    }
  }

  #prove(event: ThoughtEvent): string {
    const sent = this.#choiceAt(event.choice);
    sent.thoughts ??= new ReasoningDetails();
    const members = sent.thoughts.read(event);
    return members === null ? '' : this.#emit(event.choice, JSON.stringify(members));
  }

  #call(event: Extract<NeutralEvent, { type: 'tool-call-start' }>): string {
    const { choice, call: index, id, name } = event;
    const custom = isCustom(event, this.#head);
    const tool = custom
      ? { type: 'custom', custom: { name, input: '' } }
      : { type: 'function', function: { name, arguments: '' } };
    if (isOfFunctions(this.#head)) {
      this.#choiceAt(choice).callHasArguments[index] = false;
      return this.#older(choice, index, { name, arguments: '' });
    }
    const call = { index, id, ...tool, ...extraContentOf(event) };
    const { clientOf } = this.#head;
    if (clientOf !== undefined && readsWholeCalls.has(clientOf) && tool.function !== undefined) {
      this.#choiceAt(choice).whole[index] = { ...call, function: tool.function };
      return '';
    }
    this.#choiceAt(choice).callHasArguments[index] = custom ? '' : false;
    const members = event.vendor === openAiChatId ? membersOf([event.signature]) : null;
    return this.#emit(choice, JSON.stringify({ ...members, tool_calls: [call] }));
  }

  #addArguments(event: Extract<NeutralEvent, { type: 'tool-call-delta' }>): string {
    if (event.argumentsJson === '') return '';
    const { callHasArguments: calls, whole } = this.#choiceAt(event.choice);
    const held = whole[event.call];
    if (held !== undefined) {
      held.function.arguments += event.argumentsJson;
      return '';
    }
    const before = calls[event.call];
    if (typeof before === 'string') {
      calls[event.call] = before + event.argumentsJson;
      return '';
    }
    const text = JSON.stringify(event.argumentsJson);
    calls[event.call] = true;
    if (isOfFunctions(this.#head)) return this.#older(event.choice, event.call, { arguments: event.argumentsJson });
    return this.#emit(event.choice, `{"tool_calls":[{"index":${event.call},"function":{"arguments":${text}}}]}`);
  }

  /** A piece of a call in the older form, which has one call a message. */
  #older(choice: number, call: number, piece: JsonObject): string {
    if (call === 0) return this.#emit(choice, JSON.stringify({ function_call: piece }));
    this.#lose('tool_calls');
    return '';
  }

  #picture(choice: number, media: ProducedMedia): string {
    if (media.kind !== 'image') {
      this.#lose(mediaWord[media.kind]);
      return '';
    }
    const index = this.#choiceAt(choice).pictures++;
    return this.#emit(choice, `{"images":[${JSON.stringify(wirePicture(media, index))}]}`);
  }

  #annotate(choice: number, annotation: JsonObject): void {
    this.#annotations ??= new Map();
    const sent = this.#annotations.get(choice);
    if (sent === undefined) this.#annotations.set(choice, [annotation]);
    else if (sent.length < citationsMax) sent.push(annotation);
    else this.#lose('annotations');
  }

  #lose(field: string): void {
    this.lost ??= new Set();
    this.lost.add(field);
  }

  /** A chunk, behind one with the role if this is the first thing that the choice says. */
  #emit(choice: number, delta: string, end = this.#ends.delta): string {
    const sent = this.#choiceAt(choice);
    const { opening } = sent;
    if (sent.begun) return opening + delta + end;
    sent.begun = true;
    return `${opening}{"role":"assistant","content":"","refusal":null}${this.#ends.delta}${opening}${delta}${end}`;
  }

  #choiceAt(choice: number): SentChoice {
    const known = this.#choices.get(choice);
    if (known !== undefined) return known;
    if (this.#opening === '') {
      const { id, model, createdS, beside } = this.#start ?? { id: null, model: null, createdS: null };
      const head = this.#head;
      // Cerebras's SDK for Python reads no chunk without it.
      const print = head.clientOf === 'cerebras' ? noPrint : {};
      const words =
        beside === undefined && head.clientOf === undefined
          ? ''
          : membersText({ ...print, ...membersIn(beside, openAiChatId) });
      this.#opening = `data: {"id":${JSON.stringify(id ?? head.fallbackId)},"object":"chat.completion.chunk","created":${createdS ?? head.createdS},"model":${JSON.stringify(model ?? head.model)}${words},"choices":`;
    }
    const opening = `${this.#opening}[{"index":${choice},"delta":`;
    const sent: SentChoice = {
      opening,
      begun: false,
      finished: false,
      textLength: 0,
      pictures: 0,
      thoughts: null,
      callHasArguments: [],
      whole: [],
    };
    this.#choices.set(choice, sent);
    return sent;
  }

  #finish(choice: number, reason: FinishReason, filters?: JsonObject): string {
    const sent = this.#choiceAt(choice);
    if (sent.finished) return '';
    let frames = '';
    for (const [call, hasArguments] of sent.callHasArguments.entries()) {
      // Clients parse the arguments, and an empty string is not JSON. The text of a custom tool is whole only now.
      let tool = '';
      if (hasArguments === false && isOfFunctions(this.#head)) frames += this.#older(choice, call, { arguments: '{}' });
      else if (hasArguments === false) tool = '"function":{"arguments":"{}"}';
      else if (typeof hasArguments === 'string')
        tool = `"custom":{"input":${JSON.stringify(customInput(hasArguments))}}`;
      if (tool !== '') frames += this.#emit(choice, `{"tool_calls":[{"index":${call},${tool}}]}`);
    }
    for (const call of sent.whole.values()) {
      if (call === undefined) continue;
      call.function.arguments ||= '{}';
      frames += this.#emit(choice, JSON.stringify({ tool_calls: [call] }));
    }
    const annotations = this.#annotations?.get(choice);
    if (annotations !== undefined) frames += this.#emit(choice, `{"annotations":${JSON.stringify(annotations)}}`);
    const { inChoice, beside } = filters === undefined ? noFilters : filterTexts(filters);
    const word = reason === 'tool-calls' ? finishReasonOf(reason, this.#head) : finishReasons[reason];
    const end = `,"logprobs":null,"finish_reason":"${word}"${inChoice}}]${beside}`;
    sent.finished = true;
    const { clientOf } = this.#head;
    if (clientOf === undefined || !countsAtFinish.has(clientOf))
      return frames + this.#emit(choice, '{}', end + this.#ends.chunk);
    const before = this.#unended;
    this.#unended = this.#emit(choice, clientOf === 'mistral' ? '{"content":""}' : '{}', end);
    return before === '' ? frames : `${before}}\n\n${frames}`;
  }

  #end(): string {
    this.#closed = true;
    let frames = this.#choices.size === 0 ? this.#finish(0, 'stop') : '';
    for (const [choice, { finished, callHasArguments, whole }] of this.#choices) {
      if (!finished) frames += this.#finish(choice, callHasArguments.length + whole.length > 0 ? 'tool-calls' : 'stop');
    }
    if (!this.#head.includeUsage) return frames + doneFrame;
    const usage = JSON.stringify(wireUsage(this.#usage));
    const ofGroq = this.#head.clientOf === 'groq' ? `,"x_groq":{"usage":${usage}}` : '';
    return `${frames}${this.#unended || `${this.#opening}[]`},"usage":${usage}${ofGroq}}\n\n${doneFrame}`;
  }
}

export const noPrint: JsonObject = { system_fingerprint: '' };

const noFilters = { inChoice: '', beside: '' };

/** Members of a choice at its end, and findings of a content filter for all of them. */
function filterTexts({ prompt_filter_results, ...ofChoice }: JsonObject) {
  const beside = prompt_filter_results === undefined ? '' : membersText({ prompt_filter_results });
  return { inChoice: membersText(ofChoice), beside };
}

/** Members of an object as JSON, behind others. */
function membersText(members: JsonObject): string {
  const text = JSON.stringify(members).slice(1, -1);
  return text === '' ? '' : `,${text}`;
}

export const finishReasons = {
  stop: 'stop',
  'stop-sequence': 'stop',
  pause: 'stop',
  length: 'length',
  'context-full': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
} as const satisfies Record<FinishReason, ChatFinishReason>;

/** The member that its client reads thoughts in. */
export function thoughtName({ clientOf }: AnswerHead): 'reasoning' | 'reasoning_content' {
  return clientOf === 'groq' || clientOf === 'cerebras' || clientOf === 'openrouter'
    ? 'reasoning'
    : 'reasoning_content';
}

/** Whether its caller offered tools as `functions`, and reads calls in that form alone. */
export function isOfFunctions({ echo }: AnswerHead): boolean {
  return echo?.functions === true;
}

export function finishReasonOf(reason: FinishReason, head: AnswerHead): ChatFinishReason {
  return reason === 'tool-calls' && isOfFunctions(head) ? 'function_call' : finishReasons[reason];
}

export type Counted = Pick<Extract<NeutralEvent, { type: 'usage' }>, 'usage' | 'beside'> | null;

/** OpenAI's `usage` object; zeros when nobody counted, because its clients always read the numbers. */
export function wireUsage(counted: Counted): JsonObject {
  const usage = counted?.usage;
  const inputTokens = usage?.inputTokens ?? 0;
  const outputTokens = usage?.outputTokens ?? 0;
  const wire: JsonObject = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  if (usage?.cachedInputTokens !== undefined || usage?.cacheWriteTokens !== undefined) {
    wire.prompt_tokens_details = {
      ...(usage.cachedInputTokens !== undefined && { cached_tokens: usage.cachedInputTokens }),
      ...(usage.cacheWriteTokens !== undefined && { cache_write_tokens: usage.cacheWriteTokens }),
    };
  }
  if (usage?.reasoningTokens !== undefined) {
    wire.completion_tokens_details = { reasoning_tokens: usage.reasoningTokens };
  }
  return counted?.beside === undefined ? wire : { ...wire, ...membersIn(counted.beside, openAiChatId) };
}

/** Names of the parts that have no place here. */
export const mediaWord = { audio: 'audio', file: 'file' } as const;

/** In OpenRouter's form, which others follow. */
export function wirePicture(media: ProducedMedia, index: number): JsonObject {
  return { type: 'image_url', index, image_url: { url: urlOfMedia(media) } };
}

/** Members of the answer itself; null: the event has none. */
export function answerMembers(event: NeutralEvent): JsonObject | null {
  const has = event.type === 'vendor-part' && event.vendor === openAiChatId && event.apart === true;
  return has ? event.block : null;
}

/** The annotation for a part of an answer, or the word for the loss; '': nothing is lost. */
export function annotationIn(
  event: Extract<NeutralEvent, { type: 'citation' | 'vendor-part' }>,
  textLength: number,
): JsonObject | string {
  if (event.type === 'citation') return annotationOf(event.citation, textLength) ?? 'annotations';
  return event.vendor === openAiChatId ? event.block : (event.field ?? '');
}
