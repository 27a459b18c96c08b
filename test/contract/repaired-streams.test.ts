import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test('a forwarded stream that finished but left [DONE] out gets it from us', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  upstream.script('/v1/chat/completions', ['omit=done']);
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const text = await (await gateway.fetch('/v1/chat/completions', { json: body })).text();
  assert.match(text, /"finish_reason":"stop"/);
  assert.ok(text.endsWith('data: [DONE]\n\n'), text.slice(-200));
});

test("OpenAI's SDK puts a forwarded stream together that has no role, or no finish reason", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] as const;
  for (const asked of [{}, { n: 2 }, { stream_options: { include_usage: true } }, { tools: [...tools] }]) {
    for (const omitted of ['start', 'finish', 'start,finish']) {
      upstream.script('/v1/chat/completions', [`omit=${omitted}${'tools' in asked ? ';call=f' : ''}`]);
      const messages = [{ role: 'user', content: 'Hello' }] as const;
      const stream = client.chat.completions.stream({ model: 'chat', messages: [...messages], ...asked });
      const { choices, usage } = await stream.finalChatCompletion();
      const name = `${omitted} ${JSON.stringify(asked)}`;
      assert.equal(choices.length, 'n' in asked ? 2 : 1, name);
      assert.equal(usage !== undefined, 'stream_options' in asked, name);
      for (const { message, finish_reason: reason } of choices) {
        assert.equal(message.role, 'assistant', name);
        assert.equal(reason, 'tools' in asked ? 'tool_calls' : 'stop', name);
        if (!('tools' in asked)) assert.match(message.content ?? '', /Hello/, name);
      }
    }
  }
});

test("Anthropic's SDK puts a forwarded stream together that has no names of events, or no counts", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'anthropic', base_url: upstream.url, api_key: 'secret' } },
    models: { chat: { targets: ['up/mock/ok'] } },
  });
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  for (const fault of ['omit=names', 'omit=usage', 'omit=names,usage', 'omit=names;drip=7/1ms']) {
    upstream.script('/v1/messages', [fault]);
    const messages = [{ role: 'user', content: 'Hello' }] as const;
    const stream = client.messages.stream({ model: 'chat', max_tokens: 100, messages: [...messages] });
    const { content, stop_reason: reason, usage } = await stream.finalMessage();
    assert.match(JSON.stringify(content), /Hello/, fault);
    assert.equal(reason, 'end_turn', fault);
    assert.ok(usage.output_tokens > 0, fault);
  }
});

for (const text of ['', 'Let me look.']) {
  test(`forwarded calls without an index get one, and stop after calls is tool_calls${text && ', also behind text'}`, async (t) => {
    const delta = (one: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: one, finish_reason: finish }] })}\n\n`;
    const piece = (one: object) => delta({ tool_calls: [one] });
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        [
          delta({ role: 'assistant', content: text }),
          piece({ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }),
          piece({ id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
          piece({ function: { arguments: '{"y":' } }),
          piece({ function: { arguments: '2}' } }),
          delta({}, 'stop'),
          'data: [DONE]\n\n',
        ].join(''),
      );
    });
    const gateway = await startGateway(t, overUpstreams(await listening(t, server)));
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
    const stream = client.chat.completions.stream({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });
    const [choice] = (await stream.finalChatCompletion()).choices;
    assert.equal(choice?.finish_reason, 'tool_calls');
    assert.equal(choice.message.content ?? '', text);
    assert.deepEqual(
      choice.message.tool_calls?.map(
        (call) => call.type === 'function' && [call.id, call.function.name, call.function.arguments],
      ),
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{"y":2}'],
      ],
    );
  });
}

test('forwarded calls with an index pass as they came, and stop after one that was never parsed is tool_calls', async (t) => {
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } };
  const passed = chunk({ role: 'assistant', content: 'Hi' }, null) + chunk({ tool_calls: [call] }, null);
  let reason = 'stop';
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${passed}${chunk({}, reason)}data: [DONE]\n\n`);
  });
  const gateway = await startGateway(t, overUpstreams(await listening(t, server)));
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  for (reason of ['stop', 'tool_use', 'tool_calls', 'length']) {
    const text = await (await gateway.fetch('/v1/chat/completions', { json: body })).text();
    assert.equal(text, `${passed}${chunk({}, reason === 'length' ? reason : 'tool_calls')}data: [DONE]\n\n`);
  }
});

test('a whole answer that calls a tool and says stop says tool_calls; any other passes as it came', async (t) => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } };
  const answer = (finish: string | null, calls?: object[]) =>
    JSON.stringify(
      {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [
          { index: 0, message: { role: 'assistant', content: 'Hi', tool_calls: calls }, finish_reason: finish },
        ],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      },
      null,
      1,
    );
  let body = '';
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(body);
  });
  const gateway = await startGateway(t, overUpstreams(await listening(t, server)));
  const ask = async () => {
    const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
    return (await gateway.fetch('/v1/chat/completions', { json })).text();
  };
  for (const reason of ['stop', 'tool_use', 'eos']) {
    body = answer(reason, [call]);
    assert.deepEqual(JSON.parse(await ask()), JSON.parse(answer('tool_calls', [call])), reason);
  }
  for (body of [answer('tool_calls', [call]), answer('length', [call]), answer('stop', []), answer('stop')]) {
    assert.equal(await ask(), body);
  }
});

test('a stream ends with its end mark, though the upstream keeps the connection open', async (t) => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.write(`${chunk({ role: 'assistant', content: 'Hi' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
  const url = await listening(t, server);
  const gateway = await startGateway(t, overUpstreams(url));
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json: body, signal: AbortSignal.timeout(5_000) });
  assert.ok((await response.text()).endsWith('data: [DONE]\n\n'));
});

test('unreadable lines of a converted stream are skipped, and counted in the explanation', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: upstream.url, api_key: 'b' } },
    models: { chat: { targets: ['claude/mock/ok'] } },
  });
  upstream.script('/v1/messages', ['malformed']);
  const body = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json: body });
  const text = await response.text();
  const id = response.headers.get('x-culvert-request-id');
  const { route, class: outcome } = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    route: { malformedLines?: number };
    class: string;
  };
  assert.deepEqual([outcome, route.malformedLines, text.endsWith('data: [DONE]\n\n')], ['ok', 1, true]);
});

test('a whole answer without counts has those of the gateway, and one without their sum has it', async (t) => {
  const counts: Record<string, JsonObject | null | undefined> = {
    none: undefined,
    null: null,
    empty: {},
    parts: { prompt_tokens: 3, completion_tokens: 2, input_tokens: 3, output_tokens: 2 },
  };
  let usage: JsonObject | null | undefined;
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    const text = 'Hello there, whoever you are.';
    const chat = { choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] };
    const message = { type: 'message', role: 'assistant', content: [{ type: 'text', text }], stop_reason: 'end_turn' };
    const ofPath = request.url?.endsWith('/messages') ? message : { object: 'chat.completion', created: 1, ...chat };
    response.end(JSON.stringify({ id: 'a', model: 'm', ...ofPath, usage }));
  });
  const url = await listening(t, server);
  const gateway = await startGateway(t, {
    providers: {
      chat: { type: 'openai', base_url: `${url}/v1`, api_key: 'secret' },
      claude: { type: 'anthropic', base_url: url, api_key: 'secret' },
    },
    models: { chat: { targets: ['chat/m'] }, claude: { targets: ['claude/m'] } },
  });
  const messages = [{ role: 'user', content: 'Hello' }];
  for (const [name, told] of Object.entries(counts)) {
    usage = told;
    const chat = await gateway.fetch('/v1/chat/completions', { json: { model: 'chat', messages } });
    const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = await usageIn(chat);
    assert.ok(input! > 0 && output! > 0, name);
    assert.equal(total, input! + output!, name);
    if (name === 'parts') assert.deepEqual([input, output], [3, 2]);
    if (name === 'empty') continue;
    const json = { model: 'claude', max_tokens: 100, messages };
    const own = await usageIn(await gateway.fetch('/v1/messages', { json }));
    assert.ok(own.input_tokens! > 0 && own.output_tokens! > 0, name);
  }
});

async function usageIn(answer: Response): Promise<Record<string, number | undefined>> {
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { usage: Record<string, number> }).usage;
}

test('forwarded calls with one index, without ids, or with objects for arguments are told apart and answered', async (t) => {
  const call = (index: number | undefined, id: string | undefined, name: string, args: JsonObject | string) => ({
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    type: 'function',
    function: { name, arguments: args },
  });
  const more = (index: number, id: string | null, args: string) => ({ index, id, function: { arguments: args } });
  const cases: [name: string, answer: object[][] | object[]][] = [
    // Ollama before 0.21, ollama/ollama#15457, and Dynamo, whose calls go on.
    ['one index', [[call(0, 'a', 'f', '{"x":1}')], [call(0, 'b', 'g', '{"y":')], [more(0, null, '2}')]]],
    ['one index in one chunk', [[call(0, 'a', 'f', '{"x":1}'), call(0, 'b', 'g', '{"y":2}')]]],
    ['one id', [[call(0, 'a', 'f', '{"x":1}')], [call(1, 'a', 'g', '{"y":')], [more(1, 'a', '2}')]]],
    ['no ids', [[call(0, undefined, 'f', '{"x":1}')], [call(1, '', 'g', '{"y":2}')]]],
    ['objects', [[call(0, 'a', 'f', { x: 1 }), call(1, 'b', 'g', { y: 2 })]]],
    ['a whole answer', [call(undefined, '', 'f', { x: 1 }), call(undefined, undefined, 'g', '{"y":2}')]],
  ];
  let answer: object[][] | object[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const head = { id: 'c', created: 1, model: 'm' };
    if (!Array.isArray(answer[0])) {
      const choice = { index: 0, message: { role: 'assistant', tool_calls: answer }, finish_reason: 'tool_calls' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [choice] }));
      return;
    }
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const pieces = answer.map((calls) => chunk({ tool_calls: calls }));
    response.setHeader('content-type', 'text/event-stream');
    response.end([chunk({ role: 'assistant' }), ...pieces, chunk({}, 'tool_calls'), 'data: [DONE]\n\n'].join(''));
  });
  const gateway = await startGateway(t, overUpstreams(await listening(t, server)));
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  for (const [name, given] of cases) {
    answer = given;
    const request = { model: 'chat', messages: [{ role: 'user' as const, content: 'Hello' }] };
    const { choices } = Array.isArray(given[0])
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request);
    const calls = choices[0]?.message.tool_calls ?? [];
    assert.deepEqual(
      calls.map((one) => one.type === 'function' && [one.function.name, one.function.arguments]),
      [
        ['f', '{"x":1}'],
        ['g', '{"y":2}'],
      ],
      name,
    );
    const ids = new Set(calls.map(({ id }) => id));
    assert.ok(ids.size === 2 && !ids.has(''), name);
  }
});
