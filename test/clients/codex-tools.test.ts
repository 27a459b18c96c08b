import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInput,
  Tool,
} from 'openai/resources/responses/responses';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * Tools of MCP servers and of sub-agents as Codex CLI 0.171 sends them: in namespaces, or found by a search that it runs
 * itself. Formats of other providers have neither.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const base = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      responses: { type: 'openai', dialects: ['openai-responses'], ...base },
      chat: { type: 'openai', dialects: ['openai-chat'], ...base },
      anthropic: { type: 'anthropic', ...base },
    },
    guards: { mails: { check: 'personal-data', kinds: ['email'], action: 'mask' } },
    models: {
      native: { targets: ['responses/mock/ok'] },
      guarded: { targets: ['responses/mock/ok'], guards: ['mails'] },
      chat: { targets: ['chat/mock/ok'] },
      anthropic: { targets: ['anthropic/mock/ok'] },
    },
  },
);
const client = new OpenAI({ apiKey: testKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather: Tool = {
  type: 'namespace',
  name: 'mcp__weather',
  description: 'Weather',
  tools: [
    { type: 'function', name: 'get_weather', description: 'Weather of a city', parameters, strict: false },
    { type: 'custom', name: 'note', description: 'Keeps a note' },
  ],
};
const shell: Tool = { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} }, strict: false };
const search: Tool = {
  type: 'tool_search',
  execution: 'client',
  description: 'Searches tools',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
};

/** Whole, and as the end of a stream. */
async function answers(request: ResponseCreateParamsNonStreaming): Promise<Response[]> {
  const whole = await client.responses.create(request);
  const stream = client.responses.stream({ ...request, stream: true });
  const done: JsonObject[] = [];
  for await (const event of stream) if (event.type === 'response.output_item.done') done.push(event.item as never);
  const streamed = await stream.finalResponse();
  assert.equal(done.length, streamed.output.length, 'each item ends');
  return [whole, { ...streamed, output: done as never }];
}

const callsOf = ({ output }: Response) =>
  output.flatMap((item) =>
    item.type === 'function_call' || item.type === 'custom_tool_call'
      ? [[item.type, item.namespace ?? null, item.name]]
      : [],
  );

for (const model of ['native', 'guarded', 'chat', 'anthropic']) {
  test(`codex: calls of tools in a namespace, and their results (${model})`, async () => {
    const flat = model === 'native' || model === 'guarded' ? '' : 'mcp__weather__';
    const words = `Please call shell, call ${flat}get_weather and call ${flat}note`;
    for (const answer of await answers({ model, input: words, tools: [shell, weather], store: false })) {
      assert.deepEqual(callsOf(answer), [
        ['function_call', null, 'shell'],
        ['function_call', 'mcp__weather', 'get_weather'],
        ['custom_tool_call', 'mcp__weather', 'note'],
      ]);
      const input: ResponseInput = [{ role: 'user', content: words }];
      for (const item of answer.output as unknown as JsonObject[]) {
        input.push(item as never);
        if (item.type === 'reasoning') continue;
        input.push({ type: `${item.type}_output`, call_id: item.call_id, output: `sunny: ${item.name}` } as never);
      }
      const next = await client.responses.create({ model, input, tools: [shell, weather], store: false });
      assert.match(next.output_text, /^Mock answer/);
      const sent = upstream.requests().at(-1)!.body as JsonObject;
      if (flat === '') continue;
      assert.match(
        JSON.stringify(sent.messages),
        /"name":"mcp__weather__get_weather"[\s\S]*sunny: get_weather[\s\S]*sunny: note/,
      );
      assert.doesNotMatch(JSON.stringify(sent), /"namespace"/);
    }
  });
}

for (const [model, path] of [
  ['chat', '/v1/chat/completions'],
  ['anthropic', '/v1/messages'],
] as const) {
  test(`codex: a search of tools that the client runs, and calls of the tools that it found (${model})`, async () => {
    const words = 'Please call tool_search';
    for (const answer of await answers({ model, input: words, tools: [shell, search], store: false })) {
      const [call] = answer.output.filter(({ type }) => type !== 'reasoning');
      assert.equal(call?.type, 'tool_search_call');
      assert.deepEqual([call.execution, call.status, call.arguments], ['client', 'completed', { query: 'mock' }]);
      const history: ResponseInput = [
        { role: 'user', content: words },
        call as never,
        { type: 'tool_search_output', call_id: call.call_id, execution: 'client', tools: [weather] } as never,
      ];
      upstream.script(path, ['call=mcp__weather__get_weather']);
      const next: Response = await client.responses.create({
        model,
        input: history,
        tools: [shell, search],
        store: false,
      });
      assert.deepEqual(callsOf(next), [['function_call', 'mcp__weather', 'get_weather']]);
      const sent = JSON.stringify(upstream.requests().at(-1)!.body);
      assert.match(sent, /These tools can be called now: mcp__weather__get_weather, mcp__weather__note/);
    }
  });
}

test('a tool whose flat name is too long for providers is called by its own name', async () => {
  const [namespace, name] = [`mcp__${'server'.repeat(8)}`, `get_${'weather'.repeat(6)}`];
  const tools: Tool[] = [
    { ...weather, name: namespace, tools: [{ type: 'function', name, parameters, strict: false }] },
  ];
  const request = { model: 'chat', input: 'Hi', tools, tool_choice: 'required', store: false } as const;
  for (const answer of await answers({ ...request, tools })) {
    assert.deepEqual(callsOf(answer), [['function_call', namespace, name]]);
    const sent = upstream.requests().at(-1)!.body as { tools: { function: { name: string } }[] };
    assert.equal(sent.tools[0]!.function.name.length, 64);
  }
});

test('a call that leaves the namespace out is that of the one tool of this name', async (t) => {
  const named = ['get_weather', 'note', 'shell', 'twice', 'made_up'];
  const call = (name: string, index: number) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: '{"input":"x"}' },
  });
  const server = createServer((request, response) => {
    request.resume();
    const choice = {
      index: 0,
      message: { role: 'assistant', content: null, tool_calls: named.map(call) },
      finish_reason: 'tool_calls',
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice] }));
  });
  const scripted = await startGateway(t, {
    providers: { local: { type: 'vllm', base_url: `${await listening(t, server)}/v1` } },
    models: { local: { targets: ['local/m'] } },
  });
  const more = (name: string): Tool => ({
    ...weather,
    name,
    tools: [
      ...weather.tools.slice(0, name === 'crm' ? 0 : 2),
      { type: 'function', name: 'twice', parameters, strict: false },
    ],
  });
  const json = { model: 'local', input: 'Hi', tools: [shell, more('mcp__weather'), more('crm')], store: false };
  const answer = (await (await scripted.fetch('/v1/responses', { json })).json()) as Response;
  assert.deepEqual(callsOf(answer), [
    ['function_call', 'mcp__weather', 'get_weather'],
    ['custom_tool_call', 'mcp__weather', 'note'],
    ['function_call', null, 'shell'],
    ['function_call', null, 'twice'],
    ['function_call', null, 'made_up'],
  ]);
});

test('a choice may name a tool of a namespace, or allow all of one', async () => {
  const request = { model: 'chat', input: 'Hi', tools: [shell, weather], store: false };
  const one = await client.responses.create({ ...request, tool_choice: { type: 'function', name: 'get_weather' } });
  assert.deepEqual(callsOf(one), [['function_call', 'mcp__weather', 'get_weather']]);
  await client.responses.create({
    ...request,
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'mcp__weather' }] },
  });
  const sent = upstream.requests().at(-1)!.body as { tools: { function: { name: string } }[] };
  assert.deepEqual(
    sent.tools.map(({ function: { name } }) => name),
    ['mcp__weather__get_weather', 'mcp__weather__note'],
  );
});

test('a namespace without a name or tools, and a tool in it without a name, are refused by their fields', async () => {
  for (const [tool, param] of [
    [{ type: 'namespace', tools: [] }, 'tools[0].name'],
    [{ type: 'namespace', name: 'crm' }, 'tools[0].tools'],
    [{ type: 'namespace', name: 'crm', tools: [{ type: 'function' }] }, 'tools[0].tools[0].name'],
  ] as const) {
    const refused = client.responses.create({ model: 'chat', input: 'Hi', tools: [tool as never] });
    await assert.rejects(refused, (error: InstanceType<typeof OpenAI.APIError>) => {
      assert.deepEqual([error.status, error.param], [400, param]);
      return true;
    });
  }
});
