import type { AnswerHead, DecodeOptions } from '../../formats/dialects/dialect.ts';
import { contentChars, type NeutralEvent } from '../../formats/neutral/event.ts';
import type { CallersToolNames } from '../../formats/neutral/fit-tool-names.ts';
import { estimatedTokens } from '../../formats/neutral/usage.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { AnswerFacts, AnswerOptions } from './types.ts';

/** `ConvertedRequest.answer`: facts that callers carry from a request to its answer. */
export interface HandedFacts extends Pick<DecodeOptions, 'choices' | 'unwrapTool' | 'stop'> {
  echo?: JsonObject | undefined;
  includeUsage?: boolean | undefined;
  /** Estimate, for providers that count nothing. */
  inputTokens?: number | undefined;
  toolNames?: CallersToolNames | undefined;
}

/** Facts without those that are not there, so that they pass through JSON unchanged. */
export function asAnswerFacts(facts: HandedFacts): AnswerFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined));
}

export function handed(facts: AnswerFacts | undefined): HandedFacts {
  return facts ?? {};
}

export function headOf(options: AnswerOptions & { includeUsage?: boolean }): AnswerHead {
  const facts = handed(options.answer);
  return {
    fallbackId: options.id ?? 'converted',
    model: options.model ?? '',
    answerModel: options.model,
    createdS: options.createdS ?? 0,
    includeUsage: options.includeUsage ?? facts.includeUsage ?? true,
    ...(facts.echo !== undefined && { echo: facts.echo }),
  };
}

export function decodingOf(options: AnswerOptions): DecodeOptions {
  const { unwrapTool, stop, choices } = handed(options.answer);
  return { unwrapTool, stop, ...(choices !== undefined && choices > 1 && { choices }) };
}

/** Passes a provider's events on as its caller sees them: in its words for tools and models, with usage at the end. */
export class ShownEvents {
  readonly #options: AnswerOptions;
  #chars = 0;
  #counted = false;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  of(event: NeutralEvent): NeutralEvent[] {
    const { toolNames = {}, inputTokens = 0 } = handed(this.#options.answer);
    this.#chars += contentChars(event) ?? 0;
    switch (event.type) {
      case 'start':
        return [this.#options.model === undefined ? event : { ...event, model: this.#options.model }];
      case 'tool-call-start':
        return [Object.hasOwn(toolNames, event.name) ? { ...event, name: toolNames[event.name] ?? event.name } : event];
      case 'usage':
        if (event.impossible === true) return [];
        this.#counted = true;
        return [event];
      case 'end': {
        if (this.#counted) return [event];
        const usage = { inputTokens, outputTokens: estimatedTokens(this.#chars) };
        return [{ type: 'usage', usage }, event];
      }
      default:
        return [event];
    }
  }
}
