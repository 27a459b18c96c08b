import { isObject, type JsonObject, listIn } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { createCompleteJson } from '../complete-json.ts';
import type { AnswerEvents } from './answer-events.ts';
import { clientIdPrefix } from './client-tools.ts';
import { nameWithin } from './offered-tools.ts';
import type { CallItem } from './response-object.ts';

export type CallStart = Extract<NeutralEvent, { type: 'tool-call-start' }>;

const idPrefixes = { function: 'fc', custom: 'ctc', search: 'tsc' } as const;

/** The calls of one answer. They stay open while their arguments may go on, since parallel ones may come in turns. */
export class CallItems {
  readonly #salt: string;
  readonly #events: AnswerEvents | null;
  readonly #customTools: ReadonlySet<unknown>;
  /** By the flat name of a tool. */
  readonly #namespaces: JsonObject;
  readonly #searchTool: unknown;
  readonly #clientTools: ReadonlySet<unknown>;
  /** By the neutral index. */
  readonly #items = new Map<number, CallItem>();
  readonly #ids = new Set<string>();

  /** `events` null makes no frames. */
  constructor(salt: string, echo: JsonObject | undefined, events: AnswerEvents | null) {
    this.#salt = salt;
    this.#events = events;
    this.#customTools = new Set(listIn(echo?.customTools));
    this.#namespaces = isObject(echo?.namespaces) ? echo.namespaces : {};
    this.#searchTool = echo?.searchTool;
    this.#clientTools = new Set(listIn(echo?.clientTools));
  }

  get any(): boolean {
    return this.#items.size > 0;
  }

  /** The item for a call; `index` is its place in the answer. */
  begin(event: CallStart, index: number, idOf: (prefix: string) => string): CallItem {
    const custom = event.custom === true || this.#customTools.has(event.name);
    const kind = custom ? 'custom' : this.#kindOf(event.name);
    const namespace = event.namespace ?? this.#namespaces[event.name];
    const isWithin = typeof namespace === 'string';
    const item: CallItem = {
      kind,
      id: idOf(kind === 'client' ? clientIdPrefix(event.name) : idPrefixes[kind]),
      index,
      callId: this.#uniqueId(event.id, index),
      name: isWithin ? nameWithin(event.name, namespace) : event.name,
      ...(isWithin && { namespace }),
      argumentsJson: '',
      json: createCompleteJson(),
      open: true,
    };
    this.#items.set(event.call, item);
    return item;
  }

  #kindOf(name: string): 'search' | 'client' | 'function' {
    if (name === this.#searchTool) return 'search';
    return this.#clientTools.has(name) ? 'client' : 'function';
  }

  arguments(call: number, argumentsJson: string): void {
    const item = this.#items.get(call);
    if (item === undefined || !item.open || argumentsJson === '') return;
    item.argumentsJson += argumentsJson;
    item.json.add(argumentsJson);
    if (item.kind === 'function') this.#events?.argumentsDelta(item, argumentsJson);
  }

  /** Ends those that are open, one by one: all, or up to the first one whose arguments may still go on. */
  *close(which: 'whole' | 'all'): Generator<CallItem> {
    for (const item of this.#items.values()) {
      if (!item.open) continue;
      if (which === 'whole' && !item.json.complete) return;
      item.open = false;
      // Clients parse the arguments, and an empty string is not JSON.
      if (item.kind === 'function' && item.argumentsJson === '') {
        item.argumentsJson = '{}';
        this.#events?.argumentsDelta(item, '{}');
      }
      this.#events?.callDone(item);
      yield item;
    }
  }

  /** Clients join answers to calls by it, and the SDK refuses one that comes twice in an answer. */
  #uniqueId(id: string, index: number): string {
    const unique = id === '' ? `call_${this.#salt}_${index}` : this.#ids.has(id) ? `${id}_${index}` : id;
    this.#ids.add(unique);
    return unique;
  }
}
