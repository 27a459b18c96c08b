import type { JsonObject } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import { toolInputOf } from '../anthropic-messages/encode-messages.ts';
import type { AnswerFold, AnswerHead, StreamEncoder } from '../dialect.ts';
import { finishReasons } from '../openai-chat/encode-answer.ts';

/** Nanoseconds of a millisecond: the unit of durations there. */
const nsOfMs = 1_000_000;

/** An answer as far as it came, whole or streamed. */
class AnswerState {
  readonly lost = new Set<string>();
  usage: Usage | null = null;
  reason: FinishReason = 'stop';
  readonly #head: AnswerHead;
  readonly #inMessage: boolean;
  #model: string;
  #firstMs: number | null = null;
  readonly #calls = new Map<number, { id: string; name: string; argumentsJson: string }>();

  constructor(head: AnswerHead) {
    this.#head = head;
    this.#model = head.model;
    this.#inMessage = head.echo?.form !== 'generate';
  }

  take(event: NeutralEvent): { text?: string; thought?: string } | null {
    // This format has a place for one choice.
    if ('choice' in event && event.choice !== 0) return null;
    switch (event.type) {
      case 'start':
        this.#model = event.model ?? this.#model;
        return null;
      case 'text-delta':
      case 'refusal-delta':
        return this.#first({ text: event.text });
      case 'reasoning-delta':
        return this.#first({ thought: event.text });
      case 'tool-call-start':
        this.#calls.set(event.call, { id: event.id, name: event.name, argumentsJson: '' });
        return null;
      case 'tool-call-delta': {
        const call = this.#calls.get(event.call);
        if (call !== undefined) call.argumentsJson += event.argumentsJson;
        return null;
      }
      case 'usage':
        this.usage = event.usage;
        return null;
      case 'finish':
        this.reason = event.reason;
        return null;
      case 'media':
      case 'audio-delta':
        this.lost.add(event.type === 'media' ? 'images' : 'audio');
        return null;
      case 'citation':
        this.lost.add('annotations');
        return null;
      case 'vendor-part':
        if (event.field !== null) this.lost.add(event.field);
        return null;
      default:
        return null;
    }
  }

  #first<T>(value: T): T {
    this.#firstMs ??= this.#head.elapsedMs?.() ?? null;
    return value;
  }

  /** Calls whose arguments are whole, once; they come in one piece there. */
  calls(): JsonObject[] {
    const calls = [...this.#calls].map(([index, { id, name, argumentsJson }]) => ({
      id,
      function: { index, name, arguments: toolInputOf(argumentsJson).input },
    }));
    this.#calls.clear();
    return calls;
  }

  /** A piece, or the whole where `done` says so. */
  line(
    { text = '', thought = '' }: { text?: string; thought?: string },
    calls: JsonObject[],
    done: JsonObject,
  ): JsonObject {
    const beside = { ...(thought !== '' && { thinking: thought }), ...(calls.length > 0 && { tool_calls: calls }) };
    const { createdS, elapsedMs } = this.#head;
    return {
      model: this.#model,
      created_at: new Date(createdS * 1_000 + (elapsedMs?.() ?? 0)).toISOString(),
      ...(this.#inMessage
        ? { message: { role: 'assistant', content: text, ...beside } }
        : { response: text, ...beside }),
      ...done,
    };
  }

  done(): JsonObject {
    const totalMs = this.#head.elapsedMs?.() ?? 0;
    const firstMs = this.#firstMs ?? totalMs;
    return {
      done: true,
      done_reason: doneReasons[this.reason],
      total_duration: Math.round(totalMs * nsOfMs),
      load_duration: 0,
      prompt_eval_count: this.usage?.inputTokens ?? 0,
      prompt_eval_duration: Math.round(firstMs * nsOfMs),
      eval_count: this.usage?.outputTokens ?? 0,
      // Clients divide by it.
      eval_duration: Math.max(Math.round((totalMs - firstMs) * nsOfMs), 1),
    };
  }
}

const doneReasons = { ...finishReasons, 'tool-calls': 'stop' } as const;

/** Lines of JSON, the last of which says `done`. */
export function encodeStream(head: AnswerHead): StreamEncoder {
  const state = new AnswerState(head);
  return {
    lost: state.lost,
    step(event) {
      const piece = state.take(event);
      if (piece !== null) return lineOf(state.line(piece, [], { done: false }));
      if (event.type !== 'end') return '';
      // Pieces of several calls may come in turns, and a provider may end each of them with a reason.
      const calls = state.calls();
      const line = calls.length === 0 ? '' : lineOf(state.line({}, calls, { done: false }));
      return line + lineOf(state.line({}, [], state.done()));
    },
  };
}

export function lineOf(json: JsonObject): string {
  return `${JSON.stringify(json)}\n`;
}

/** Whole answer that a client would put together from the lines. */
export function fold(head: AnswerHead): AnswerFold {
  const state = new AnswerState(head);
  let text = '';
  let thought = '';
  return {
    lost: state.lost,
    add(event) {
      const piece = state.take(event);
      text += piece?.text ?? '';
      thought += piece?.thought ?? '';
    },
    result: () => state.line({ text, thought }, state.calls(), state.done()),
  };
}
