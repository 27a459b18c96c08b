import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';
import { otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { callers, type Told, textOf } from './conversations.ts';

const upstream = await startUpstream();
after(upstream.close);
const { url } = upstream;
const providers = {
  anthropic: { type: 'anthropic', base_url: `${url}/v1`, api_key: 'k' },
  bedrock: { type: 'bedrock', base_url: url, region: 'us-east-1', api_key: 'k' },
  vertex: { type: 'vertex', base_url: url, api_key: 'k' },
  azure: { type: 'azure-openai', base_url: url, api_key: 'k' },
  openrouter: { type: 'openrouter', base_url: `${url}/v1`, api_key: 'k' },
  openai: { type: 'openai', base_url: `${url}/v1`, api_key: 'k', dialects: ['openai-chat', 'openai-responses'] },
  groq: { type: 'groq', base_url: `${url}/v1`, api_key: 'k' },
  gemini: { type: 'gemini', base_url: `${url}/v1beta`, api_key: 'k' },
};
const auto = (target: string | object) => ({ prompt_cache: 'auto', targets: [target] });
const models = {
  anthropic: auto('anthropic/claude-sonnet-4-5'),
  small: auto('anthropic/claude-haiku-4-5'),
  bedrock: auto('bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0'),
  older: auto('bedrock/anthropic.claude-3-sonnet-20240229-v1:0'),
  nova: auto('bedrock/amazon.nova-pro-v1:0'),
  vertex: auto('vertex/claude-sonnet-4-5'),
  azure: auto('azure/claude-sonnet-4-5'),
  openrouter: auto('openrouter/anthropic/claude-sonnet-4.5'),
  openai: { targets: [{ provider: 'openai', model: 'gpt-x', prompt_cache: 'auto' }] },
  another: { targets: [{ provider: 'openai', model: 'gpt-x', prompt_cache: 'auto' }] },
  'openai-like': auto('openai/gpt-x'),
  groq: auto('groq/llama'),
  gemini: auto('gemini/gemini-x'),
  off: { targets: ['anthropic/claude-sonnet-4-5'] },
  'off-here': {
    prompt_cache: 'auto',
    targets: [{ provider: 'anthropic', model: 'claude-sonnet-4-5', prompt_cache: 'off' }],
  },
};
const gateway = await startGateway({ after } as TestContext, { providers, models });

interface Sent {
  model: string;
  caller?: string;
  stream?: boolean;
  key?: string;
}

/** What reaches the upstream. */
async function sent(
  { model, caller = 'messages', stream = false, key }: Sent,
  told: Told | object,
): Promise<JsonObject> {
  const { path, body } = callers[caller]!;
  const json = 'turns' in told ? body(told) : told;
  upstream.clear();
  const answer = await gateway.fetch(path(model, stream), {
    method: 'POST',
    ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
    json: caller === 'gemini' ? json : { model, stream, ...json },
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return asked();
}

function asked(): JsonObject {
  return upstream.requests().find(({ method }) => method === 'POST')?.body as JsonObject;
}

/** Places of all marks. */
function marksIn(value: JsonValue | undefined, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one, at) => marksIn(one, `${path}/${at}`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    name === 'cache_control' || name === 'cachePoint' ? [path] : marksIn(one, `${path}/${name}`),
  );
}

const long = { system: 1_500, tools: 1_500, turns: 3 };

for (const caller of Object.keys(callers)) {
  for (const stream of [false, true]) {
    const how = `${caller}, ${stream ? 'streamed' : 'whole'}`;

    // OpenRouter is asked in Anthropic's format by callers of that alone.
    const native = ['anthropic', 'bedrock', 'vertex', 'azure', ...(caller === 'messages' ? ['openrouter'] : [])];
    for (const model of native) {
      test(`${how}: Claude at ${model} gets marks at tools, system and the two newest turns`, async () => {
        const body = await sent({ model, caller, stream }, long);
        assert.deepEqual(marksIn(body).sort(), [
          '/messages/2/content/0',
          '/messages/4/content/0',
          '/system/0',
          '/tools/0',
        ]);
      });
    }

    test(`${how}: Nova gets cache points, none among its tools`, async () => {
      const body = await sent({ model: 'nova', caller, stream }, long);
      assert.deepEqual(marksIn(body), ['/messages/2/content/1', '/messages/4/content/1', '/system/1']);
    });

    if (!native.includes('openrouter')) {
      test(`${how}: Claude at OpenRouter gets marks in text parts`, async () => {
        const body = await sent({ model: 'openrouter', caller, stream }, long);
        assert.deepEqual(marksIn(body), ['/messages/0/content/0', '/messages/3/content/0', '/messages/5/content/0']);
      });
    }

    test(`${how}: OpenAI gets a key that tells tenants, aliases and beginnings apart, and no turns`, async () => {
      const keyOf = async (sending: Omit<Sent, 'model'> & { model?: string }, told: Told) =>
        (await sent({ model: 'openai', caller, stream, ...sending }, told)).prompt_cache_key;
      const own = await keyOf({}, long);
      assert.match(String(own), /^[\w-]{32}$/);
      assert.equal(await keyOf({}, { ...long, turns: 1 }), own);
      assert.equal(await keyOf({}, { ...long, turn: 50 }), own);
      assert.notEqual(await keyOf({ key: otherKey }, long), own);
      assert.notEqual(await keyOf({ model: 'another' }, long), own);
      assert.notEqual(await keyOf({}, { ...long, system: 1_501 }), own);
      assert.notEqual(await keyOf({}, { ...long, tools: 1_501 }), own);
      assert.equal(await keyOf({}, { system: 100, tools: 0, turns: 1, turn: 3_000 }), undefined);
    });

    for (const model of ['off', 'off-here', 'older', 'openai-like', 'groq', 'gemini']) {
      test(`${how}: ${model} gets nothing`, async () => {
        const body = await sent({ model, caller, stream }, long);
        assert.deepEqual(marksIn(body), []);
        assert.equal(body.prompt_cache_key, undefined);
      });
    }
  }
}

test('a prompt below the minimum of its model gets nothing', async () => {
  const marked = async (model: string, told: Told) => marksIn(await sent({ model }, told));
  assert.deepEqual(await marked('anthropic', { system: 900, tools: 0, turns: 1 }), []);
  assert.deepEqual(await marked('anthropic', { system: 1_100, tools: 0, turns: 1 }), ['/system/0']);
  assert.deepEqual(await marked('anthropic', { system: 600, tools: 600, turns: 1 }), ['/system/0']);
  assert.deepEqual(await marked('small', { system: 3_000, tools: 500, turns: 1 }), []);
  assert.deepEqual(await marked('small', { system: 4_200, tools: 0, turns: 1 }), ['/system/0']);
});

test('a first question alone is not kept, however long: nobody may ask it again', async () => {
  assert.deepEqual(marksIn(await sent({ model: 'anthropic' }, { system: 10, tools: 0, turns: 1, turn: 4_000 })), []);
  const second = await sent({ model: 'anthropic' }, { system: 10, tools: 0, turns: 2, turn: 4_000 });
  assert.deepEqual(marksIn(second), ['/messages/0/content/0', '/messages/2/content/0']);
});

const block = (text: string, mark?: object) => ({ type: 'text', text, ...mark });
const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };

test("a request that has the vendor's own fields goes out as it came", async () => {
  const body = {
    max_tokens: 50,
    system: [block(textOf(2_000), mark)],
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ],
  };
  assert.deepEqual(await sent({ model: 'anthropic' }, body), { model: 'claude-sonnet-4-5', stream: false, ...body });
  assert.deepEqual(marksIn(await sent({ model: 'bedrock' }, body)), ['/system/0']);
  // Where the format has no place for its mark, nothing comes in its place.
  assert.equal((await sent({ model: 'openai' }, body)).prompt_cache_key, undefined);
  const chat = {
    prompt_cache_key: 'mine',
    messages: [
      { role: 'system', content: textOf(2_000) },
      { role: 'user', content: 'a' },
    ],
  };
  assert.equal((await sent({ model: 'openai', caller: 'chat' }, chat)).prompt_cache_key, 'mine');
  assert.deepEqual(marksIn(await sent({ model: 'anthropic', caller: 'chat' }, chat)), []);
});

test('marks keep off what refuses them, and all else stays as it was', async () => {
  const tools = [
    { name: 'f', description: textOf(1_200), input_schema: { type: 'object', maximum: 12 } },
    { name: 'g', input_schema: { type: 'object' }, defer_loading: true },
  ];
  const messages = [
    { role: 'user', content: [block('look'), block('')] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'tool_use', id: 't', name: 'f', input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'done' }] },
  ];
  const body = await sent({ model: 'anthropic' }, { max_tokens: 50, tools, messages });
  assert.deepEqual(marksIn(body).sort(), ['/messages/0/content/0', '/messages/2/content/0', '/tools/0']);
});

for (const [model, places] of [
  // Nova is asked by Converse, and takes no mark among its tools; Claude is asked in Anthropic's format.
  ['nova', ['/messages/0/content/1', '/messages/2/content/1', '/system/1']],
  ['bedrock', ['/messages/0/content/0', '/messages/2/content/0', '/system/0', '/tools/0']],
] as const) {
  test(`a call of Converse gets marks behind what ${model} keeps`, async () => {
    const text = (words: string) => [{ text: words }];
    const toolSpec = { name: 'f', description: textOf(1_500), inputSchema: { json: { type: 'object' } } };
    upstream.clear();
    const answer = await gateway.fetch(`/model/${model}/converse`, {
      method: 'POST',
      json: {
        system: text(textOf(1_500)),
        toolConfig: { tools: [{ toolSpec }] },
        messages: [
          { role: 'user', content: text('a') },
          { role: 'assistant', content: text('b') },
          { role: 'user', content: text('c') },
        ],
      },
    });
    assert.equal(answer.status, 200, await answer.text());
    assert.deepEqual(marksIn(asked()).sort(), places);
  });
}

test('a body above 1 MB is marked too, and its numbers stay as they came', async () => {
  const large = callers.messages!.body({ system: 2_000, tools: 0, turns: 2, turn: 200_000 });
  const tools = '[{"name":"f","input_schema":{"type":"object","maximum":12345678901234567890}}]';
  upstream.clear();
  const answer = await gateway.fetch('/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'anthropic', tools: [], ...large }).replace('"tools":[]', `"tools":${tools}`),
  });
  assert.equal(answer.status, 200, await answer.text());
  // The simulator shows the beginning of a large body.
  assert.ok(String(asked()).includes(`"tools":${tools}`));
  assert.match(String(asked()), /"system":\[\{.*?"cache_control":\{"type":"ephemeral"\}/);
});
