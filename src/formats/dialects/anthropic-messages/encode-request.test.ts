import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  call,
  encode,
  losses,
  older,
  refusal,
  result,
  say,
  target,
  text,
  tools,
} from '../../../../test/fixtures/encode-messages.ts';
import type { NeutralPart, NeutralRequest, NeutralTool } from '../../neutral/request.ts';

test('the least request', () => {
  const { body, losses: lost } = encode({});
  assert.deepEqual(body, {
    model: 'claude-sonnet-4-0',
    max_tokens: 4096,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    stream: true,
  });
  assert.deepEqual(lost, []);
});

test('what would change the result is refused by name', () => {
  assert.equal(refusal({ n: 2 }), 'n');
  assert.equal(refusal({ logprobs: true }), 'logprobs');
  assert.equal(
    refusal({ messages: [say('user', 'hear', { type: 'audio', format: 'wav', base64: '' })] }),
    'messages[0].content[1]',
  );
  const file: NeutralPart = { type: 'document', source: { kind: 'file-id', fileId: 'file-abc' } };
  assert.equal(refusal({ messages: [say('user', file)] }), 'messages[0].content[0]');
  const word: NeutralPart = {
    type: 'document',
    source: { kind: 'base64', mediaType: 'application/msword', base64: '' },
  };
  assert.equal(refusal({ messages: [say('user', word)] }), 'messages[0].content[0]');
  assert.equal(refusal({ extensions: { 'openai-chat': { modalities: ['text', 'audio'] } } }), 'modalities');
  assert.equal(refusal({ extensions: { 'openai-chat': { web_search_options: {} } } }), 'web_search_options');
  assert.equal(refusal({ tools, toolChoice: { type: 'required' } }, target('claude-sonnet-5-5')), 'tool_choice');
});

test('hints and what nobody knows are left out and listed', () => {
  const encoded = encode({
    seed: 1,
    frequencyPenalty: 0.5,
    presencePenalty: 0.5,
    logitBias: { 1: 2 },
    hints: { store: true, service_tier: 'flex' },
    extensions: { 'openai-chat': { verbosity: 'low' } },
  });
  assert.deepEqual(Object.keys(encoded.body), ['model', 'max_tokens', 'messages', 'stream']);
  assert.deepEqual(losses(encoded), [
    'seed:unsupported',
    'frequency_penalty:unsupported',
    'presence_penalty:unsupported',
    'logit_bias:unsupported',
    'store:unsupported',
    'service_tier:unsupported',
    'verbosity:unknown',
  ]);
});

test("this dialect's own extensions go back into the body, beneath what we say", () => {
  const own = { context_management: { edits: [] }, model: 'other', output_config: { effort: 'low' } };
  const { body } = encode(
    {
      extensions: { 'anthropic-messages': own },
      responseFormat: { type: 'json-schema', name: 'x', schema: { type: 'object' } },
    },
    target('claude-sonnet-4-5'),
  );
  assert.equal(body.model, 'claude-sonnet-4-5');
  assert.deepEqual(body.context_management, { edits: [] });
  assert.equal((body.output_config as { effort: string }).effort, 'low');
});

test('max_tokens: the caller’s, at most the model’s, else the model’s, else 4,096', () => {
  assert.equal(encode({ maxOutputTokens: 10 }).body.max_tokens, 10);
  assert.equal(encode({}, target('claude-x', 64_000)).body.max_tokens, 64_000);
  const clamped = encode({ maxOutputTokens: 128_000 }, target('claude-x', 8_192));
  assert.equal(clamped.body.max_tokens, 8_192);
  assert.deepEqual(losses(clamped), ['max_tokens:clamped']);
});

test('sampling, by what the model takes', () => {
  const of = (model: string, request: Partial<NeutralRequest>) => {
    const encoded = encode(request, target(model));
    const { temperature, top_p, top_k } = encoded.body;
    return [temperature, top_p, top_k, ...losses(encoded)];
  };
  const all = { temperature: 1.7, topP: 0.5, topK: 5 };
  assert.deepEqual(of('claude-sonnet-4-0', all), [1, 0.5, 5, 'temperature:clamped']);
  assert.deepEqual(of('claude-sonnet-4-5', all), [1, undefined, 5, 'temperature:clamped', 'top_p:unsupported']);
  assert.deepEqual(of('claude-sonnet-4-5', { topP: 0.5 }), [undefined, 0.5, undefined]);
  assert.deepEqual(of('claude-opus-5', all), [
    undefined,
    undefined,
    undefined,
    'temperature:unsupported',
    'top_p:unsupported',
    'top_k:unsupported',
  ]);
  // The default said aloud loses nothing by being left out.
  assert.deepEqual(of('claude-opus-5', { temperature: 1, topP: 1 }), [undefined, undefined, undefined]);
  assert.deepEqual(of('claude-sonnet-4-0', { temperature: 0 }), [0, undefined, undefined]);
});

test('stop sequences without a visible character are left out', () => {
  const encoded = encode({ stop: ['END', '\n\n', ' '] });
  assert.deepEqual(encoded.body.stop_sequences, ['END']);
  assert.deepEqual(losses(encoded), ['stop:narrowed']);
  assert.equal(encode({ stop: ['\n'] }).body.stop_sequences, undefined);
});

test('the user goes along unless it looks like an address or a number to call', () => {
  assert.deepEqual(encode({ user: 'u-81f2' }).body.metadata, { user_id: 'u-81f2' });
  for (const user of ['ann@a.example', '+49 170 1234567']) {
    const encoded = encode({ user });
    assert.equal(encoded.body.metadata, undefined);
    assert.deepEqual(losses(encoded), ['user:unsupported']);
  }
});

test('fields that the target refuses are left out, named by the caller’s word', () => {
  const encoded = encode({ stop: ['x'] }, { ...older, omit: ['stop_sequences', 'top_k'] });
  assert.equal(encoded.body.stop_sequences, undefined);
  assert.deepEqual(losses(encoded), ['stop:unsupported']);
});

test('the caller’s objects are not changed', () => {
  const schema = Object.freeze({
    type: 'object',
    properties: Object.freeze({ a: Object.freeze({ type: 'string', minLength: 1 }) }),
  });
  encode({ responseFormat: { type: 'json-schema', name: 'x', schema } }, target('claude-sonnet-4-5'));
  encode({ tools: [Object.freeze({ name: 'f', parameters: Object.freeze({}) })] });
});

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
  assert.equal(refusal(json, target('claude-sonnet-5-5')), 'response_format');
  const list = { responseFormat: { type: 'json-schema' as const, name: 'l', schema: { type: 'array' } } };
  assert.equal(refusal(list), 'response_format.json_schema.schema');
});

test('beside tools the answer is one more of them, unless the caller demands or forbids a call', () => {
  const of = (request: Partial<NeutralRequest>) => {
    const encoded = encode({ responseFormat: { type: 'json-object' }, tools, ...request });
    const names = (encoded.body.tools as { name: string }[]).map(({ name }) => name);
    return [names, encoded.body.tool_choice];
  };
  assert.deepEqual(of({}), [['f', 'json_response'], { type: 'any' }]);
  assert.deepEqual(of({ parallelToolCalls: false }), [
    ['f', 'json_response'],
    { type: 'any', disable_parallel_tool_use: true },
  ]);
  assert.deepEqual(of({ toolChoice: { type: 'required' } }), [['f'], { type: 'any' }]);
  const forced = { type: 'tool', name: 'json_response', disable_parallel_tool_use: true };
  assert.deepEqual(of({ toolChoice: { type: 'none' } }), [['f', 'json_response'], forced]);
  assert.deepEqual(of({ tools: [{ name: 'json_response' }] }), [['json_response', 'json_response_'], { type: 'any' }]);
});

test('strict tools are strict where the model has that, with a schema that it takes, and within its limits', () => {
  const strict = (parameters: NeutralTool['parameters'], name = 'f') => ({
    name,
    strict: true,
    ...(parameters && { parameters }),
  });
  const of = (...asked: NeutralTool[]) => {
    const encoded = encode({ tools: asked }, target('claude-sonnet-4-5'));
    const sent = encoded.body.tools as { strict?: true; input_schema: unknown }[];
    return { sent, strict: sent.map((tool) => tool.strict === true), losses: losses(encoded) };
  };
  const bounded = of(strict({ type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] }));
  assert.deepEqual(bounded.sent[0]!.input_schema, {
    type: 'object',
    properties: { n: { type: 'integer', description: '(minimum: 1)' } },
    required: ['n'],
    additionalProperties: false,
  });
  assert.deepEqual([bounded.strict, bounded.losses], [[true], ['tools[0].function.parameters:narrowed']]);
  const recursive = of(strict({ type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }));
  assert.deepEqual([recursive.strict, recursive.losses], [[false], ['tools[0].function.strict:unsupported']]);
  const optional = Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`p${i}`, { type: 'string' }]));
  const many = of(
    strict({ type: 'object', properties: optional }),
    strict({ type: 'object', properties: optional }),
    strict(undefined),
  );
  assert.deepEqual(many.strict, [true, false, true]);
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
  assert.deepEqual(of('claude-sonnet-4-5', 'max', 60_000)[0], budget(32_768));
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

test('thoughts are not asked for where Anthropic refuses them: forced calls, a tool loop without thoughts', () => {
  const reasoning = { effort: 'high' };
  const forced = encode({ reasoning, tools, toolChoice: { type: 'required' } });
  assert.equal(forced.body.thinking, undefined);
  const must = { reasoning, tools, toolChoice: { type: 'required' } } as const;
  const json = { reasoning, tools, responseFormat: { type: 'json-object' } } as const;
  for (const request of [must, json]) {
    const older = encode(request, target('claude-opus-4-7'));
    assert.deepEqual([older.body.thinking, older.body.output_config], [undefined, undefined]);
    const newer = encode(request, target('claude-sonnet-5'));
    assert.deepEqual([newer.body.thinking, newer.body.output_config], [{ type: 'disabled' }, undefined]);
    assert.deepEqual(losses(newer), ['reasoning_effort:unsupported']);
  }
  const loop = [say('user', 'a'), say('assistant', call('a', '{}')), say('tool', result('a', text('1')))];
  assert.deepEqual(losses(encode({ reasoning, tools, messages: loop })), ['reasoning_effort:unsupported']);
  const signed: NeutralPart = { type: 'reasoning', text: 'hm', signature: 's', vendor: 'anthropic-messages' };
  loop[1] = say('assistant', signed, call('a', '{}'));
  assert.deepEqual(encode({ reasoning, tools, messages: loop }).body.thinking, {
    type: 'enabled',
    budget_tokens: 3_072,
  });
});
