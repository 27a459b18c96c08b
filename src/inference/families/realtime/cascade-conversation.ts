import type { ReadItem } from '../../../formats/media/realtime/conversation-item.ts';
import type { WrongValue } from '../../../formats/media/realtime/events.ts';
import type { SessionSettings } from '../../../formats/media/realtime/session-settings.ts';
import { type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';
import type { VoicedText } from './voiced-text.ts';

/** Items that the chat model is given, the newest, and characters of all of them together. */
const itemsMax = 200;
const itemsCharsMax = 4_000_000;

interface Entry {
  id: string;
  /** The item as events show it. */
  item: JsonObject;
  /** The same as the chat model reads it; null: it reads nothing of it. */
  message: JsonObject | null;
  chars: number;
  /** Sound of a message that the model made; null: it has none. */
  voiced: VoicedText | null;
  /** The part of the sound that the listener played; null: all of it. */
  playedMs: number | null;
}

/** The conversation of a session: its items, and as messages for the chat model. */
export class CascadeConversation {
  #entries: Entry[] = [];
  #chars = 0;

  has(id: string): boolean {
    return this.#entries.some((entry) => entry.id === id);
  }

  /** Whether it has the call of this id, to which a result belongs. */
  hasCall(callId: JsonValue | undefined): boolean {
    return this.#entries.some(({ item }) => item.type === 'function_call' && item.call_id === callId);
  }

  /** The item as events show it; null: there is none of this id. */
  item(id: string): JsonObject | null {
    return this.#find(id)?.item ?? null;
  }

  /** The id of the item before this one; null: there is none. */
  before(id: string): string | null {
    const at = this.#entries.findIndex((entry) => entry.id === id);
    return this.#entries[at - 1]?.id ?? null;
  }

  /**
   * Adds an item behind the one of the id `after`, as the first behind 'root', or as the last. Returns the id of the item
   * before it; null: there is none.
   */
  add(
    { id, item, message }: { id: string; item: JsonObject; message: JsonObject | null },
    after: string | null = null,
    voiced: VoicedText | null = null,
  ): string | null {
    const found = this.#entries.findIndex((entry) => entry.id === after);
    const at = after === 'root' ? 0 : found === -1 ? this.#entries.length : found + 1;
    const chars = charsOf(item);
    const entry = { id, item, message, chars, voiced, playedMs: null };
    this.#entries.splice(at, 0, entry);
    const previous = this.#entries[at - 1]?.id ?? null;
    this.#chars += chars;
    this.#bound();
    return previous;
  }

  /** Completes an item that was added, unless it has been deleted since. */
  complete(id: string, item: JsonObject, message: JsonObject | null): void {
    const entry = this.#find(id);
    if (entry === undefined) return;
    this.#change(entry, item, message);
    if (entry.playedMs !== null) this.#cut(entry, entry.playedMs);
    this.#bound();
  }

  /** Forgets an item; false: there is none of this id. */
  delete(id: string): boolean {
    const entry = this.#find(id);
    if (entry === undefined) return false;
    this.#chars -= entry.chars;
    this.#entries = this.#entries.filter((one) => one !== entry);
    return true;
  }

  /** Shortens a message of the model to the first `endMs` of its sound; a value says why it cannot. */
  truncate(id: string, endMs: number): (WrongValue & { code: string }) | null {
    const entry = this.#find(id);
    if (entry === undefined) {
      const message = `Error truncating item: the item with id '${id.slice(0, 128)}' does not exist.`;
      return { code: 'item_truncate_invalid_item_id', param: 'item_id', message };
    }
    if (entry.voiced === null) {
      const message = 'Only model output audio messages can be truncated.';
      return { code: 'unsupported_content_type', param: 'item_id', message };
    }
    const lengthMs = Math.floor(Math.min(entry.voiced.ms, entry.playedMs ?? Infinity));
    if (endMs > lengthMs) {
      const message = `Audio content of ${lengthMs}ms is already shorter than ${endMs}ms.`;
      return { code: 'invalid_value', param: 'audio_end_ms', message };
    }
    entry.playedMs = endMs;
    this.#cut(entry, endMs);
    return null;
  }

  /** A conversation of some items: those of an id, and others. */
  excerpt(items: readonly (string | ReadItem)[]): CascadeConversation {
    const excerpt = new CascadeConversation();
    for (const one of items) {
      const added = typeof one === 'string' ? this.#find(one) : { id: '', ...one };
      if (added !== undefined) excerpt.add(added);
    }
    return excerpt;
  }

  /** The body of a chat completion that answers it. */
  request(model: string, settings: SessionSettings): JsonObject {
    const { instructions: system, tools, toolChoice, effort, parallelToolCalls } = settings;
    const { temperature, maxOutputTokens } = settings;
    const choice = typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: toolChoice };
    return {
      model,
      stream: true,
      stream_options: { include_usage: true },
      messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...this.#messages()],
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          type: 'function',
          function: { name, ...(description !== null && { description }), parameters },
        })),
        ...(toolChoice !== 'auto' && { tool_choice: choice }),
        ...(parallelToolCalls !== null && { parallel_tool_calls: parallelToolCalls }),
      }),
      ...(effort !== null && { reasoning_effort: effort }),
      ...(temperature !== null && { temperature }),
      ...(maxOutputTokens !== null && { max_completion_tokens: maxOutputTokens }),
    };
  }

  /** Providers refuse results that do not follow their calls, and calls without a result. */
  #messages(): JsonObject[] {
    const results = new Map<unknown, JsonObject>();
    for (const { message } of this.#entries) if (message?.role === 'tool') results.set(message.tool_call_id, message);
    const turns: JsonObject[] = [];
    /** The last turn is the model's, and its further calls are part of it: an item holds one call. */
    let isOpen = false;
    for (const { message } of this.#entries) {
      if (message === null) continue;
      const calls = callsIn(message);
      const last = turns.at(-1);
      if (isOpen && last !== undefined && calls.length > 0) {
        turns[turns.length - 1] = { ...last, tool_calls: [...callsIn(last), ...calls] };
      } else if (message.role !== 'tool') turns.push(message);
      isOpen = message.role === 'assistant';
    }
    return turns.flatMap((turn) => [turn, ...callsIn(turn).map(({ id }) => results.get(id) ?? withoutResult(id))]);
  }

  #find(id: string): Entry | undefined {
    return this.#entries.find((entry) => entry.id === id);
  }

  #cut(entry: Entry, endMs: number): void {
    const { voiced, message, item } = entry;
    if (voiced === null || message === null || typeof message.content !== 'string') return;
    const content = voiced.within(message.content, endMs);
    const parts = objectsIn(item.content);
    const shown = { ...item, content: parts.map((part) => ({ ...part, transcript: content })) };
    this.#change(entry, shown, content === '' ? null : { ...message, content });
  }

  #change(entry: Entry, item: JsonObject, message: JsonObject | null): void {
    this.#chars -= entry.chars;
    entry.item = item;
    entry.message = message;
    entry.chars = charsOf(item);
    this.#chars += entry.chars;
  }

  #bound(): void {
    while (this.#entries.length > itemsMax || (this.#entries.length > 1 && this.#chars > itemsCharsMax)) {
      this.#chars -= this.#entries.shift()?.chars ?? 0;
    }
  }
}

function callsIn({ tool_calls: calls }: JsonObject): JsonObject[] {
  return objectsIn(calls);
}

/** Characters of its texts, and one for each other value. */
function charsOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + charsOf(one), 1);
}

/** In place of a result that is not there yet, or that the caller has deleted. */
function withoutResult(id: JsonValue | undefined): JsonObject {
  return { role: 'tool', tool_call_id: id, content: '[no result yet]' };
}
