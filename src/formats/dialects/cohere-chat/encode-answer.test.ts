import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import type { AnswerHead } from '../dialect.ts';
import { decodeWhole } from './decode-answer.ts';
import { encodeStream, fold } from './encode-answer.ts';

const head: AnswerHead = { fallbackId: 'x', model: 'm', createdS: 1, includeUsage: true };
const answer: NeutralEvent[] = [
  { type: 'start', id: 'a', model: 'm', createdS: 1 },
  { type: 'tool-call-start', choice: 0, call: 0, id: 'one', name: 'now' },
  { type: 'tool-call-start', choice: 0, call: 1, id: 'two', name: 'weather' },
  { type: 'tool-call-delta', choice: 0, call: 1, argumentsJson: '{"city":"Bonn"}' },
  { type: 'tool-call-start', choice: 0, call: 2, id: 'three', name: 'here' },
  { type: 'finish', choice: 0, reason: 'tool-calls', stopSequence: null },
  { type: 'end' },
];
const expected = ['{}', '{"city":"Bonn"}', '{}'];

test('a call that a model gave no arguments has an empty object, which clients can parse', () => {
  const whole = fold(head);
  for (const event of answer) whole.add(event);
  const { message } = whole.result() as { message: { tool_calls: { function: JsonObject }[] } };
  assert.deepEqual(
    message.tool_calls.map((call) => call.function.arguments),
    expected,
  );
  const stream = encodeStream(head);
  const pieces = ['', '', ''];
  for (const line of answer
    .map((event) => stream.step(event))
    .join('')
    .split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const { index, delta } = JSON.parse(line.slice(6)) as { index: number; delta?: { message?: JsonObject } };
    const calls = delta?.message?.tool_calls;
    if (isObject(calls) && isObject(calls.function)) pieces[index] += String(calls.function.arguments);
  }
  assert.deepEqual(pieces, expected);
});

test('a citation of what a tool answered is shown as one, when Cohere answers a caller of Cohere', () => {
  const sources = ['t1:0', 't2:0'].map((id) => ({ type: 'tool', id, tool_output: { degrees: 3 } }));
  const citation = { start: 2, end: 5, text: 'and', content_index: 0, type: 'TEXT_CONTENT' };
  const message = {
    role: 'assistant',
    content: [{ type: 'text', text: '😀 and' }],
    citations: [{ ...citation, sources }],
  };
  const whole = fold(head);
  for (const event of decodeWhole({ id: 'a', finish_reason: 'COMPLETE', message })) whole.add(event);
  const shown = (whole.result() as { message: JsonObject }).message.citations;
  assert.deepEqual(
    shown,
    sources.map((source) => ({ ...citation, sources: [source] })),
  );
});
