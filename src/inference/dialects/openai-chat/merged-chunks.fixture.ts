import assert from 'node:assert/strict';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/**
 * The whole answer that a client puts together from chunks, written for tests alone and without a look at `fold`.
 * Checks on the way what clients need: role first, one id, a finish reason, nothing after it.
 */
export function mergedChunks(chunks: readonly JsonObject[]): JsonObject {
  const choices = new Map<number, JsonObject>();
  const first = chunks[0]!;
  let usage: JsonValue = null;
  let beside: JsonObject = {};
  for (const chunk of chunks) {
    for (const name of ['id', 'created', 'model']) assert.equal(chunk[name], first[name], `${name} stays the same`);
    if (isObject(chunk.usage)) {
      assert.deepEqual(chunk.choices, [], 'usage stands alone');
      usage = chunk.usage;
    }
    if (chunk.prompt_filter_results !== undefined) beside = { prompt_filter_results: chunk.prompt_filter_results };
    for (const piece of chunk.choices as JsonObject[]) addPiece(choices, piece);
  }
  const list = [...choices.values()].sort((a, b) => (a.index as number) - (b.index as number));
  for (const choice of list) {
    assert.notEqual(choice.finish_reason, null, 'every choice has its finish reason');
    const message = choice.message as JsonObject;
    if (message.content === '' && (message.tool_calls ?? message.refusal ?? message.audio ?? null) !== null) {
      message.content = null;
    }
    message.refusal ??= null;
  }
  const { id, created, model } = first;
  return { id: id!, object: 'chat.completion', created: created!, model: model!, choices: list, usage, ...beside };
}

function addPiece(choices: Map<number, JsonObject>, piece: JsonObject): void {
  const index = piece.index as number;
  const delta = piece.delta as JsonObject;
  let choice = choices.get(index);
  if (choice === undefined) {
    assert.equal(delta.role, 'assistant', 'the first chunk of a choice has its role');
    choice = { index, message: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null };
    choices.set(index, choice);
  }
  assert.equal(choice.finish_reason, null, 'nothing follows a finish reason');
  const message = choice.message as JsonObject;
  for (const name of ['content', 'reasoning_content', 'refusal']) {
    if (typeof delta[name] === 'string') message[name] = ((message[name] as string | null) ?? '') + delta[name];
  }
  for (const call of (delta.tool_calls ?? []) as JsonObject[]) addCall(message, call);
  if (Array.isArray(delta.annotations))
    message.annotations = [...((message.annotations ?? []) as JsonValue[]), ...delta.annotations];
  if (isObject(delta.audio)) {
    const audio = (message.audio ?? {}) as JsonObject;
    for (const [name, value] of Object.entries(delta.audio)) {
      const join = (name === 'data' || name === 'transcript') && typeof audio[name] === 'string';
      audio[name] = join ? `${audio[name]}${value}` : value;
    }
    message.audio = audio;
  }
  if (isObject(piece.logprobs)) {
    const before = (choice.logprobs ?? { content: null, refusal: null }) as JsonObject;
    for (const name of ['content', 'refusal']) {
      const more = piece.logprobs[name];
      if (Array.isArray(more)) before[name] = [...((before[name] ?? []) as JsonValue[]), ...more];
    }
    choice.logprobs = before;
  }
  if (piece.content_filter_results !== undefined) choice.content_filter_results = piece.content_filter_results;
  if (piece.finish_reason !== null) choice.finish_reason = piece.finish_reason!;
}

function addCall(message: JsonObject, piece: JsonObject): void {
  const calls = (message.tool_calls ?? []) as JsonObject[];
  message.tool_calls = calls;
  const at = piece.index as number;
  const called = piece.function as JsonObject;
  if (calls[at] === undefined) {
    assert.equal(at, calls.length, 'call indexes are dense');
    calls[at] = { id: piece.id!, type: 'function', function: { name: called.name!, arguments: '' } };
  }
  const whole = calls[at].function as JsonObject;
  whole.arguments = `${whole.arguments}${called.arguments ?? ''}`;
}
