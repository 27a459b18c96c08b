import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import { fault } from '../../neutral/outcome.ts';
import { citationOf } from './annotation.ts';
import { faultInside } from './read-error.ts';
import { neutralUsage } from './token-usage.ts';
import { openAiResponsesId } from './wire.ts';

/** Turns the events of an answer, one parsed object at a time, into neutral ones. Never throws. */
export interface OutputReader {
  /** Appends what `event` says; `unreadable` when it is no object of this format. */
  read(event: JsonObject, events: NeutralEvent[]): 'read' | 'unreadable';
  readonly over: boolean;
  hasStarted(): boolean;
}

interface Item {
  type: string;
  /** What of it has been given on: the rest, if it only comes with the item's end, is given then. */
  shown: 'nothing' | 'something';
  /** Of a thought: which of the two forms of its text came first; the other repeats it. */
  thoughtForm: 'summary' | 'text' | null;
  /** Of a call. */
  call: number;
  done: boolean;
}

/** Beyond any answer's items; what comes above it is skipped. */
const itemsMax = 4_096;

export function createOutputReader(): OutputReader {
  const items = new Map<number, Item>();
  let started = false;
  let calls = 0;
  let lastThought = false;

  function start(response: JsonObject | null, events: NeutralEvent[]): void {
    if (started) return;
    started = true;
    events.push({
      type: 'start',
      id: stringOr(response?.id),
      model: stringOr(response?.model),
      createdS: typeof response?.created_at === 'number' ? Math.floor(response.created_at) : null,
    });
  }

  function itemAt(index: number, wire: JsonObject, events: NeutralEvent[]): Item | null {
    const known = items.get(index);
    if (known !== undefined) return known;
    if (items.size >= itemsMax) return null;
    const type = typeof wire.type === 'string' ? wire.type : '';
    const item: Item = { type, shown: 'nothing', thoughtForm: null, call: -1, done: false };
    items.set(index, item);
    if (type === 'reasoning') {
      if (lastThought) events.push({ type: 'part-end', choice: 0 });
      lastThought = true;
    } else lastThought = false;
    if (type === 'function_call' || type === 'custom_tool_call') {
      item.call = calls;
      calls += 1;
      const id = stringOr(wire.call_id) ?? stringOr(wire.id) ?? '';
      const name = stringOr(wire.name) ?? '';
      const custom = type === 'custom_tool_call';
      events.push({ type: 'tool-call-start', choice: 0, call: item.call, id, name, ...(custom && { custom: true }) });
      if (custom) events.push({ type: 'tool-call-delta', choice: 0, call: item.call, argumentsJson: '{"input":"' });
    }
    return item;
  }

  /** Text of a call as it grows; a custom tool's is put into the string that stands for it. */
  function argumentsDelta(item: Item, text: string, events: NeutralEvent[]): void {
    if (text === '' || item.done) return;
    item.shown = 'something';
    const argumentsJson = item.type === 'custom_tool_call' ? JSON.stringify(text).slice(1, -1) : text;
    events.push({ type: 'tool-call-delta', choice: 0, call: item.call, argumentsJson });
  }

  function thoughtDelta(item: Item, form: 'summary' | 'text', text: string, events: NeutralEvent[]): void {
    item.thoughtForm ??= form;
    if (text === '' || item.thoughtForm !== form) return;
    item.shown = 'something';
    events.push({ type: 'reasoning-delta', choice: 0, text });
  }

  /** What the finished item holds and the deltas did not tell. */
  function finishItem(index: number, wire: JsonObject, events: NeutralEvent[]): void {
    const item = itemAt(index, wire, events);
    if (item === null || item.done) return;
    switch (item.type) {
      case 'message':
        if (item.shown === 'nothing') wholeMessage(wire.content, events);
        break;
      case 'reasoning':
        if (item.shown === 'nothing') {
          const summary = textsOf(wire.summary);
          thoughtDelta(item, 'summary', summary === '' ? textsOf(wire.content) : summary, events);
        }
        if (typeof wire.encrypted_content === 'string' && wire.encrypted_content !== '') {
          const signature = wire.encrypted_content;
          events.push({ type: 'reasoning-signature', choice: 0, signature, vendor: openAiResponsesId });
          // The signature closed the thought.
          lastThought = false;
        }
        break;
      case 'function_call':
        if (item.shown === 'nothing') argumentsDelta(item, stringOr(wire.arguments) ?? '', events);
        break;
      case 'custom_tool_call':
        if (item.shown === 'nothing') argumentsDelta(item, stringOr(wire.input) ?? '', events);
        closeString(item, events);
        break;
    }
    item.done = true;
  }

  /** Ends the JSON that stands for a custom tool's text. */
  function closeString(item: Item, events: NeutralEvent[]): void {
    if (item.done || item.type !== 'custom_tool_call') return;
    item.done = true;
    events.push({ type: 'tool-call-delta', choice: 0, call: item.call, argumentsJson: '"}' });
  }

  function wholeMessage(content: JsonValue | undefined, events: NeutralEvent[]): void {
    if (!Array.isArray(content)) return;
    let parts = 0;
    for (const part of content) {
      if (!isObject(part)) continue;
      const text = part.type === 'refusal' ? part.refusal : part.text;
      if (typeof text !== 'string' || text === '') continue;
      if (parts > 0) events.push({ type: 'part-end', choice: 0 });
      parts += 1;
      events.push({ type: part.type === 'refusal' ? 'refusal-delta' : 'text-delta', choice: 0, text });
      for (const annotation of Array.isArray(part.annotations) ? part.annotations : []) cite(annotation, events);
      logprobs(part.logprobs, events);
    }
  }

  function cite(annotation: JsonValue | undefined, events: NeutralEvent[]): void {
    const citation = isObject(annotation) ? citationOf(annotation) : null;
    if (citation !== null) events.push({ type: 'citation', choice: 0, citation });
  }

  function end(response: JsonObject, events: NeutralEvent[]): void {
    start(response, events);
    // Servers exist that tell an item only here.
    if (Array.isArray(response.output)) {
      response.output.forEach((wire, index) => {
        if (isObject(wire)) finishItem(index, wire, events);
      });
    }
    for (const item of items.values()) closeString(item, events);
    events.push({ type: 'finish', choice: 0, reason: reasonOf(response, calls), stopSequence: null });
    const usage = neutralUsage(response.usage);
    if (usage !== null) events.push({ type: 'usage', usage });
    events.push({ type: 'end' });
    state.over = true;
  }

  function fail(body: JsonObject, events: NeutralEvent[]): void {
    state.over = true;
    events.push({ type: 'failed', fault: faultInside(body) });
  }

  // A plain field: an accessor in a literal would make a hidden class for every answer, which holds it until a full GC.
  const state = {
    over: false,
    hasStarted: () => started,
    read(event: JsonObject, events: NeutralEvent[]): 'read' | 'unreadable' {
      if (state.over) return 'read';
      const { type } = event;
      if (typeof type !== 'string') {
        // A server that breaks down may send its error bare.
        if (isObject(event.error) || typeof event.error === 'string') fail(event, events);
        else return 'unreadable';
        return 'read';
      }
      const response = isObject(event.response) ? event.response : null;
      switch (type) {
        case 'response.created':
        case 'response.in_progress':
        case 'response.queued':
          start(response, events);
          return 'read';
        case 'response.completed':
        case 'response.incomplete':
          if (response === null) return 'unreadable';
          end(response, events);
          return 'read';
        case 'response.failed':
        case 'response.cancelled':
          fail({ object: 'response', status: 'failed', ...response }, events);
          return 'read';
        case 'error':
          fail(event, events);
          return 'read';
      }
      const index = event.output_index;
      // Events about nothing of the output, and those that nobody knows yet, mean nothing here.
      if (typeof index !== 'number') return 'read';
      start(null, events);
      const wire = isObject(event.item) ? event.item : null;
      if (type === 'response.output_item.added') {
        if (wire === null) return 'unreadable';
        itemAt(index, wire, events);
      } else if (type === 'response.output_item.done') {
        if (wire === null) return 'unreadable';
        finishItem(index, wire, events);
      } else delta(type, index, event, events);
      return 'read';
    },
  };
  return state;

  function delta(type: string, index: number, event: JsonObject, events: NeutralEvent[]): void {
    const kind = kindOfDelta[type];
    if (kind === undefined) return;
    const item = itemAt(index, { type: kind }, events);
    if (item === null || item.type !== kind) return;
    const text = stringOr(event.delta) ?? '';
    switch (type) {
      case 'response.output_text.delta':
        if (text !== '') {
          item.shown = 'something';
          events.push({ type: 'text-delta', choice: 0, text });
        }
        return logprobs(event.logprobs, events);
      case 'response.refusal.delta':
        if (text === '') return;
        item.shown = 'something';
        events.push({ type: 'refusal-delta', choice: 0, text });
        return;
      case 'response.content_part.added':
        // The first part needs no boundary before it.
        if (item.shown === 'something') events.push({ type: 'part-end', choice: 0 });
        return;
      case 'response.output_text.annotation.added':
        return cite(event.annotation, events);
      case 'response.reasoning_summary_part.added':
        if (item.shown === 'something') thoughtDelta(item, 'summary', '\n\n', events);
        return;
      case 'response.reasoning_summary_text.delta':
        return thoughtDelta(item, 'summary', text, events);
      case 'response.reasoning_text.delta':
        return thoughtDelta(item, 'text', text, events);
      default:
        return argumentsDelta(item, text, events);
    }
  }
}

const kindOfDelta: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'message',
  'response.refusal.delta': 'message',
  'response.content_part.added': 'message',
  'response.output_text.annotation.added': 'message',
  'response.reasoning_summary_part.added': 'reasoning',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.reasoning_text.delta': 'reasoning',
  'response.function_call_arguments.delta': 'function_call',
  'response.custom_tool_call_input.delta': 'custom_tool_call',
};

function reasonOf(response: JsonObject, calls: number): FinishReason {
  const details = isObject(response.incomplete_details) ? response.incomplete_details.reason : null;
  if (response.status === 'incomplete' || typeof details === 'string') {
    return details === 'content_filter' ? 'content-filter' : 'length';
  }
  return calls > 0 ? 'tool-calls' : 'stop';
}

function logprobs(value: JsonValue | undefined, events: NeutralEvent[]): void {
  if (!Array.isArray(value) || value.length === 0) return;
  events.push({ type: 'logprobs', choice: 0, logprobs: { content: value, refusal: null } });
}

function textsOf(parts: JsonValue | undefined): string {
  if (!Array.isArray(parts)) return '';
  return parts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('\n\n');
}

function stringOr(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Why a whole answer is none; null for one. */
export function faultInWhole(body: unknown): ReturnType<typeof fault> | null {
  if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
  if (
    isObject(body.error) ||
    typeof body.error === 'string' ||
    body.status === 'failed' ||
    body.status === 'cancelled'
  ) {
    return faultInside(body);
  }
  if (!Array.isArray(body.output)) return fault('malformed', "the answer has no 'output'");
  return null;
}
