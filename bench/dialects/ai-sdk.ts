import type { JsonObject } from '../../src/kernel/json.ts';
import { messagesBody } from './messages.ts';

/** About the same conversation as Anthropic's callers have, as the AI SDK sends it to a gateway. */
export function aiSdkBody(bytes: number): JsonObject {
  const {
    system,
    messages,
    tools,
    max_tokens: maxOutputTokens,
  } = messagesBody(bytes) as {
    system: { text: string }[];
    messages: { role: string; content: string | JsonObject[] }[];
    tools: JsonObject[];
    max_tokens: number;
  };
  return {
    model: 'm',
    stream: true,
    specification: 4,
    prompt: [
      ...system.map(({ text }) => ({ role: 'system', content: text })),
      ...messages.map(({ role, content }) => {
        const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(partOf);
        return { role: parts.some(({ type }) => type === 'tool-result') ? 'tool' : role, content: parts };
      }),
    ],
    tools: tools.map(({ name, description, input_schema: inputSchema }) => ({
      type: 'function',
      name,
      description,
      inputSchema,
    })),
    maxOutputTokens,
  };
}

function partOf({ type, text, id, name, input, tool_use_id: answers, content }: JsonObject): JsonObject {
  if (type === 'tool_use') return { type: 'tool-call', toolCallId: id, toolName: name, input };
  if (type !== 'tool_result') return { type: 'text', text: text ?? '' };
  const value = typeof content === 'string' ? content : JSON.stringify(content ?? '');
  return { type: 'tool-result', toolCallId: answers, toolName: 'Read', output: { type: 'text', value } };
}
