import type { SessionSettings } from '../../../formats/dialects/realtime/session-settings.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

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

  /** The body of a chat completion that answers it; `instructions`: for this answer alone. */
  request(model: string, settings: SessionSettings, instructions: string | null): JsonObject {
    const { tools, temperature, maxOutputTokens } = settings;
    const system = [settings.instructions, instructions ?? ''].filter((text) => text !== '').join('\n\n');
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

/** The words in the parts of an item's content. */
export function textOf(content: JsonValue | undefined): string {
  if (!Array.isArray(content)) return '';
  const texts = content.map((part) => (isObject(part) ? (part.text ?? part.transcript) : null));
  return texts.filter((words) => typeof words === 'string').join('');
}
