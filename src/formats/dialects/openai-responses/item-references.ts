import { type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';
import { isGiven } from '../../neutral/value-checks.ts';
import type { ItemReference } from '../dialect.ts';
import { type InputItem, isGatewayId, type ResponsesRequest } from './wire.ts';

/**
 * References to a text or a call at a provider. A thought may be missing: only the model's view of its history depends
 * on it.
 */
export function isReference(item: InputItem): boolean {
  return refersToAnother(item) && !isGatewayId(item.id) && !isThoughtId(item.id);
}

function refersToAnother({ type, role }: InputItem): boolean {
  return type === 'item_reference' || (!isGiven(type) && role === undefined);
}

function isThoughtId(id: JsonValue | undefined): boolean {
  return typeof id === 'string' && id.startsWith('rs_');
}

/** Items of answers that were made here, named in place of being sent; null: none. */
export function referencesIn({ input }: ResponsesRequest): ItemReference[] | null {
  if (!Array.isArray(input)) return null;
  let references: ItemReference[] | null = null;
  for (const [at, item] of input.entries()) {
    if (!refersToAnother(item) || !isGatewayId(item.id)) continue;
    references ??= [];
    references.push({ id: jsonText(item.id), field: `input[${at}]`, use: isThoughtId(item.id) ? 'thought' : 'needed' });
  }
  return references;
}

/**
 * Each item appears where it is named first, and once: the AI SDK names a message once for each of its parts, and a
 * body of small names must not grow beyond the kept items.
 */
export function withItems(request: ResponsesRequest, items: Readonly<Record<string, JsonObject>>): ResponsesRequest {
  const placed = new Set<string>();
  const input = (request.input as InputItem[]).flatMap((item): InputItem[] => {
    const id = jsonText(item.id);
    if (!refersToAnother(item) || !Object.hasOwn(items, id)) return [item];
    if (placed.has(id)) return [];
    placed.add(id);
    return [items[id] as InputItem];
  });
  return { ...request, input };
}
