import type { JsonObject } from '../../kernel/json.ts';
import type { NeutralMessage, NeutralPart } from './request.ts';

const markedTypes: ReadonlySet<NeutralPart['type']> = new Set([
  'text',
  'image',
  'document',
  'tool-call',
  'tool-result',
]);

/** The message with a mark for the cache at its last part that takes one. A mark that is there stays. */
export function markMessage(message: NeutralMessage, cache: JsonObject): NeutralMessage {
  const at = message.parts.findLastIndex(({ type }) => markedTypes.has(type));
  const parts = message.parts.map((part, i) => (i === at && !('cache' in part) ? { ...part, cache } : part));
  return { ...message, parts };
}
