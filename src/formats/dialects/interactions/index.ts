import { factsOf } from '../../../kernel/failure-facts.ts';
import type { JsonSchema } from '../../neutral/described-check.ts';
import type { CallerDialect } from '../dialect.ts';
import { gemini } from '../gemini/index.ts';

/** Errors of Google's Interactions: whole ones as of its other APIs, in streams as an event. */
export const interactions: Pick<CallerDialect, 'errorBody' | 'errorFrame'> = {
  errorBody: gemini.errorBody,
  errorFrame(failure, context) {
    const { message, type: code } = factsOf(failure, context.nowMs);
    return `event: error\ndata: ${JSON.stringify({ event_type: 'error', error: { code, message } })}\n\n`;
  },
};

const text = { type: 'string' };
const object = { type: 'object' };
const objects = { type: 'array', items: object };

/** Schema of a request for `/openapi.json`. */
export function interactionSchema(): JsonSchema {
  return {
    type: 'object',
    properties: {
      model: text,
      input: { anyOf: [text, object, objects], description: 'Text, a content, contents of a user, or steps.' },
      system_instruction: text,
      generation_config: object,
      tools: objects,
      response_format: { anyOf: [object, objects] },
      previous_interaction_id: text,
      store: { type: 'boolean' },
      background: { type: 'boolean' },
      stream: { type: 'boolean' },
      labels: object,
    },
    required: ['model', 'input'],
  };
}
