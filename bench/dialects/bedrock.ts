import type { JsonObject } from '../../src/kernel/json.ts';
import { messagesBody } from './messages.ts';

/** About the same conversation as Anthropic's callers have, as AWS's write it. */
export function converseBody(bytes: number): JsonObject {
  const {
    system,
    messages,
    tools,
    max_tokens: maxTokens,
  } = messagesBody(bytes) as {
    system: JsonObject[];
    messages: { role: string; content: string | JsonObject[] }[];
    tools: JsonObject[];
    max_tokens: number;
  };
  return {
    model: 'm',
    stream: true,
    system: system.flatMap(blocksOf),
    messages: messages.map(({ role, content }) => ({
      role,
      content: typeof content === 'string' ? [{ text: content }] : content.flatMap(blocksOf),
    })),
    toolConfig: {
      tools: tools.map(({ name, description, input_schema: json }) => ({
        toolSpec: { name, description, inputSchema: { json } },
      })),
    },
    inferenceConfig: { maxTokens },
  };
}

function blocksOf(block: JsonObject): JsonObject[] {
  const cached = block.cache_control === undefined ? [] : [{ cachePoint: { type: 'default' } }];
  return [blockOf(block), ...cached];
}

function blockOf({ type, text, id, name, input, tool_use_id: answers, content, thinking, signature }: JsonObject) {
  if (type === 'tool_use') return { toolUse: { toolUseId: id, name, input } };
  if (type === 'thinking') return { reasoningContent: { reasoningText: { text: thinking, signature } } };
  if (type !== 'tool_result') return { text: text ?? '' };
  const words = typeof content === 'string' ? content : JSON.stringify(content ?? '');
  return { toolResult: { toolUseId: answers, content: [{ text: words }] } };
}
