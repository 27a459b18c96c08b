import type { JsonObject } from '../../src/kernel/json.ts';
import { chatBody } from './chat.ts';

/** The same conversation of about `bytes`, as Cohere's callers write it. */
export function cohereBody(bytes: number): JsonObject {
  const { max_completion_tokens: limit, ...body } = chatBody(bytes);
  return { ...body, max_tokens: limit };
}
