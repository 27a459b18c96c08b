import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeutralPart, NeutralRequest } from '../../neutral/request.ts';
import { encode, losses, older, refusal, say, target, tools } from './encode.fixture.ts';

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
