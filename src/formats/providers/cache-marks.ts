import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { FitMembers } from '../dialects/forward-target.ts';

/*
 * Marks for the prompt cache of Anthropic's models (`cache_control`), which clients send to any model: in messages, parts of
 * their content, and tools. Groq ("property 'cache_control' is unsupported") and Mistral ("Extra inputs are not permitted")
 * answer 400. All of them keep prompts without a mark.
 */

/** The messages without marks; null: there are none. */
export function withoutMarks(messages: readonly JsonValue[]): JsonValue[] | null {
  return changed(messages, (message) => {
    const content = Array.isArray(message.content) ? changed(message.content, unmarked) : null;
    return content === null ? unmarked(message) : { ...unmarked(message), content };
  });
}

/** Tools without marks, which some clients put next to the function, and some into it. */
export const toolsWithoutMarks: FitMembers = Object.assign(
  ({ tools }: JsonObject) => {
    const bare = Array.isArray(tools)
      ? changed(tools, (tool) => {
          const called = isObject(tool.function) ? unmarked(tool.function) : tool.function;
          return called === tool.function ? unmarked(tool) : { ...unmarked(tool), function: called as JsonObject };
        })
      : null;
    return bare === null ? null : { members: { tools: bare }, losses: [] };
  },
  { of: 'tools' } as const,
);

function unmarked(holder: JsonObject): JsonObject {
  if (holder.cache_control === undefined) return holder;
  const { cache_control: _, ...rest } = holder;
  return rest;
}

function changed(items: readonly JsonValue[], change: (item: JsonObject) => JsonObject): JsonValue[] | null {
  const result = items.map((item) => (isObject(item) ? change(item) : item));
  return result.every((item, at) => item === items[at]) ? null : result;
}
