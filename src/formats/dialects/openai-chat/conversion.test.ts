import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { call, say } from '../../../../test/fixtures/encode-messages.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralMessage, NeutralPart, NeutralRequest } from '../../neutral/request.ts';
import { encodeRequest } from './encode-request.ts';
import { openAiChat } from './index.ts';

const target = { model: 'up-1', maxOutputTokens: null, stream: false, omit: [] };

function neutral(body: JsonObject): NeutralRequest {
  const decoded = decodeRequest(openAiChat, { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body });
  if (isFailure(decoded)) assert.fail(JSON.stringify(decoded));
  return decoded;
}

function wire(request: NeutralRequest, over: Partial<typeof target> & { omit?: string[] } = {}) {
  const encoded = encodeRequest(request, { ...target, ...over });
  if (isFailure(encoded)) assert.fail(JSON.stringify(encoded));
  return encoded;
}

const wireCall = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });

const everything: JsonObject = {
  messages: [
    { role: 'system', content: 'be kind' },
    {
      role: 'developer',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    {
      role: 'user',
      name: 'ann',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
        { type: 'input_audio', input_audio: { data: 'BBBB', format: 'wav' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'a.pdf' } },
        { type: 'file', file: { file_id: 'file-1' } },
      ],
    },
    {
      role: 'assistant',
      content: 'on it',
      reasoning_content: 'hm',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'one', arguments: '{"a":1}' } },
        { id: 'c2', type: 'function', function: { name: 'two', arguments: 'not json' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'fine' },
    {
      role: 'tool',
      tool_call_id: 'c2',
      content: [
        { type: 'text', text: 'x' },
        { type: 'text', text: 'y' },
      ],
    },
    { role: 'assistant', content: null, refusal: 'no' },
    { role: 'assistant', content: 'done' },
  ],
  max_completion_tokens: 50,
  temperature: 0,
  top_p: 0.5,
  top_k: 40,
  frequency_penalty: 0.1,
  presence_penalty: -0.1,
  stop: ['a', 'b'],
  n: 2,
  seed: 7,
  logprobs: true,
  top_logprobs: 3,
  logit_bias: { 5: 1 },
  tools: [
    {
      type: 'function',
      function: { name: 'one', description: 'd', parameters: { $ref: '#/x', anyOf: [] }, strict: true },
    },
    { type: 'function', function: { name: 'two' } },
    { type: 'custom', custom: { name: 'patch' } },
  ],
  tool_choice: { type: 'function', function: { name: 'one' } },
  parallel_tool_calls: false,
  response_format: { type: 'json_schema', json_schema: { name: 'out', schema: { type: 'object' }, strict: true } },
  reasoning_effort: 'low',
  user: 'u1',
  metadata: { a: 'b' },
  store: false,
  service_tier: 'auto',
  prompt_cache_key: 'k',
  modalities: ['text'],
  min_p: 0.2,
};

test('what came in this format and goes out in it is the same, but for the model', () => {
  const { body, losses } = wire(neutral(everything));
  assert.deepEqual(body, { ...everything, model: 'up-1' });
  assert.deepEqual(losses, []);
});

test('S1 fields that would steer an upstream, and our own, go nowhere', () => {
  const fields = [
    'api_base',
    'base_url',
    'baseURL',
    'api_key',
    'api_version',
    'custom_llm_provider',
    'extra_headers',
    'extra_body',
  ];
  const request = neutral({
    ...Object.fromEntries(fields.map((field) => [field, 'http://evil.example'])),
    models: ['b'],
  });
  assert.ok(!JSON.stringify(request).includes('evil'));
  assert.deepEqual(Object.keys(wire(request).body), ['model', 'messages']);
});

test('S21 a __proto__ member stays a plain member', () => {
  const body = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"x":1}}') as JsonObject;
  const decoded = decodeRequest(openAiChat, { ...body, model: 'm', messages: [{ role: 'user', content: 'x' }] });
  assert.ok(!isFailure(decoded));
  const out = wire(decoded).body;
  assert.equal(Object.getPrototypeOf(out), Object.prototype);
  assert.ok(JSON.stringify(out).includes('"__proto__":{"polluted":true}'));
});

test('S23 control characters do not survive in user', () => {
  assert.equal(neutral({ user: 'a\r\nx: y\u0000\u2028b' }).user, 'ax: yb');
  assert.equal(neutral({ user: '\n' }).user, undefined);
});

test('a stream is asked for with its usage', () => {
  const { body } = wire(neutral({ stream: true }), { stream: true });
  assert.equal(body.stream, true);
  assert.deepEqual(body.stream_options, { include_usage: true });
});

test('the output limit is clamped to the target and listed, never refused', () => {
  const { body, losses } = wire(neutral({ max_tokens: 128_000 }), { ...target, maxOutputTokens: 4_096 } as never);
  assert.equal(body.max_completion_tokens, 4_096);
  assert.deepEqual(losses, [{ field: 'max_tokens', why: 'clamped' }]);
});

test('fields that the target refuses are left out and listed', () => {
  const { body, losses } = wire(neutral({ seed: 1, logit_bias: { 1: 1 } }), { omit: ['seed', 'n'] } as never);
  assert.equal(body.seed, undefined);
  assert.deepEqual(body.logit_bias, { 1: 1 });
  assert.deepEqual(losses, [{ field: 'seed', why: 'unsupported' }]);
});

test('fields that only another dialect knows are dropped and listed', () => {
  const request = { ...neutral({}), extensions: { 'anthropic-messages': { context_management: {} } } };
  assert.deepEqual(wire(request).losses, [{ field: 'context_management', why: 'unknown' }]);
});

test('pictures of tool results follow behind the last of them, as the format knows only text there', () => {
  const picture = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', base64: 'AA' } } as const;
  const request: NeutralRequest = {
    ...neutral({}),
    messages: [
      say('assistant', call('a', '{}'), call('b', '{}'), call('c', '{}')),
      {
        role: 'user',
        parts: [
          { type: 'tool-result', callId: 'a', parts: [picture], isError: false },
          { type: 'tool-result', callId: 'b', parts: [{ type: 'text', text: 'boom' }], isError: true },
          { type: 'tool-result', callId: 'c', parts: [], isError: false },
          { type: 'text', text: 'go on' },
        ],
      },
    ],
  };
  assert.deepEqual((wire(request).body.messages as JsonObject[]).slice(1), [
    { role: 'tool', tool_call_id: 'a', content: '[see the next message]' },
    {
      role: 'tool',
      tool_call_id: 'b',
      content: [
        { type: 'text', text: '[the tool failed]' },
        { type: 'text', text: 'boom' },
      ],
    },
    { role: 'tool', tool_call_id: 'c', content: '' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
    { role: 'user', content: 'go on' },
  ]);
});

test('tool messages stand together behind the calls, also when the first of them holds a picture', () => {
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
  const { body } = wire(
    neutral({
      messages: [
        { role: 'assistant', tool_calls: ['a', 'b'].map(wireCall) },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'see' }, picture] },
        { role: 'tool', tool_call_id: 'b', content: 'fine' },
        { role: 'assistant', content: 'ok' },
      ],
    }),
  );
  assert.deepEqual((body.messages as JsonObject[]).slice(1), [
    { role: 'tool', tool_call_id: 'a', content: 'see' },
    { role: 'tool', tool_call_id: 'b', content: 'fine' },
    { role: 'user', content: [picture] },
    { role: 'assistant', content: 'ok' },
  ]);
});

test('a document by URL is refused with its place, since leaving it out would change the answer', () => {
  const document = { type: 'document', source: { kind: 'url', url: 'https://x.example/a.pdf' } } as const;
  const placeOf = (messages: NeutralMessage[]) => {
    const encoded = encodeRequest({ ...neutral({}), messages }, target);
    return isFailure(encoded) && encoded.kind === 'invalid-request' && encoded.param;
  };
  assert.equal(placeOf([say('user', document)]), 'messages[0].content');
  // The results that are missing are messages of ours.
  const calls = say('assistant', call('a', '{}'), call('b', '{}'));
  assert.equal(placeOf([calls, say('user', document)]), 'messages[1].content');
});

test('another vendor’s thoughts and cache marks are dropped and listed', () => {
  const { body, losses } = wire({
    ...neutral({}),
    messages: [
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'secret', signature: 's', vendor: 'anthropic' },
          { type: 'text', text: 'hi', cache: { type: 'ephemeral' } },
        ],
      },
    ],
  });
  assert.deepEqual(body.messages, [{ role: 'assistant', content: 'hi' }]);
  assert.deepEqual(losses.map((loss) => loss.field).sort(), ['cache_control', 'thinking']);
});

test('the old function form becomes tools, and call and answer still belong together', () => {
  const { body } = wire(
    neutral({
      functions: [{ name: 'now', parameters: { type: 'object' } }],
      function_call: { name: 'now' },
      messages: [
        { role: 'assistant', content: null, function_call: { name: 'now', arguments: '' } },
        { role: 'function', name: 'now', content: '12:00' },
      ],
    }),
  );
  assert.deepEqual(body.tools, [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }]);
  assert.deepEqual(body.tool_choice, { type: 'function', function: { name: 'now' } });
  assert.deepEqual(body.messages, [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_now', type: 'function', function: { name: 'now', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_now', content: '12:00' },
  ]);
});

const longId = `chatcmpl-tool-${'0123456789abcdef'.repeat(3)}`;

test('ids of calls that are longer than OpenAI takes are shortened, alike for call and result', () => {
  const twin = `${longId}x`;
  const call = (id: string): NeutralPart => ({ type: 'tool-call', id, name: 'f', argumentsJson: '{}' });
  const result = (callId: string): NeutralPart => ({ type: 'tool-result', callId, parts: [], isError: false });
  const { messages } = wire({
    ...neutral({}),
    messages: [
      { role: 'assistant', parts: [call(longId), call(twin), call('c1')] },
      { role: 'tool', parts: [result(longId), result(twin), result('c1')] },
    ],
  }).body as { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] };
  const ids = messages[0]!.tool_calls!.map(({ id }) => id);
  assert.deepEqual(
    messages.slice(1).map((message) => message.tool_call_id),
    ids,
  );
  assert.ok(ids.every((id) => id.length <= 40));
  assert.equal(new Set(ids).size, 3);
  assert.equal(ids[2], 'c1');
});

test('messages of which nothing can be said here are refused, not sent as an empty conversation', () => {
  const unknown: NeutralPart = { type: 'vendor', vendor: 'anthropic-messages', block: { type: 'weird' } };
  for (const messages of [[], [{ role: 'user', parts: [unknown] }]] as const) {
    const encoded = encodeRequest({ ...neutral({}), messages: [...messages] as NeutralMessage[] }, target);
    assert.ok(isFailure(encoded));
    assert.equal(encoded.kind, 'invalid-request');
  }
});

test('a file whose data is an address is a document by URL, as OpenRouter has it', () => {
  const file = { file_data: 'https://x.example/a.pdf', filename: 'a.pdf' };
  const { messages } = neutral({ messages: [{ role: 'user', content: [{ type: 'file', file }] }] });
  const source = { kind: 'url', url: 'https://x.example/a.pdf' };
  assert.deepEqual(messages[0]?.parts, [{ type: 'document', source, name: 'a.pdf' }]);
});
