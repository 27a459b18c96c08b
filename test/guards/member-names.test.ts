import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Names of members that a model writes, in the arguments of a call. */

const given = '{"zebrafish": {"<EMAIL_1>": "zebrafish"}, "chars": 12345678901234567890}';
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'find', arguments: given } };
  const head = { id: 'x', created: 1, model: 'm' };
  if (!body.includes('"stream":true')) {
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ ...head, object: 'chat.completion', choices }));
  }
  response.setHeader('content-type', 'text/event-stream');
  for (const [delta, finish_reason] of [
    [{ role: 'assistant', tool_calls: [call] }, null],
    [{}, 'tool_calls'],
  ]) {
    const choices = [{ index: 0, delta, finish_reason }];
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`);
  }
  return response.end('data: [DONE]\n\n');
});
const base_url = `${await listening({ after }, upstream)}/v1`;
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url, api_key: 'k' } },
  guards: {
    words: { check: 'words', words: ['zebrafish'], action: 'mask' },
    email: { check: 'personal-data', kinds: ['email'], action: 'mask' },
  },
  models: { chat: { targets: ['up/m'], guards: ['words', 'email'] } },
});

for (const stream of [false, true]) {
  test(`a name is masked, and given back, as a value is: ${stream ? 'streamed' : 'whole'}`, async () => {
    const messages = [{ role: 'user', content: 'Find ann@example.org.' }];
    const tools = [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }];
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'chat', stream, messages, tools } });
    const text = await answer.text();
    const pieces = [...text.matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)].map(([, piece = '']) => JSON.parse(piece));
    const masked = '{"<WORD_1>":{"ann@example.org":"<WORD_1>"},"chars":12345678901234567890}';
    assert.equal(pieces.join(''), masked);
  });
}
