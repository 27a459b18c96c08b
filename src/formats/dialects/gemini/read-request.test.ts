import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { readRequest } from './read-request.ts';

function nativeOnlyOf(body: JsonObject): unknown {
  const whole = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], ...body };
  const read = readRequest(Buffer.from(JSON.stringify(whole)), whole);
  assert.ok(!isFailure(read));
  const nativeOnly = read.extras?.nativeOnly;
  return nativeOnly?.kind === 'invalid-request' ? nativeOnly.param : nativeOnly;
}

test("what changes the answer and only Google gives is for Google's targets alone", () => {
  assert.equal(nativeOnlyOf({}), undefined);
  assert.equal(nativeOnlyOf({ generationConfig: { responseModalities: ['TEXT'] } }), undefined);
  assert.equal(
    nativeOnlyOf({ generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } }),
    'generationConfig.responseModalities',
  );
  assert.equal(nativeOnlyOf({ tools: [{ codeExecution: {} }] }), 'tools[0].codeExecution');
});

test('S1 fields that would steer an upstream never reach Google either', () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const body: JsonObject = { contents, api_base: 'http://evil', extra_headers: {}, labels: { a: 'b' } };
  const read = readRequest(Buffer.from(JSON.stringify(body)), body);
  assert.ok(!isFailure(read));
  const target = { model: 'g', maxOutputTokens: null, body: {}, streamUsage: 'leave', omit: [], rename: {} } as const;
  const { bytes } = read.forward(target);
  assert.deepEqual(JSON.parse(bytes.toString()), { contents, labels: { a: 'b' } });
});
