import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { scanJson } from '../../../kernel/json.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { prepareForTarget, readRequest } from './read-request.ts';

function read(body: JsonObject) {
  const raw = Buffer.from(JSON.stringify(body));
  const request = readRequest(raw, body, scanJson(raw, 64));
  if (isFailure(request)) assert.fail(JSON.stringify(request));
  return { ...request, bytes: raw.length };
}

const hello: JsonObject = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

test('what routing needs is read off the body', () => {
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(40_000)}` } };
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
  const { needs, bytes } = read({
    ...hello,
    messages: [{ role: 'user', content: [picture, sound] }],
    tools: [{ type: 'function', function: { name: 'f' } }],
    response_format: { type: 'json_schema', json_schema: { name: 'o' } },
    logprobs: true,
    n: 3,
    stream: true,
    max_tokens: 9,
    reasoning_effort: 'high',
  });
  const { inputTokensEstimate, ...rest } = needs;
  assert.deepEqual(rest, {
    vision: true,
    audioIn: true,
    tools: true,
    logprobs: true,
    jsonSchema: true,
    reasoning: true,
    n: 3,
    stream: true,
    maxOutputTokens: 9,
  });
  // An image's bytes are not text.
  assert.ok(bytes > 40_000 && inputTokensEstimate < 2_000, String(inputTokensEstimate));
});

test('a plain request needs nothing', () => {
  const { needs, n, seed, user, extras, stream, includeUsage } = read(hello);
  assert.deepEqual([needs.vision, needs.tools, needs.reasoning, needs.maxOutputTokens], [false, false, false, null]);
  assert.deepEqual([n, seed, user, extras, stream, includeUsage], [1, null, null, null, false, false]);
});

test('all turns of a conversation begin alike, and others do not', () => {
  const start = [
    { role: 'system', content: 'be kind' },
    { role: 'user', content: 'a question' },
  ];
  const later = [...start, { role: 'assistant', content: 'an answer' }, { role: 'user', content: 'another' }];
  const first = read({ ...hello, messages: start }).conversationStart;
  assert.equal(read({ ...hello, messages: later }).conversationStart, first);
  assert.notEqual(read(hello).conversationStart, first);
  assert.ok(
    read({ ...hello, messages: [{ role: 'user', content: 'x'.repeat(10_000) }] }).conversationStart.length <= 1_024,
  );
});

test('a refused body gives the failure', () => {
  const raw = Buffer.from('{}');
  assert.ok(isFailure(readRequest(raw, {}, scanJson(raw, 64))));
});

const plain: ForwardTarget = {
  model: 'up',
  maxOutputTokens: null,
  body: {},
  streamUsage: 'leave',
  omit: [],
  rename: {},
};

function prepare(text: string, over: Partial<ForwardTarget> = {}) {
  const raw = Buffer.from(text);
  const { bytes, losses } = prepareForTarget(raw, JSON.parse(text), scanJson(raw, 64), { ...plain, ...over });
  return { text: bytes.toString(), spliced: typeof bytes !== 'string', losses };
}

test('only the model changes in the bytes: spaces, order, number spellings stay', () => {
  const body = '{ "temperature": 1.0, "x":[1e2 ,"é\\u00e9"],\n "model" : "alias" ,"big":12345678901234567890}';
  const { text, spliced } = prepare(body);
  assert.equal(text, body.replace('"alias"', '"up"'));
  assert.equal(spliced, true);
});

test('usage is asked for: put in, or added to what the caller asked', () => {
  const ask = { streamUsage: 'ask' } as const;
  assert.equal(
    prepare('{"model":"a","stream":true}', ask).text,
    '{"stream_options":{"include_usage":true},"model":"up","stream":true}',
  );
  assert.equal(
    prepare('{"model":"a","stream":true,"stream_options":{"include_obfuscation":false}}', ask).text,
    '{"model":"up","stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true}}',
  );
  assert.equal(
    prepare('{"model":"a","stream":true,"stream_options":null}', ask).text.includes('"include_usage":true'),
    true,
  );
  assert.equal(prepare('{"model":"a","stream":false}', ask).text, '{"model":"up","stream":false}');
});

test('an output limit above the target’s is clamped in place and listed', () => {
  const { text, losses, spliced } = prepare('{"max_tokens":128000,"model":"a"}', { maxOutputTokens: 4096 });
  assert.equal(text, '{"max_tokens":4096,"model":"up"}');
  assert.deepEqual(losses, [{ field: 'max_tokens', why: 'clamped' }]);
  assert.equal(spliced, true);
});

test('S1 fields that would steer the upstream never leave, however they are spelled', () => {
  const { text } = prepare(
    '{"model":"a","api_b\\u0061se":"http://evil.example","extra_body":{"x":1},"models":["b"],"min_p":1}',
  );
  assert.deepEqual(JSON.parse(text), { model: 'up', min_p: 1 });
});

test('fields the target refuses go and are listed; null ones go unlisted; renamed ones keep their value', () => {
  const { text, losses } = prepare('{"model":"a","seed":1,"logprobs":null,"max_completion_tokens":5}', {
    omit: ['seed', 'logprobs'],
    rename: { max_completion_tokens: 'max_tokens' },
  });
  assert.deepEqual(JSON.parse(text), { model: 'up', max_tokens: 5 });
  assert.deepEqual(losses, [{ field: 'seed', why: 'unsupported' }]);
});

test('the operator’s own fields win over the caller’s', () => {
  const over = { body: { service_tier: 'flex', n: 1 }, omit: ['service_tier'] };
  assert.deepEqual(JSON.parse(prepare('{"model":"a","service_tier":"auto","n":3}', over).text), {
    model: 'up',
    service_tier: 'flex',
    n: 1,
  });
});

test('S21 a key given twice or with escapes is written anew, so that all read the same', () => {
  const escaped = prepare('{"mod\\u0065l":"a","x":1}');
  assert.deepEqual([escaped.text, escaped.spliced], ['{"model":"up","x":1}', false]);
  const twice = prepare('{"stream":true,"stream_options":{},"stream_options":{"a":1},"model":"a"}', {
    streamUsage: 'ask',
  });
  assert.equal(twice.text, '{"stream":true,"stream_options":{"a":1,"include_usage":true},"model":"up"}');
  const both = prepare('{"model":"a","stream":true,"stream_options":{},"stream\\u005foptions":{"b":1}}', {
    streamUsage: 'ask',
  });
  assert.deepEqual(JSON.parse(both.text).stream_options, { b: 1, include_usage: true });
  const proto = prepare('{"__proto__":{"x":1},"model":"a","models":[]}');
  assert.equal(proto.text, '{"__proto__":{"x":1},"model":"up"}');
});

test('whatever the body, the upstream reads what the caller wrote, with the model and the usage exchanged', () => {
  const body = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
    .map((rest) => ({ ...rest, model: 'alias', stream: true }));
  fc.assert(
    fc.property(body, fc.constantFrom(0, 2), fc.string(), (object, space, model) => {
      const { text } = prepare(JSON.stringify(object, null, space), { model, streamUsage: 'ask' });
      const expected: JsonObject = { ...JSON.parse(JSON.stringify(object)), model };
      const before = expected.stream_options;
      expected.stream_options = {
        ...(typeof before === 'object' && !Array.isArray(before) ? before : {}),
        include_usage: true,
      };
      assert.deepEqual(JSON.parse(text), expected);
    }),
  );
});

test('the proof over a thought goes back to models of Google’s, and to no other', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const signed = { ...call, extra_content: { google: { thought_signature: 'sig' } } };
  const messages = (calls: object[]) => [
    { role: 'user', content: 'a' },
    { role: 'assistant', tool_calls: calls },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ];
  const raw = JSON.stringify({ model: 'alias', messages: messages([signed, call]) });
  const google = prepare(raw, { model: 'google/gemini-3-pro' });
  assert.deepEqual(JSON.parse(google.text).messages, messages([signed, call]));
  assert.deepEqual(google.losses, []);
  const other = prepare(raw, { model: 'gpt-4o' });
  assert.deepEqual(JSON.parse(other.text).messages, messages([call, call]));
  assert.deepEqual(other.losses, [{ field: 'extra_content', why: 'unsupported' }]);
});
