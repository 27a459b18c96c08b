import type { Failure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';

/**
 * Given by the composition: the chat model that writes about pages, `tools.model` or the first that the key may use. A
 * call is metered as a chat call of the key. Rejects only for a fault of ours.
 */
export interface PageModel {
  /** The model to ask; null: the key may use no model that chats. */
  modelFor(keyId: string): { alias: string; pageCharsMax: number } | null;
  ask(question: PageQuestion, signal: AbortSignal): Promise<PageWriting | Failure>;
}

export interface PageQuestion {
  /** Owner of the quota that pays. */
  keyId: string;
  alias: string;
  /** System, user, then the later messages, in turns. */
  messages: readonly { role: 'system' | 'user' | 'assistant'; content: string }[];
  /** Form of the answer, if the model can follow one: JSON Schema of an object, any JSON, or none. */
  form: { schema: JsonObject } | 'json' | 'text';
  /** Longest wait. */
  timeoutMs: number;
}

export interface PageWriting {
  text: string;
}
