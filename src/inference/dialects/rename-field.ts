import type { JsonObject } from '../../kernel/json.ts';

/** Spells a top-level field as the provider does. When both spellings are there, the provider's own stands. */
export function renameField(body: JsonObject, from: string, to: string): void {
  if (!Object.hasOwn(body, from)) return;
  const value = body[from];
  delete body[from];
  if (value !== undefined && (body[to] === undefined || body[to] === null)) body[to] = value;
}
