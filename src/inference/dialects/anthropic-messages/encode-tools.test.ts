import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeutralPart, NeutralRequest } from '../../neutral/request.ts';
import { call, encode, losses, refusal, result, say, target, text, tools } from './encode.fixture.ts';

test('calls in the history without tools: the names are declared and forbidden', () => {
  const { body } = encode({
    messages: [say('user', 'a'), say('assistant', call('a', '{}')), say('tool', result('a'))],
  });
  assert.deepEqual(body.tools, [{ name: 'f', input_schema: { type: 'object', properties: {} } }]);
  assert.deepEqual(body.tool_choice, { type: 'none' });
});

test('tools whole, without parameters, without a type', () => {
  const anyOf = [{ type: 'object' }, { type: 'object' }];
  const { body } = encode({ tools: [...tools, { name: 'g' }, { name: 'h', description: 'H', parameters: { anyOf } }] });
  assert.deepEqual(body.tools, [
    { name: 'f', input_schema: tools[0]!.parameters },
    { name: 'g', input_schema: { type: 'object', properties: {} } },
    { name: 'h', description: 'H', input_schema: { type: 'object', anyOf } },
  ]);
  assert.equal(body.tool_choice, undefined);
});

test('tool choice and parallel calls', () => {
  const of = (request: Partial<NeutralRequest>) => encode({ tools, ...request }).body.tool_choice;
  assert.deepEqual(of({ toolChoice: { type: 'auto' } }), { type: 'auto' });
  assert.deepEqual(of({ toolChoice: { type: 'none' }, parallelToolCalls: false }), { type: 'none' });
  assert.deepEqual(of({ toolChoice: { type: 'required' } }), { type: 'any' });
  assert.deepEqual(of({ toolChoice: { type: 'tool', name: 'f' } }), { type: 'tool', name: 'f' });
  assert.deepEqual(of({ parallelToolCalls: false }), { type: 'auto', disable_parallel_tool_use: true });
  assert.deepEqual(of({ parallelToolCalls: true }), undefined);
});

test('a schema natively where the model has it, else as one forced call', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] };
  const responseFormat = { type: 'json-schema' as const, name: 'count', schema };
  const native = encode({ responseFormat, tools }, target('claude-sonnet-4-5'));
  assert.deepEqual(native.body.output_config, {
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { n: { type: 'integer', description: '(minimum: 1)' } },
        required: ['n'],
        additionalProperties: false,
      },
    },
  });
  assert.deepEqual(losses(native), ['response_format.json_schema.schema:narrowed']);
  assert.equal(native.decode, undefined);

  const forced = encode({ responseFormat });
  assert.deepEqual(forced.body.tools, [
    { name: 'json_response', description: 'Gives the answer, as count.', input_schema: schema },
  ]);
  assert.deepEqual(forced.body.tool_choice, { type: 'tool', name: 'json_response', disable_parallel_tool_use: true });
  assert.deepEqual(forced.decode, { unwrapTool: 'json_response' });
  assert.deepEqual(forced.losses, []);
});

test('a response format that cannot be had is refused by name', () => {
  const json = { responseFormat: { type: 'json-object' as const } };
  assert.deepEqual(encode(json).decode, { unwrapTool: 'json_response' });
  assert.equal(refusal({ ...json, tools }), 'response_format');
  assert.equal(refusal(json, target('claude-sonnet-5-5')), 'response_format');
  const list = { responseFormat: { type: 'json-schema' as const, name: 'l', schema: { type: 'array' } } };
  assert.equal(refusal(list), 'response_format.json_schema.schema');
});

test('a recursive schema, which the native form refuses, goes as a forced call', () => {
  const schema = { type: 'object', properties: { next: { $ref: '#' } } };
  const encoded = encode({ responseFormat: { type: 'json-schema', name: 'l', schema } }, target('claude-sonnet-4-5'));
  assert.deepEqual(encoded.decode, { unwrapTool: 'json_response' });
});

test('reasoning effort as a budget below max_tokens, as a word, or not at all', () => {
  const of = (model: string, effort: string, maxOutputTokens?: number) => {
    const request = {
      reasoning: { effort },
      temperature: 0.3,
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    };
    const { body, ...rest } = encode(request, target(model));
    return [body.thinking, body.output_config, body.temperature, ...losses({ body, ...rest })];
  };
  const budget = (budget_tokens: number) => ({ type: 'enabled', budget_tokens });
  assert.deepEqual(of('claude-sonnet-4-5', 'low', 32_000), [
    budget(2_048),
    undefined,
    undefined,
    'temperature:unsupported',
  ]);
  assert.deepEqual(of('claude-sonnet-4-5', 'high'), [budget(3_072), undefined, undefined, 'temperature:unsupported']);
  assert.deepEqual(of('claude-sonnet-4-5', 'high', 1_000), [undefined, undefined, 0.3, 'reasoning_effort:unsupported']);
  assert.deepEqual(of('claude-sonnet-4-5', 'none'), [undefined, undefined, 0.3]);
  assert.deepEqual(of('claude-3-5-haiku-20241022', 'high'), [
    undefined,
    undefined,
    0.3,
    'reasoning_effort:unsupported',
  ]);
  const adaptive = { type: 'adaptive', display: 'summarized' };
  assert.deepEqual(of('claude-opus-5', 'xhigh'), [adaptive, { effort: 'xhigh' }, undefined, 'temperature:unsupported']);
  assert.deepEqual(of('claude-sonnet-5-5', 'none'), [
    { type: 'between_tools' },
    undefined,
    undefined,
    'temperature:unsupported',
  ]);
});

test('a budget is not asked for where Anthropic refuses it: forced calls, a tool loop without thoughts', () => {
  const reasoning = { effort: 'high' };
  const forced = encode({ reasoning, tools, toolChoice: { type: 'required' } });
  assert.equal(forced.body.thinking, undefined);
  const loop = [say('user', 'a'), say('assistant', call('a', '{}')), say('tool', result('a', text('1')))];
  assert.deepEqual(losses(encode({ reasoning, tools, messages: loop })), ['reasoning_effort:unsupported']);
  const signed: NeutralPart = { type: 'reasoning', text: 'hm', signature: 's', vendor: 'anthropic-messages' };
  loop[1] = say('assistant', signed, call('a', '{}'));
  assert.deepEqual(encode({ reasoning, tools, messages: loop }).body.thinking, {
    type: 'enabled',
    budget_tokens: 3_072,
  });
});
