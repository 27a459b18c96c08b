import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import { scanJson } from '../../../kernel/json-scan.ts';
import { readRequest } from './read-request.ts';

function read(body: JsonObject) {
  const raw = Buffer.from(JSON.stringify(body));
  const request = readRequest(raw, body, scanJson(raw, 64));
  if (!request.ok) assert.fail(JSON.stringify(request.failure));
  return { ...request.value, bytes: raw.length };
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
  // A picture's bytes are no text.
  assert.ok(bytes > 40_000 && inputTokensEstimate < 200, String(inputTokensEstimate));
});

test('a plain request needs nothing', () => {
  const { needs, n, seed, user, fallbackModels, stream, includeUsage } = read(hello);
  assert.deepEqual([needs.vision, needs.tools, needs.reasoning, needs.maxOutputTokens], [false, false, false, null]);
  assert.deepEqual([n, seed, user, fallbackModels, stream, includeUsage], [1, null, null, [], false, false]);
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
  assert.equal(readRequest(raw, {}, scanJson(raw, 64)).ok, false);
});
