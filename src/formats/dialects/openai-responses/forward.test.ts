import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { scanJson } from '../../../kernel/json.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { openAiResponses } from './index.ts';

const plain: ForwardTarget = {
  model: 'gpt-x',
  maxOutputTokens: null,
  body: {},
  streamUsage: 'ask',
  omit: [],
  rename: {},
};

function forwarded(text: string, target: Partial<ForwardTarget> = {}): { text: string; lost: string[] } {
  const raw = Buffer.from(text);
  const read = openAiResponses.readRequest(raw, JSON.parse(text) as JsonObject, scanJson(raw, 64));
  assert.ok(!isFailure(read), JSON.stringify(read));
  const { bytes, losses } = read.forward({ ...plain, ...target });
  return { text: bytes.toString(), lost: losses.map((loss) => loss.field) };
}

test('the bytes stay the caller’s, but for the model', () => {
  const text =
    '{ "model":"alias","input" : [ {"role":"user","content":"h\\u00e9"} ], "temperature":1e0, "z":{"a": 1.0} }';
  assert.deepEqual(forwarded(text), { text: text.replace('"alias"', '"gpt-x"'), lost: [] });
});

test('nothing is asked for that the caller did not: this format tells its usage always', () => {
  assert.ok(!forwarded('{"model":"a","input":"x","stream":true}').text.includes('stream_options'));
});

test('a limit above the target’s is clamped where it stands', () => {
  const { text, lost } = forwarded('{"input":"x","max_output_tokens":90000, "model":"a"}', { maxOutputTokens: 8_000 });
  assert.equal(text, '{"input":"x","max_output_tokens":8000, "model":"gpt-x"}');
  assert.deepEqual(lost, ['max_output_tokens']);
});

test('what the provider refuses goes and is listed, unless the operator set it', () => {
  const body = '{"model":"a","input":"x","temperature":0.5,"top_p":0.5}';
  const { text, lost } = forwarded(body, { omit: ['temperature', 'top_p'], body: { top_p: 1 } });
  assert.deepEqual(JSON.parse(text), { model: 'gpt-x', input: 'x', top_p: 1 });
  assert.deepEqual(lost, ['temperature']);
});

test('S1 fields that would steer an upstream never leave', () => {
  const { text } = forwarded('{"model":"a","input":"x","api_base":"http://evil","models":["b"]}');
  assert.deepEqual(JSON.parse(text), { model: 'gpt-x', input: 'x' });
});

test('thoughts of other vendors and of our own making are left out; the provider’s own stay', () => {
  const input = [
    { type: 'reasoning', id: 'rs_cv_1_0', summary: [] },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'culvert.s.anthropic-messages.x' },
    { type: 'item_reference', id: 'rs_cv_1_1' },
    { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAAA' },
  ];
  const { text, lost } = forwarded(JSON.stringify({ model: 'a', input }));
  assert.deepEqual((JSON.parse(text) as JsonObject).input, [input[3]]);
  assert.deepEqual(lost, ['input.reasoning']);
});
