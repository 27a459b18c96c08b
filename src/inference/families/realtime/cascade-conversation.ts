import type { SessionSettings } from '../../../formats/dialects/realtime/session-settings.ts';
import { isObject, type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';

/** Messages that the chat model is given, the newest, and characters of all of them together. */
const messagesMax = 200;
const messagesCharsMax = 4_000_000;

/** The conversation of a session, as the chat model reads it. */
export class CascadeConversation {
  readonly #messages: JsonObject[] = [];
  #chars = 0;

  addMessage(message: JsonObject): void {
    this.#messages.push(message);
    this.#chars += charsOf(message);
    while (this.#messages.length > messagesMax || (this.#messages.length > 1 && this.#chars > messagesCharsMax))
      this.#chars -= charsOf(this.#messages.shift()!);
  }

  /** The body of a chat completion that answers it. */
  request(model: string, settings: SessionSettings): JsonObject {
    const { instructions: system, tools, temperature, maxOutputTokens } = settings;
    return {
      model,
      stream: true,
      stream_options: { include_usage: true },
      messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...this.#messages],
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          type: 'function',
          function: { name, ...(description !== null && { description }), parameters },
        })),
      }),
      ...(temperature !== null && { temperature }),
      ...(maxOutputTokens !== null && { max_completion_tokens: maxOutputTokens }),
    };
  }
}

function charsOf({ content, tool_calls: calls }: JsonObject): number {
  return String(content).length + (calls === undefined ? 0 : JSON.stringify(calls).length);
}

/** An item of the realtime API as a message of a chat completion; null: the chat model has no use for such items. */
export function messageOf(item: JsonObject): JsonObject | null {
  switch (item.type) {
    case 'function_call_output':
      return { role: 'tool', tool_call_id: jsonText(item.call_id), content: jsonText(item.output ?? '') };
    case 'function_call': {
      const called = { name: jsonText(item.name), arguments: jsonText(item.arguments ?? '') };
      const calls = [{ id: jsonText(item.call_id), type: 'function', function: called }];
      return { role: 'assistant', content: '', tool_calls: calls };
    }
    case 'message': {
      const role = item.role === 'assistant' || item.role === 'system' ? item.role : 'user';
      return { role, content: textOf(item.content) };
    }
    default:
      return null;
  }
}

/** The words in the parts of an item's content. */
function textOf(content: JsonValue | undefined): string {
  if (!Array.isArray(content)) return '';
  const texts = content.map((part) => (isObject(part) ? (part.text ?? part.transcript) : null));
  return texts.filter((words) => typeof words === 'string').join('');
}
