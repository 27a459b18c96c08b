import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { asked } from './served.ts';

/* A demand of a request that a provider of another format cannot meet is a 400 that names it; it is never left out. */

const upstream = await startUpstream({ models: ['mock/ok'] });
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
const providers = {
  chat: { type: 'openai', ...at, dialects: ['openai-chat'] },
  responses: { type: 'openai', ...at, dialects: ['openai-responses'] },
  claude: { type: 'anthropic', ...at },
  google: { type: 'gemini', ...at, base_url: upstream.url },
  cohere: { type: 'cohere', ...at, base_url: upstream.url },
  bedrock: { type: 'bedrock', ...at, base_url: upstream.url, region: 'us-east-1' },
};
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers,
    models: Object.fromEntries(Object.keys(providers).map((name) => [name, { targets: [`${name}/mock/ok`] }])),
  },
);

async function ask(path: string, json: object) {
  upstream.clear();
  const response = await gateway.fetch(path, { json });
  const body = (await response.json()) as { error?: { param: string } };
  return { status: response.status, param: body.error?.param, sent: asked(upstream).map((one) => one.body) };
}

const hello = { max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] };
const search = { type: 'web_search_20250305', name: 'web_search' };
const own = { name: 'look_up', input_schema: { type: 'object', properties: { what: { type: 'string' } } } };
const refused = (param: string) => ({ status: 400, param, sent: [] });

for (const model of ['chat', 'responses', 'google', 'cohere']) {
  test(`§9 messages over ${model}: a search that must be made, or a call of what is not there, is refused`, async () => {
    const must = { tool_choice: { type: 'tool', name: 'web_search' } };
    const any = { tool_choice: { type: 'any' } };
    for (const [more, param] of [
      [{ tools: [search], ...must }, 'tools'],
      [{ tools: [search, own], ...must }, 'tools'],
      [{ tools: [search], ...any }, 'tool_choice'],
      [any, 'tool_choice'],
    ] as const) {
      assert.deepEqual(await ask('/v1/messages', { ...hello, model, ...more }), refused(param));
    }
    assert.equal((await ask('/v1/messages', { ...hello, model, tools: [search, own], ...any })).status, 200);
  });

  test(`§9 messages over ${model}: an answer of no tokens at all is refused, as only Anthropic knows it`, async () => {
    assert.deepEqual(await ask('/v1/messages', { ...hello, model, max_tokens: 0 }), refused('max_tokens'));
  });
}

test('§9 messages over claude: an answer of no tokens at all, which warms its cache, is asked for', async () => {
  const { status, sent } = await ask('/v1/messages', { ...hello, model: 'claude', max_tokens: 0 });
  assert.deepEqual([status, sent], [200, [{ ...hello, model: 'mock/ok', max_tokens: 0 }]]);
});

for (const model of ['chat', 'claude', 'google', 'cohere', 'bedrock']) {
  test(`§9 responses over ${model}: a call that must be made of tools that only its provider runs is refused`, async () => {
    const json = { model, input: 'Hi', tools: [{ type: 'web_search' }], tool_choice: 'required' };
    assert.deepEqual(await ask('/v1/responses', json), refused('tool_choice'));
  });
}

test('§9 over Gemini: calls of one turn that share an id get their results in their order', async () => {
  const call = { id: 'c', type: 'function', function: { name: 'look_up', arguments: '{}' } };
  const result = (content: string) => ({ role: 'tool', tool_call_id: 'c', content });
  const messages = [...hello.messages, { role: 'assistant', content: null, tool_calls: [call, call] }];
  const tools = [{ type: 'function', function: { name: 'look_up' } }];
  const json = { model: 'google', tools, messages: [...messages, result('one'), result('two')] };
  const { sent } = await ask('/v1/chat/completions', json);
  const { contents } = sent[0] as { contents: { parts: { functionResponse?: { response: object } }[] }[] };
  assert.deepEqual(
    contents[2]!.parts.map(({ functionResponse }) => functionResponse?.response),
    [{ output: 'one' }, { output: 'two' }],
  );

  // A result without a call is the user's text.
  const more = await ask('/v1/chat/completions', { ...json, messages: [...json.messages, result('three')] });
  assert.equal(more.status, 200);
  assert.match(JSON.stringify((more.sent[0] as { contents: object[] }).contents.at(-1)), /three/);
});
