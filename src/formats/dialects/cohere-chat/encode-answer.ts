import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import { argumentsOrEmpty } from '../arguments-text.ts';
import { type CompleteJson, createCompleteJson } from '../complete-json.ts';
import type { AnswerFold, AnswerHead, StreamEncoder, StreamMark } from '../dialect.ts';
import { documentId, vendor } from './wire.ts';

const finishReasons = {
  stop: 'COMPLETE',
  pause: 'COMPLETE',
  // The only word there for an answer that is not whole.
  'content-filter': 'ERROR',
  'stop-sequence': 'STOP_SEQUENCE',
  length: 'MAX_TOKENS',
  'context-full': 'MAX_TOKENS',
  'tool-calls': 'TOOL_CALL',
} as const satisfies Record<FinishReason, string>;

/** An event of the stream, with its name on the wire. */
export function frameOf(type: string, rest: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
}

/** The kinds of blocks that a message has, and the member that holds their text. */
type BlockKind = 'text' | 'thinking';

/** The parts of an answer that both forms have in common. */
class AnswerState {
  readonly lost = new Set<string>();
  readonly #documents: readonly unknown[];
  id: string;
  usage: Usage | null = null;
  reason: FinishReason = 'stop';
  text = '';

  constructor(head: AnswerHead) {
    this.id = head.fallbackId;
    this.#documents = Array.isArray(head.echo?.documents) ? head.echo.documents : [];
  }

  /** Takes events that have no frame. */
  take(event: NeutralEvent): void {
    if (event.type === 'start') this.id = event.id ?? this.id;
    else if (event.type === 'usage') this.usage = event.usage;
    else if (event.type === 'finish') this.reason = event.reason;
    else if (event.type === 'media') this.lost.add('images');
    else if (event.type === 'audio-delta') this.lost.add('audio');
    else if (event.type === 'logprobs') this.lost.add('logprobs');
    else if (event.type === 'vendor-part' && event.field !== null) this.lost.add(event.field);
  }

  citation(citation: Citation, contentIndex: number): JsonObject {
    if (citation.vendorPart?.vendor === vendor) return citation.vendorPart.block;
    const { start, end } = citation.span ?? { start: this.text.length, end: this.text.length };
    return {
      start,
      end,
      text: this.text.slice(start, end),
      sources: [this.#source(citation)],
      content_index: contentIndex,
      type: 'TEXT_CONTENT',
    };
  }

  #source({ url, title, quote, document }: Citation): JsonObject {
    const given = document === undefined ? undefined : (this.#documents[document] ?? documentId(document));
    const id = typeof given === 'string' ? given : (url ?? title);
    // The AI SDK's provider refuses a document without a title or a text.
    const words = { title: title || id, text: quote, ...(quote !== '' && { snippet: quote }) };
    return { type: 'document', id, document: { id, ...words, ...(url !== null && { url }) } };
  }

  end(): JsonObject {
    const finish = { finish_reason: finishReasons[this.reason] };
    if (this.usage === null) return finish;
    const { inputTokens, outputTokens, cachedInputTokens } = this.usage;
    const counts = { input_tokens: inputTokens, output_tokens: outputTokens };
    return {
      ...finish,
      usage: {
        billed_units: counts,
        tokens: counts,
        ...(cachedInputTokens !== undefined && { cached_tokens: cachedInputTokens }),
      },
    };
  }
}

/** Events of Chat v2's stream (https://docs.cohere.com/v2/docs/streaming), of one choice. */
export function encodeStream(head: AnswerHead): StreamEncoder {
  return new AnswerStream(head);
}

type CallStart = Extract<NeutralEvent, { type: 'tool-call-start' }>;

interface WholeCall extends JsonObject {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

function withArguments(call: WholeCall): WholeCall {
  const { name, arguments: json } = call.function;
  return { ...call, function: { name, arguments: argumentsOrEmpty(json) } };
}

class AnswerStream implements StreamEncoder {
  readonly #state: AnswerState;
  #started = false;
  #block: BlockKind | null = null;
  /** Index of the block that was opened last. */
  #index = -1;
  /** The tool call that is open. */
  #call: { index: number; json: CompleteJson; hasArguments: boolean } | null = null;
  /** Calls that began before the open one was whole: clients read one call after the other. */
  readonly #waiting = new Map<number, { start: CallStart; argumentsJson: string }>();
  #citations = 0;

  constructor(head: AnswerHead) {
    this.#state = new AnswerState(head);
  }

  get lost(): ReadonlySet<string> {
    return this.#state.lost;
  }

  step(event: NeutralEvent): string {
    // This format has a place for one choice.
    if ('choice' in event && event.choice !== 0) return '';
    this.#state.take(event);
    const frames = this.#framesOf(event);
    return frames === '' ? '' : this.#begin() + frames;
  }

  mark(): StreamMark | undefined {
    return this.#started ? { id: this.#state.id, sequence: 0 } : undefined;
  }

  #framesOf(event: NeutralEvent): string {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        this.#state.text += event.text;
        return this.#piece('text', event.text);
      case 'reasoning-delta':
        return this.#piece('thinking', event.text);
      case 'part-end':
        return this.#close();
      case 'tool-call-start':
        if (this.#call === null || this.#call.json.complete) return this.#openCall(event);
        this.#waiting.set(event.call, { start: event, argumentsJson: '' });
        return '';
      case 'tool-call-delta':
        return this.#arguments(event.call, event.argumentsJson);
      case 'citation': {
        const index = this.#citations++;
        const citations = this.#state.citation(event.citation, Math.max(this.#index, 0));
        return deltaOf('citation-start', index, { citations }) + frameOf('citation-end', { index });
      }
      case 'end': {
        const { id } = this.#state;
        return `${this.#close()}${frameOf('message-end', { id, delta: this.#state.end() })}data: [DONE]\n\n`;
      }
      default:
        return '';
    }
  }

  #begin(): string {
    if (this.#started) return '';
    this.#started = true;
    const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] };
    return frameOf('message-start', { id: this.#state.id, delta: { message } });
  }

  #piece(kind: BlockKind, text: string): string {
    if (text === '') return '';
    let frames = '';
    if (this.#block !== kind) {
      frames = this.#close();
      this.#block = kind;
      this.#index += 1;
      frames += deltaOf('content-start', this.#index, { content: { type: kind, [kind]: '' } });
    }
    return frames + deltaOf('content-delta', this.#index, { content: { [kind]: text } });
  }

  #openCall({ call: index, id, name }: CallStart): string {
    const frames = this.#endPart();
    this.#call = { index, json: createCompleteJson(), hasArguments: false };
    const begun = { id, type: 'function', function: { name, arguments: '' } };
    return frames + deltaOf('tool-call-start', index, { tool_calls: begun });
  }

  #arguments(index: number, argumentsJson: string): string {
    const waiting = this.#waiting.get(index);
    if (waiting !== undefined) {
      waiting.argumentsJson += argumentsJson;
      return '';
    }
    const frames = this.#argumentsPiece(index, argumentsJson);
    return this.#waiting.size === 0 || this.#call?.json.complete === false ? frames : frames + this.#openWaiting();
  }

  #argumentsPiece(index: number, argumentsJson: string): string {
    if (argumentsJson === '') return '';
    if (this.#call?.index === index) {
      this.#call.json.add(argumentsJson);
      this.#call.hasArguments = true;
    }
    return deltaOf('tool-call-delta', index, { tool_calls: { function: { arguments: argumentsJson } } });
  }

  /** Opens the waiting calls, each once the one before it is whole. */
  #openWaiting(): string {
    let frames = '';
    for (const [index, { start, argumentsJson }] of this.#waiting) {
      if (this.#call?.json.complete === false) break;
      this.#waiting.delete(index);
      frames += this.#openCall(start) + this.#argumentsPiece(index, argumentsJson);
    }
    return frames;
  }

  #endPart(): string {
    const call = this.#call;
    let frames = this.#block === null ? '' : frameOf('content-end', { index: this.#index });
    if (call !== null) {
      // Clients parse what they have put together, and '' is no JSON.
      if (!call.hasArguments) frames += this.#argumentsPiece(call.index, '{}');
      frames += frameOf('tool-call-end', { index: call.index });
    }
    this.#block = null;
    this.#call = null;
    return frames;
  }

  /** Ends the open part, and gives the waiting calls. */
  #close(): string {
    let frames = '';
    for (const [index, { start, argumentsJson }] of this.#waiting) {
      this.#waiting.delete(index);
      frames += this.#openCall(start) + this.#argumentsPiece(index, argumentsJson);
    }
    return frames + this.#endPart();
  }
}

function deltaOf(type: string, index: number, message: JsonObject): string {
  return frameOf(type, { index, delta: { message } });
}

/** The whole answer that a client would put together from the stream. */
export function fold(head: AnswerHead): AnswerFold {
  const state = new AnswerState(head);
  const content: JsonObject[] = [];
  const calls: WholeCall[] = [];
  const citations: JsonObject[] = [];
  let isOpen = false;

  function piece(kind: BlockKind, text: string): void {
    if (text === '') return;
    const last = content.at(-1);
    if (isOpen && last?.type === kind) last[kind] = `${last[kind] as string}${text}`;
    else content.push({ type: kind, [kind]: text });
    isOpen = true;
  }
  return {
    lost: state.lost,
    add(event) {
      if ('choice' in event && event.choice !== 0) return;
      state.take(event);
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          state.text += event.text;
          piece('text', event.text);
          return;
        case 'reasoning-delta':
          piece('thinking', event.text);
          return;
        case 'part-end':
          isOpen = false;
          return;
        case 'tool-call-start':
          isOpen = false;
          calls[event.call] = { id: event.id, type: 'function', function: { name: event.name, arguments: '' } };
          return;
        case 'tool-call-delta': {
          const call = calls[event.call];
          if (call !== undefined) call.function.arguments += event.argumentsJson;
          return;
        }
        case 'citation':
          citations.push(state.citation(event.citation, Math.max(content.length - 1, 0)));
          return;
        default:
      }
    },
    result: () => ({
      id: state.id,
      message: {
        role: 'assistant',
        ...(content.length > 0 && { content }),
        ...(calls.length > 0 && { tool_calls: calls.filter(isObject).map(withArguments) }),
        ...(citations.length > 0 && { citations }),
      },
      ...state.end(),
    }),
  };
}
