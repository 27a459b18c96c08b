import { isObject, type JsonObject, type JsonValue, objectsIn, stringOr } from '../../../kernel/json.ts';
import { saltOf } from './response-object.ts';
import { gatewayIdMark } from './wire.ts';

/** An item of the answer. */
interface KnownItem {
  id: string;
  callId: JsonValue | undefined;
  type: JsonValue | undefined;
  /** Parts of it that began. */
  parts: number;
  done: boolean;
}

/** Events that OpenAI numbers. Providers have others, which nobody counts. */
const numbered =
  /^response\.(?:created|queued|in_progress|completed|incomplete|output_item\.|content_part\.|output_text\.|refusal\.|reasoning_|mcp_list_tools\.|\w+_call_?\w*\.)/;

/** Events of one part of an item. */
const ofPart = /^response\.(?:content_part|output_text|refusal|reasoning_\w+)\./;

const idPrefixes: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs', function_call: 'fc' };

/**
 * Fills in what servers leave out of an answer although OpenAI's clients read it: llama.cpp and Lemonade number neither
 * events nor items, and their calls have no id. What is there stays as it is. One for each answer.
 */
export class MissingMembers {
  /** An event lacked something, so deltas will, too. */
  isNeeded = false;
  /** An item began, and no delta has been read since. */
  isUnsure = true;
  /** The event that must come before the one that was read last; null: none is missing. */
  before: JsonObject | null = null;
  /** By their index. */
  readonly #items = new Map<number, KnownItem>();
  #responseId = '';
  #sequence = 0;
  /** How many members were put in. */
  #filled = 0;

  /** True if the event lacked a member. */
  fill(type: string, event: JsonObject): boolean {
    if (!numbered.test(type)) return false;
    const { response, item } = event;
    const earlier = this.#filled;
    this.isUnsure = isObject(item);
    this.before = null;
    this.#put(event, 'sequence_number', this.#sequence);
    const isUncounted = this.#filled > earlier;
    this.#sequence = Number(event.sequence_number) + 1;
    this.#put(event, 'type', type);
    const [, status = 'in_progress'] = /\.(completed|incomplete)$/.exec(type) ?? [];
    if (isObject(response)) this.fillResponse(response, status);
    else if (isObject(item)) this.#fillItemEvent(type, event, item);
    else this.#fillPlace(type, event, isUncounted);
    this.isNeeded ||= this.#filled > earlier;
    return this.#filled > earlier;
  }

  /** True if the response, whole or of an event, lacked a member. */
  fillResponse(response: JsonObject, status: string): boolean {
    const earlier = this.#filled;
    if (typeof response.id === 'string') this.#responseId ||= response.id;
    if (this.#responseId !== '') this.#put(response, 'id', this.#responseId);
    this.#put(response, 'object', 'response');
    this.#put(response, 'status', status);
    if (status === 'in_progress') this.#put(response, 'output', []);
    for (const item of objectsIn(response.output)) this.#fillItem(item, this.#indexOf(item), status);
    if (isObject(response.usage)) this.#fillUsage(response.usage);
    return this.#filled > earlier;
  }

  #fillItemEvent(type: string, event: JsonObject, item: JsonObject): void {
    const begins = type === 'response.output_item.added';
    this.#put(event, 'output_index', begins ? this.#items.size : this.#indexOf(item));
    if (begins && item.type === 'message') this.#put(item, 'content', []);
    this.#fillItem(item, Number(event.output_index), begins ? 'in_progress' : 'completed');
  }

  #fillItem(item: JsonObject, index: number, status: string): void {
    const { type, call_id: callId } = item;
    this.#put(item, 'id', this.#items.get(index)?.id ?? this.#newId(type, index));
    // OpenAI's own thoughts have none.
    if (type === 'message' || type === 'function_call') this.#put(item, 'status', status);
    const { parts } = this.#items.get(index) ?? { parts: 0 };
    this.#items.set(index, { id: stringOr(item.id, ''), callId, type, parts, done: status !== 'in_progress' });
  }

  /** Index of an item that ends: by its ids, else the first of its type that has not ended. */
  #indexOf({ id, call_id: callId, type }: JsonObject): number {
    const byId = this.#find((one) => one.id === id);
    if (byId !== null) return byId;
    const byCall = callId == null ? null : this.#find((one) => one.callId === callId);
    return byCall ?? this.#find((one) => one.type === type && !one.done) ?? this.#items.size;
  }

  #find(matches: (item: KnownItem) => boolean): number | null {
    for (const [index, item] of this.#items) if (matches(item)) return index;
    return null;
  }

  /** The item and the part that an event in between belongs to. `isUncounted`: there is room for another event. */
  #fillPlace(type: string, event: JsonObject, isUncounted: boolean): void {
    const named = this.#find((one) => one.id === event.item_id);
    this.#put(event, 'output_index', named ?? Math.max(0, this.#items.size - 1));
    const index = Number(event.output_index);
    const item = this.#items.get(index);
    this.#put(event, 'item_id', item?.id ?? this.#newId('message', index));
    if (!ofPart.test(type)) return;
    const place = type.includes('_summary_') ? 'summary_index' : 'content_index';
    const begins = type.endsWith('_part.added');
    const { parts } = item ?? { parts: 0 };
    this.#put(event, place, begins ? parts : Math.max(0, parts - 1));
    if (item === undefined) return;
    if (begins) item.parts = Number(event[place]) + 1;
    else if (isUncounted && parts === 0 && type.endsWith('.delta')) {
      const { delta: _, ...members } = event;
      const added = place === 'summary_index' ? 'reasoning_summary_part' : 'content_part';
      this.before = { ...members, type: `response.${added}.added`, part: emptyPart(type) };
      event.sequence_number = this.#sequence;
      this.#sequence += 1;
      item.parts = 1;
    }
  }

  /** Codex breaks off at a usage without its sum, and at details without their counts. */
  #fillUsage(usage: JsonObject): void {
    const { input_tokens: input, output_tokens: output } = usage;
    if (typeof input !== 'number' || typeof output !== 'number') return;
    this.#put(usage, 'total_tokens', input + output);
    if (isObject(usage.input_tokens_details)) this.#put(usage.input_tokens_details, 'cached_tokens', 0);
    if (isObject(usage.output_tokens_details)) this.#put(usage.output_tokens_details, 'reasoning_tokens', 0);
  }

  #newId(type: JsonValue | undefined, index: number): string {
    return `${idPrefixes[stringOr(type, '')] ?? 'item'}_${gatewayIdMark}${saltOf(this.#responseId)}_${index}`;
  }

  /** Puts a member in where there is none. */
  #put(into: JsonObject, name: string, value: JsonValue): void {
    const there = into[name];
    if (there !== undefined && there !== null && there !== '') return;
    into[name] = value;
    this.#filled += 1;
  }
}

/** The part to which a delta adds, as it begins. */
function emptyPart(deltaType: string): JsonObject {
  const type = deltaType.slice('response.'.length, -'.delta'.length).replace('reasoning_summary', 'summary');
  if (type === 'output_text') return { type, text: '', annotations: [] };
  return type === 'refusal' ? { type, refusal: '' } : { type, text: '' };
}
