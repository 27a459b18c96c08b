import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { checkRequest } from './request-fields.ts';

const hello: JsonObject = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const lookup = { type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } };
const user = (content: JsonValue): JsonObject => ({ messages: [{ role: 'user', content }] });
const assistant = (message: JsonObject): JsonObject => ({ messages: [{ role: 'assistant', ...message }] });

function refusal(fields: JsonObject): { param: string | null; message: string } | null {
  const checked = checkRequest({ ...hello, ...fields });
  const failure = isFailure(checked) ? checked : checked.vendors;
  if (failure === null) return null;
  assert.equal(failure.kind, 'invalid-request');
  return failure.kind === 'invalid-request' ? failure : null;
}

const wrong: [param: string, fields: JsonObject][] = [
  ['model', { model: 1 }],
  ['model', { model: '' }],
  ['model', { model: null }],
  ['messages', { messages: 'hi' }],
  ['messages', { messages: [] }],
  ['messages', { messages: null }],
  ['messages[0]', { messages: ['hi'] }],
  ['messages[0].role', { messages: [{ content: 'x' }] }],
  ['messages[0].role', { messages: [{ role: 'robot', content: 'x' }] }],
  [
    'messages[1].role',
    {
      messages: [
        { role: 'user', content: 'x' },
        { role: 7, content: 'x' },
      ],
    },
  ],
  ['messages[0].content', user(5)],
  ['messages[0].content', user(null)],
  ['messages[0].content', user([])],
  ['messages[0].content', { messages: [{ role: 'user' }] }],
  ['messages[0].content[0]', user(['x'])],
  ['messages[0].content[0].type', user([{ text: 'x' }])],
  ['messages[0].content[0].type', user([{ type: 'video_url' }])],
  ['messages[0].content[1].text', user([{ type: 'text', text: 'x' }, { type: 'text' }])],
  ['messages[0].content[0].image_url', user([{ type: 'image_url' }])],
  ['messages[0].content[0].image_url', user([{ type: 'image_url', image_url: 'http://x.example/a.png' }])],
  ['messages[0].content[0].image_url.url', user([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }])],
  ['messages[0].content[0].image_url.url', user([{ type: 'image_url', image_url: { url: 'http://x.example/a.png' } }])],
  ['messages[0].content[0].image_url.url', user([{ type: 'image_url', image_url: { url: 'data:image/png,abc' } }])],
  ['messages[0].content[0].image_url.url', user([{ type: 'image_url', image_url: { url: 'https://' } }])],
  [
    'messages[0].content[0].image_url.detail',
    user([{ type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'huge' } }]),
  ],
  [
    'messages[0].content[0].input_audio.format',
    user([{ type: 'input_audio', input_audio: { data: 'AA', format: 'ogg' } }]),
  ],
  ['messages[0].content[0].input_audio.data', user([{ type: 'input_audio', input_audio: { format: 'wav' } }])],
  ['messages[0].content[0].file.file_data', user([{ type: 'file', file: {} }])],
  ['messages[0].content[0].type', { messages: [{ role: 'system', content: [{ type: 'image_url' }] }] }],
  ['messages[0].name', { messages: [{ role: 'user', content: 'x', name: 5 }] }],
  ['messages[0].content', assistant({ content: 5 })],
  ['messages[0].tool_calls', assistant({ content: null, tool_calls: {} })],
  [
    'messages[0].tool_calls[0].id',
    assistant({ tool_calls: [{ type: 'function', function: { name: 'f', arguments: '' } }] }),
  ],
  ['messages[0].tool_calls[0].type', assistant({ tool_calls: [{ id: 'a', type: 'magic' }] })],
  ['messages[0].tool_calls[0].function', assistant({ tool_calls: [{ id: 'a', type: 'function' }] })],
  [
    'messages[0].tool_calls[0].function.arguments',
    assistant({ tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: {} } }] }),
  ],
  ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
  ['messages[0].content', { messages: [{ role: 'tool', tool_call_id: 'a' }] }],
  ['messages[0].name', { messages: [{ role: 'function', content: 'x' }] }],
  ['temperature', { temperature: 2.01 }],
  ['temperature', { temperature: -0.1 }],
  ['temperature', { temperature: '1' }],
  ['temperature', { temperature: Number.POSITIVE_INFINITY }],
  ['top_p', { top_p: 1.5 }],
  ['frequency_penalty', { frequency_penalty: -2.5 }],
  ['presence_penalty', { presence_penalty: 3 }],
  ['n', { n: 0 }],
  ['n', { n: 129 }],
  ['n', { n: 1.5 }],
  ['max_tokens', { max_tokens: 0 }],
  ['max_tokens', { max_tokens: 1.5 }],
  ['max_completion_tokens', { max_completion_tokens: '5' }],
  ['max_tokens', { max_tokens: 5, max_completion_tokens: 6 }],
  ['stop', { stop: 5 }],
  ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }],
  ['stop[1]', { stop: ['a', 2] }],
  ['stream', { stream: 'yes' }],
  ['stream_options', { stream: true, stream_options: true }],
  ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 1 } }],
  ['stream_options', { stream_options: { include_usage: true } }],
  ['seed', { seed: 0.5 }],
  ['logprobs', { logprobs: 1 }],
  ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
  ['top_logprobs', { top_logprobs: 2 }],
  ['top_logprobs', { logprobs: false, top_logprobs: 2 }],
  ['logit_bias', { logit_bias: [] }],
  ['logit_bias.50256', { logit_bias: { 50256: 101 } }],
  ['tools', { tools: {} }],
  ['tools', { tools: Array.from({ length: 1_025 }, () => lookup) }],
  ['tools[0].type', { tools: [{ function: { name: 'x' } }] }],
  ['tools[0].type', { tools: [{ type: 'banana' }] }],
  ['tools[0].function', { tools: [{ type: 'function' }] }],
  ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'has space' } }] }],
  ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'x'.repeat(65) } }] }],
  [
    'tools[1].function.parameters',
    { tools: [lookup, { type: 'function', function: { name: 'x', parameters: 'none' } }] },
  ],
  ['tool_choice', { tools: [lookup], tool_choice: 'sometimes' }],
  ['tool_choice.type', { tools: [lookup], tool_choice: { function: { name: 'lookup' } } }],
  ['tool_choice.function.name', { tools: [lookup], tool_choice: { type: 'function', function: { name: 'other' } } }],
  ['tools', { tool_choice: 'required' }],
  ['parallel_tool_calls', { tools: [lookup], parallel_tool_calls: 'no' }],
  ['functions[0].name', { functions: [{}] }],
  ['function_call', { function_call: 'all' }],
  ['response_format', { response_format: 'json' }],
  ['response_format.type', { response_format: { type: 'xml' } }],
  ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
  ['response_format.json_schema.name', { response_format: { type: 'json_schema', json_schema: { schema: {} } } }],
  [
    'response_format.json_schema.strict',
    { response_format: { type: 'json_schema', json_schema: { name: 'a', strict: 1 } } },
  ],
  ['reasoning_effort', { reasoning_effort: 'extreme' }],
  ['verbosity', { verbosity: 'chatty' }],
  ['user', { user: 'x'.repeat(257) }],
  ['metadata', { metadata: 'a' }],
  ['store', { store: 'yes' }],
  ['modalities', { modalities: 'text' }],
  ['audio.voice', { audio: { format: 'wav' } }],
  ['prediction.type', { prediction: { content: 'x' } }],
  ['web_search_options', { web_search_options: true }],
  ['models', { models: 'm' }],
  ['models', { models: Array.from({ length: 17 }, () => 'm') }],
  ['models[0]', { models: [5] }],
];

for (const [param, fields] of wrong) {
  test(`refused, naming ${param}: ${JSON.stringify(fields).slice(0, 90)}`, () => {
    const failure = refusal(fields);
    assert.equal(failure?.param, param);
    assert.match(failure?.message ?? '', /^(Invalid|Missing) '.+': .*send .+\.$/);
    assert.ok(failure?.message.includes(`'${param}'`));
  });
}

const right: [what: string, fields: JsonObject][] = [
  ['every bound', { temperature: 2, top_p: 0, frequency_penalty: -2, presence_penalty: 2, n: 128, seed: -5 }],
  [
    'null for every optional parameter',
    { temperature: null, stop: null, tools: null, n: null, user: null, stream: null },
  ],
  ['both limits when they are the same', { max_tokens: 5, max_completion_tokens: 5 }],
  ['fields that nobody knows', { min_p: 0.1, __proto: 1, provider: { order: ['a'] } }],
  ['a limit beyond any model', { max_tokens: 128_000 }],
  ['four stop strings', { stop: ['a', 'b', 'c', 'd'] }],
  ['a safety identifier as long as a SHA-512', { safety_identifier: 'a'.repeat(128) }],
  ['usage in a stream', { stream: true, stream_options: { include_usage: true } }],
  ['a forced tool', { tools: [lookup], tool_choice: { type: 'function', function: { name: 'lookup' } } }],
  ['a custom tool', { tools: [{ type: 'custom', custom: { name: 'patch' } }], tool_choice: 'required' }],
  ['alternatives for the model', { models: ['a', 'b'] }],
  ['pictures', user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } }])],
  ['a picture by HTTPS in any case', user([{ type: 'image_url', image_url: { url: 'HTTPS://x.example/a.png' } }])],
  ['a file', user([{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }])],
  [
    'a tool that answers with parts',
    { messages: [{ role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x' }] }] },
  ],
  [
    'reasoning sent back beside calls',
    assistant({
      content: '',
      reasoning_content: 'hm',
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: '' } }],
    }),
  ],
];

for (const [what, fields] of right) {
  test(`accepted: ${what}`, () => assert.equal(refusal(fields), null));
}

test('what is missing is said to be missing', () => {
  const noModel = checkRequest({ messages: [] });
  assert.deepEqual(isFailure(noModel) ? noModel : null, {
    kind: 'invalid-request',
    param: 'model',
    message: "Missing 'model': send the name of a model (GET /v1/models lists them).",
  });
});

test('the message says what was got, briefly and without raw control characters', () => {
  assert.equal(refusal({ temperature: 3 })?.message, "Invalid 'temperature': got 3; send a number from 0 to 2.");
  assert.equal(
    refusal({ stream: 'a\r\nb' })?.message,
    `Invalid 'stream': got the string "a\\r\\nb"; send true or false.`,
  );
  assert.ok(refusal({ stream: 'x'.repeat(100_000) })!.message.length < 200);
});

test('the checked request is the body itself, unknown fields and all', () => {
  const body = { ...hello, min_p: 0.1 };
  const checked = checkRequest(body);
  assert.equal(!isFailure(checked) && checked.body, body);
});
