import assert from 'node:assert/strict';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { specValidator } from '../spec/validate.ts';

/** The events of a Responses stream on the wire. */
export function eventsOf(frames: string): JsonObject[] {
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [name, data] = frame.split('\n');
      const event = JSON.parse(data!.replace(/^data: /, '')) as JsonObject;
      assert.equal(name, `event: ${String(event.type)}`, 'the name says the type');
      return event;
    });
}

const terminal = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/**
 * Rules of OpenAI's SDK and Codex for a stream: it is numbered without a gap, created comes first, every item and part
 * begins before its deltas and ends after them, the joined deltas equal the finished text, the last event repeats every
 * finished item, and nothing comes after it. `truncated`: the stream may lack its end, and the end of open parts.
 */
export function assertBalanced(frames: string, end: 'whole' | 'truncated'): JsonObject | null {
  const events = eventsOf(frames);
  const open = new Map<number, { item: JsonObject; parts: Map<string, { text: string; done: boolean }> }>();
  const done: JsonObject[] = [];
  let last: JsonObject | null = null;
  events.forEach((event, at) => {
    const type = String(event.type);
    assert.equal(event.sequence_number, at, 'numbered in order');
    if (at < 2) assert.equal(type, ['response.created', 'response.in_progress'][at]);
    assert.equal(last, null, `nothing after the end, but ${type}`);
    if (terminal.has(type)) {
      last = event.response as JsonObject;
      return;
    }
    if (typeof event.output_index !== 'number') return;
    const index = event.output_index;
    if (type === 'response.output_item.added') {
      assert.equal(index, open.size, 'indexes are dense');
      open.set(index, { item: event.item as JsonObject, parts: new Map() });
      return;
    }
    const held = open.get(index);
    assert.ok(held !== undefined, `${type} of an item that did not begin`);
    assert.equal(done[index], undefined, `${type} after its item was done`);
    if (type === 'response.output_item.done') {
      const item = event.item as JsonObject;
      assert.equal(item.id, held.item.id);
      assert.equal(item.type, held.item.type);
      for (const part of held.parts.values()) assert.ok(part.done, 'a part was left open');
      done[index] = item;
      return;
    }
    assert.equal(event.item_id, held.item.id, type);
    const key = String(event.content_index ?? event.summary_index ?? 'arguments');
    if (type.endsWith('part.added')) {
      assert.ok(!held.parts.has(key), 'a part begins once');
      held.parts.set(key, { text: '', done: false });
    } else if (type.endsWith('.delta')) {
      if (key === 'arguments' && !held.parts.has(key)) held.parts.set(key, { text: '', done: false });
      const part = held.parts.get(key);
      assert.ok(part !== undefined && !part.done, `${type} outside its part`);
      part.text += String(event.delta);
    } else if (/(?:text|refusal|arguments|input)\.done$/.test(type)) {
      const told = event.text ?? event.refusal ?? event.arguments ?? event.input;
      const part = held.parts.get(key) ?? { text: '', done: false };
      assert.equal(part.text, told, 'the deltas joined are the text');
      if (key === 'arguments') held.parts.set(key, { ...part, done: true });
    } else if (type.endsWith('part.done')) held.parts.get(key)!.done = true;
  });
  if (end === 'truncated') return last;
  assert.ok(last !== null, 'the stream has its end');
  const response = last as JsonObject;
  assert.equal(done.filter((item) => item !== undefined).length, open.size, 'every item is done');
  assert.deepEqual(response.output, done, 'the end repeats every item');
  return response;
}

/** Every event, and the response at the end, as OpenAI's description has them. */
export function assertPublished(frames: string): void {
  const faults = specValidator('openai', 'ResponseStreamEvent');
  for (const event of eventsOf(frames)) {
    assert.deepEqual(faultsOf(event, faults), [], JSON.stringify(event));
  }
}

function faultsOf(event: JsonObject, faults: (value: unknown) => string[]): string[] {
  const schema = schemaOf[String(event.type)];
  return schema === undefined ? faults(event) : specValidator('openai', schema)(event);
}

/** One schema a type: faults are reported for that one alone, and not for all the others. */
const schemaOf: Readonly<Record<string, string>> = {
  'response.created': 'ResponseCreatedEvent',
  'response.in_progress': 'ResponseInProgressEvent',
  'response.output_item.added': 'ResponseOutputItemAddedEvent',
  'response.output_item.done': 'ResponseOutputItemDoneEvent',
  'response.content_part.added': 'ResponseContentPartAddedEvent',
  'response.content_part.done': 'ResponseContentPartDoneEvent',
  'response.output_text.delta': 'ResponseTextDeltaEvent',
  'response.output_text.done': 'ResponseTextDoneEvent',
  'response.refusal.delta': 'ResponseRefusalDeltaEvent',
  'response.refusal.done': 'ResponseRefusalDoneEvent',
  'response.function_call_arguments.delta': 'ResponseFunctionCallArgumentsDeltaEvent',
  'response.function_call_arguments.done': 'ResponseFunctionCallArgumentsDoneEvent',
  'response.custom_tool_call_input.delta': 'ResponseCustomToolCallInputDeltaEvent',
  'response.custom_tool_call_input.done': 'ResponseCustomToolCallInputDoneEvent',
  'response.reasoning_summary_part.added': 'ResponseReasoningSummaryPartAddedEvent',
  'response.reasoning_summary_part.done': 'ResponseReasoningSummaryPartDoneEvent',
  'response.reasoning_summary_text.delta': 'ResponseReasoningSummaryTextDeltaEvent',
  'response.reasoning_summary_text.done': 'ResponseReasoningSummaryTextDoneEvent',
  'response.output_text.annotation.added': 'ResponseOutputTextAnnotationAddedEvent',
  'response.completed': 'ResponseCompletedEvent',
  'response.incomplete': 'ResponseIncompleteEvent',
};

/** Faults of a whole answer by its description. */
export function assertPublishedWhole(response: unknown): void {
  assert.ok(isObject(response));
  assert.deepEqual(specValidator('openai', 'Response')(response), []);
}
