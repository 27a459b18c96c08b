import type { Json, Settings, Step, Turn } from '../conversation.ts';

/** One of the formats that a conversation can be sent in. */
export interface Format {
  id: 'chat' | 'messages' | 'responses';
  title: string;
  path: string;
  /** The body of the next call; throws a FieldFault. */
  body(model: string, turns: readonly Turn[], settings: Settings): Json;
  /** Contents of one event of the stream. `[DONE]` comes as null. */
  read(event: Json | null): Step[];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

/** Step for an error inside a stream, in whichever shape. */
export function failureOf(event: Json): Step {
  const error = objectOf(event.error ?? objectOf(event.response).error ?? event);
  return { type: 'failed', message: textOf(error.message) || 'The stream ended with an error.' };
}
