import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { FinishReason } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { AnswerHead } from '../dialect.ts';
import { wireUsage } from './token-usage.ts';

/** How an answer stands. `incomplete` says why; the word is OpenAI's. */
export type ResponseState =
  | { status: 'in_progress' }
  | { status: 'completed' }
  | { status: 'incomplete'; reason: 'max_output_tokens' | 'content_filter' }
  | { status: 'failed'; code: string; message: string };

export interface ResponseFacts {
  id: string;
  createdS: number;
  model: string;
  /** `CallerRequest.echo` of the request. */
  echo: JsonObject | undefined;
  output: JsonValue[];
  usage: Usage | null;
}

/** `resp_` and what is unique of the fallback id, which comes of the request's own: a log line leads to the other. */
export function responseIdOf({ fallbackId }: AnswerHead): string {
  return `resp_${saltOf(fallbackId)}`;
}

/** The part of an id behind its prefix. */
export function saltOf(id: string): string {
  return id.replace(/^[a-z]+[-_]/i, '').replace(/[^\w-]/g, '');
}

export function stateAtEnd(reason: FinishReason): ResponseState {
  switch (reason) {
    case 'length':
    case 'context-full':
      return { status: 'incomplete', reason: 'max_output_tokens' };
    case 'content-filter':
      return { status: 'incomplete', reason: 'content_filter' };
    default:
      return { status: 'completed' };
  }
}

/** The `response` object, as whole answers are and as streams repeat it. Usage only of what has ended. */
export function responseObject(facts: ResponseFacts, state: ResponseState): JsonObject {
  const settings = isObject(facts.echo?.settings) ? facts.echo.settings : unsaid;
  const ended = state.status === 'completed' || state.status === 'incomplete';
  return {
    id: facts.id,
    object: 'response',
    created_at: facts.createdS,
    status: state.status,
    error: state.status === 'failed' ? { code: state.code, message: state.message } : null,
    incomplete_details: state.status === 'incomplete' ? { reason: state.reason } : null,
    instructions: null,
    model: facts.model,
    output: facts.output,
    previous_response_id: null,
    store: false,
    tools: [],
    ...settings,
    ...(ended && { usage: wireUsage(facts.usage) }),
  };
}

/** What the published type requires of an answer to a request that nobody could read. */
const unsaid: JsonObject = {
  parallel_tool_calls: true,
  tool_choice: 'auto',
  temperature: null,
  top_p: null,
  metadata: {},
};
