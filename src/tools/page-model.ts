import type { Failure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';

/**
 * Given by the composition: the chat model that writes of pages, `tools.model` or the first that the key may use. A call
 * is metered as a chat call of the key. Never rejects but for a fault of ours.
 */
export interface PageModel {
  /** What will be asked; null: the key may use no model that chats. */
  modelFor(keyId: string): { alias: string; pageCharsMax: number } | null;
  ask(question: PageQuestion, signal: AbortSignal): Promise<PageWriting | Failure>;
}

export interface PageQuestion {
  /** Whose quota pays. */
  keyId: string;
  alias: string;
  /** System, user, then what was said since, in turns. */
  messages: readonly { role: 'system' | 'user' | 'assistant'; content: string }[];
  /** What the answer is held to, where the model can be: JSON Schema of an object, any JSON, or nothing. */
  form: { schema: JsonObject } | 'json' | 'text';
  /** Longest wait. */
  timeoutMs: number;
}

export interface PageWriting {
  text: string;
}
