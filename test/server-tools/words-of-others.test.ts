import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Stored passages have words of the requests that wrote them. In a later conversation these stand for none of its values. */

interface Message {
  role: string;
  content: string;
}

/** What the model got of the search. */
let passage = '';
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.method !== 'POST') return void response.writeHead(404).end();
  const last = (JSON.parse(body) as { messages: Message[] }).messages.at(-1)!;
  const isResult = last.role === 'tool';
  if (isResult) passage = last.content;
  const call = { id: 'c1', type: 'function', function: { name: 'file_search', arguments: '{"query":"ill"}' } };
  const message = isResult ? { content: `It says ${last.content}` } : { content: null, tool_calls: [call] };
  const choice = {
    index: 0,
    message: { role: 'assistant', ...message },
    finish_reason: isResult ? 'stop' : 'tool_calls',
  };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ id: 'c', object: 'chat.completion', model: 'm', choices: [choice] }));
});
const origin = await listening({ after: after as never }, upstream);
const keys = { 'all parts': ['emails', 'fish'], 'no results': ['users'] } as const;
const keyOf = (name: string) => `sk-cv-words-of-${name.replace(' ', '-')}`;
const emails = { check: 'personal-data', kinds: ['email'], action: 'mask' };
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${origin}/v1`, api_key: 'k', dialects: ['openai-chat'] } },
  models: { m: { targets: [{ provider: 'up', model: 'm', stream: false }] } },
  guards: {
    emails,
    fish: { check: 'words', words: ['zebrafish'], action: 'mask' },
    users: { ...emails, parts: ['user', 'document'] },
  },
  keys: Object.entries(keys).map(([name, guards]) => ({ key: keyOf(name), account: 'a', name, guards })),
});

for (const name of Object.keys(keys)) {
  const ask = async (path: string, json: object, method = 'POST') => {
    const response = await gateway.fetch(path, { json, method, headers: { authorization: `Bearer ${keyOf(name)}` } });
    return { status: response.status, text: await response.text() };
  };
  const collection = '/v1/vectors/collections/docs';

  test(`a passage names nobody of the conversation that finds it: ${name}`, async () => {
    await ask(collection, { vectors: { embedding_model: 'culvert-lexical-1024' } }, 'PUT');
    const payload = { text: name === 'all parts' ? 'ann@example.org is ill.' : '<EMAIL_1> is ill.' };
    assert.equal((await ask(`${collection}/points?wait=true`, { points: [{ id: 1, payload }] }, 'PUT')).status, 200);
    const { text } = await ask('/v1/responses', {
      ...{ model: 'm', store: false, input: 'What of bob@example.org, the zebrafish?' },
      ...{ tools: [{ type: 'file_search', vector_store_ids: ['docs'] }], include: ['file_search_call.results'] },
    });
    const [search, message] = (JSON.parse(text) as { output: JsonObject[] }).output;
    assert.match(passage, /<EMAIL_2> is ill\.$/);
    assert.match(JSON.stringify(search), /"text":"<EMAIL_1> is ill\."/);
    assert.match(JSON.stringify(message), /It says .*<EMAIL_1> is ill\./);
  });
}

test('a filter by a value is refused in a search of files, and in a formula that ranks', async () => {
  const headers = { authorization: `Bearer ${keyOf('all parts')}` };
  const [key, value] = ['who', 'bob@example.org'];
  const filters = { type: 'eq', key, value };
  const tool = { type: 'file_search', vector_store_ids: ['docs'], filters };
  const formula = { sum: ['$score', { key, match: { value } }] };
  for (const [path, json] of [
    ['/v1/responses', { model: 'm', store: false, input: 'Who is ill?', tools: [tool] }],
    ['/v1/vectors/collections/docs/points/query', { prefetch: { query: { text: 'ill' } }, query: { formula } }],
  ] as const) {
    const response = await gateway.fetch(path, { json, headers });
    assert.match(await response.text(), /The guard 'emails' does not let a value in a filter pass/);
    assert.equal(response.status, 400);
  }
});
