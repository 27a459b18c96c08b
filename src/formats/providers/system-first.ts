import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/** Whether no message of the system is behind the first message, nor a developer's anywhere. */
export function isSystemFirst(messages: JsonValue | undefined): boolean {
  if (!Array.isArray(messages)) return true;
  return messages.every((one, at) => !isObject(one) || (at === 0 ? one.role !== 'developer' : !instructs(one)));
}

/**
 * The messages with one of the system, the first, which has the texts of all that begin the conversation. Later ones join
 * the user's message before them, or become one: many templates want user and assistant by turns.
 */
export function systemFirst(messages: readonly JsonValue[]): JsonValue[] {
  const first = messages.findIndex((one) => !isObject(one) || !instructs(one));
  const leading = messages.slice(0, first < 0 ? messages.length : first) as JsonObject[];
  const result: JsonObject[] = [];
  if (leading.length > 0)
    result.push({ role: 'system', content: leading.map(({ content }) => content).reduce(joined)! });
  for (const one of messages.slice(leading.length) as JsonObject[]) {
    const last = result.at(-1);
    if (!instructs(one)) result.push(one);
    else if (last?.role === 'user')
      result[result.length - 1] = { ...last, content: joined(last.content, one.content)! };
    else result.push({ role: 'user', content: one.content ?? '' });
  }
  return result;
}

function instructs({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer';
}

/** Two contents as one: a text where both are. */
function joined(before: JsonValue | undefined, after: JsonValue | undefined): JsonValue {
  if (typeof before === 'string' && typeof after === 'string') return `${before}\n\n${after}`;
  return [...partsOf(before), ...partsOf(after)];
}

function partsOf(content: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(content)) return content;
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [];
}
