import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type OpenAI from 'openai';
import { startMcpServer, tinyPng } from '../start-mcp-server.ts';
import { openToolsWorld } from './world.ts';

/* MCP servers that callers name by URL, asked for models of other providers. */

const t = { after: after as TestContext['after'] };
const server = await startMcpServer(t, { tools: ['kind', 'chart'] });
const gone = await startMcpServer({ after() {} });
const { openai, anthropic, gateway, config, upstream, sent, rows } = await openToolsWorld(t, {
  fetch: { allow_private: [server.place, gone.place] },
});
const paths = { chat: '/v1/chat/completions', claude: '/v1/messages', native: '/v1/responses' } as const;

const tool: OpenAI.Responses.Tool.Mcp = {
  type: 'mcp',
  server_label: 'sums',
  server_url: server.url,
  require_approval: 'never',
  authorization: 'mine',
};
const input = 'Please call sums__add';

for (const [model, path] of Object.entries(paths)) {
  test(`Responses: the server's tools are listed and called (${model})`, async () => {
    sent();
    upstream.script(path, ['ok', 'text=One.']);
    const stream = openai.responses.stream({ model, input, tools: [tool] });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const response = await stream.finalResponse();
    for (const type of ['mcp_list_tools.in_progress', 'mcp_list_tools.completed', 'mcp_call.in_progress']) {
      assert.ok(types.includes(`response.${type}`), type);
    }
    assert.ok(types.indexOf('response.mcp_call_arguments.done') < types.indexOf('response.mcp_call.completed'));
    const [list, call, message] = response.output;
    assert.ok(list?.type === 'mcp_list_tools' && call?.type === 'mcp_call' && message?.type === 'message');
    assert.deepEqual(
      list.tools.map(({ name }) => name),
      ['add', 'large', 'wait', 'fail', 'throw', 'kind', 'chart'],
    );
    assert.deepEqual([call.name, call.server_label, call.output, call.error], ['add', 'sums', '1', null]);
    assert.equal(response.output_text, 'One.');
    assert.equal(server.heard().at(-1)!.authorization, 'Bearer mine');
    assert.doesNotMatch(JSON.stringify(sent()), /mine/);
  });

  test(`Messages: mcp_servers (${model})`, async () => {
    upstream.script(path === paths.native ? paths.chat : path, ['ok', 'text=One.']);
    const message = await anthropic.beta.messages.create({
      model,
      max_tokens: 500,
      messages: [{ role: 'user', content: input }],
      mcp_servers: [{ type: 'url', url: server.url, name: 'sums', authorization_token: 'mine' }],
      betas: ['mcp-client-2025-04-04'],
    });
    const [call, result, text] = message.content;
    assert.ok(call?.type === 'mcp_tool_use' && result?.type === 'mcp_tool_result' && text?.type === 'text');
    assert.deepEqual([call.name, call.server_name, result.is_error], ['add', 'sums', false]);
    assert.deepEqual(result.content, [{ type: 'text', text: '1' }]);
  });
}

test('a picture of a result reaches models that see, and sound those of Gemini; what does not is named', async () => {
  const own = 'You see:';
  const ask = async (model: string) => {
    sent();
    const { data, response } = await openai.responses
      .create({ model, input: `${own} call sums__chart`, tools: [tool] })
      .withResponse();
    const call = data.output.find((item) => item.type === 'mcp_call')!;
    assert.equal(call.output, 'Before.\n\n[image]\n\nBetween.\n\n[image]\n\n[audio]\n\n[image]');
    return { second: sent()[1]!, dropped: response.headers.get('x-culvert-dropped') };
  };
  const chat = await ask('chat');
  const messages = chat.second.messages as { role: string; content: unknown }[];
  const url = `data:image/png;base64,${tinyPng}`;
  const image = { type: 'image_url', image_url: { url } };
  assert.deepEqual(messages.at(-1), { role: 'user', content: [image, image] });
  assert.match(JSON.stringify(messages.at(-2)), /Before.*Between.*\[audio\].*\[image\]/);
  assert.equal(chat.dropped, 'tools.mcp.image, tools.mcp.audio');

  const claude = await ask('claude');
  const [block] = (claude.second.messages as { content: { content: object[] }[] }[]).at(-1)!.content;
  assert.deepEqual(block!.content.slice(0, 4), [
    { type: 'text', text: 'Before.' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: tinyPng } },
    { type: 'text', text: 'Between.' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: tinyPng } },
  ]);

  const native = await ask('native');
  const { output } = (native.second.input as { output: object[] }[]).at(-1)!;
  assert.deepEqual(output[1], { type: 'input_image', image_url: url, detail: 'auto' });

  const google = await ask('google');
  assert.match(JSON.stringify(google.second.contents), /"inlineData":\{"mimeType":"audio\/wav","data":"UklGRg=="\}/);
  assert.equal(google.dropped, 'tools.mcp.image', 'no model reads SVG');

  const blind = await ask('blind');
  assert.doesNotMatch(JSON.stringify(blind.second), /image_url|base64/);
  assert.match(JSON.stringify(blind.second.messages), /Before.*\[image\].*Between/);
  assert.equal(blind.dropped, 'tools.mcp.image, tools.mcp.audio');
});

test('lost media are named in Messages too', async () => {
  const message = await anthropic.beta.messages
    .create({
      model: 'blind',
      max_tokens: 500,
      messages: [{ role: 'user', content: 'call sums__chart' }],
      mcp_servers: [{ type: 'url', url: server.url, name: 'sums' }],
      betas: ['mcp-client-2025-04-04'],
    })
    .withResponse();
  assert.equal(message.response.headers.get('x-culvert-dropped'), 'mcp_servers.image, mcp_servers.audio');
});

test('allowed_tools is all that the model is offered', async () => {
  sent();
  await openai.responses.create({ model: 'chat', input: 'Hi', tools: [{ ...tool, allowed_tools: ['fail'] }] });
  const [{ tools }] = sent() as [{ tools: { function: { name: string } }[] }];
  assert.deepEqual(
    tools.map((one) => one.function.name),
    ['sums__fail'],
  );
});

test('filters by readOnlyHint and names of a toolset that are off hold', async () => {
  const offered = () => {
    const [{ tools = [] }] = sent() as [{ tools?: { function: { name: string } }[] }];
    return tools.map((one) => one.function.name);
  };
  sent();
  const only = (filter: object) => ({ ...tool, allowed_tools: filter });
  for (const [filter, names] of [
    [{ read_only: true }, ['sums__add']],
    [{ read_only: true, tool_names: ['fail'] }, []],
    [{ read_only: false, tool_names: ['add', 'fail'] }, ['sums__fail']],
  ] as const) {
    await openai.responses.create({ model: 'chat', input: 'Hi', tools: [only(filter)] } as never);
    assert.deepEqual(offered(), names, JSON.stringify(filter));
  }
  const ask = (default_config: object | undefined) =>
    anthropic.beta.messages.create({
      model: 'chat',
      max_tokens: 500,
      messages: [{ role: 'user', content: 'Hi' }],
      mcp_servers: [{ type: 'url', url: server.url, name: 'sums' }],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_name: 'sums',
          ...(default_config && { default_config }),
          configs: { add: { enabled: false }, fail: { enabled: true }, large: {}, wait: {}, throw: {} },
        },
      ],
      betas: ['mcp-client-2025-11-20'],
    });
  const { response } = await ask(undefined).withResponse();
  assert.equal(response.headers.get('x-culvert-dropped'), null);
  assert.deepEqual(offered(), ['sums__large', 'sums__wait', 'sums__fail', 'sums__throw', 'sums__kind', 'sums__chart']);
  await ask({ enabled: false });
  assert.deepEqual(offered(), ['sums__fail']);
});

test('calls go without approval only where the caller says so of the tool', async () => {
  const types = async (require_approval: object) => {
    const body = { model: 'chat', input, tools: [{ ...tool, require_approval }] };
    const { output } = await openai.responses.create(body as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    return output.map(({ type }) => type).filter((type) => type !== 'mcp_list_tools' && type !== 'message');
  };
  assert.deepEqual(await types({ never: { read_only: true } }), ['mcp_call']);
  assert.deepEqual(await types({ never: { read_only: false } }), ['mcp_approval_request']);
  assert.deepEqual(await types({ never: {} }), ['mcp_approval_request']);
  assert.deepEqual(await types({}), ['mcp_approval_request']);
  sent();
});

test('a demanded tool is the one that is named, of the server that is named', async () => {
  const other = { ...tool, server_label: 'more', allowed_tools: ['add', 'fail'] };
  const ask = (choice: object) =>
    openai.responses.create({ model: 'chat', input: 'Hi', tools: [tool, other], tool_choice: choice } as never);
  sent();
  await ask({ type: 'mcp', server_label: 'more', name: 'fail' });
  const named = { type: 'function', function: { name: 'more__fail' } };
  assert.deepEqual((sent() as { tool_choice?: unknown }[])[0]?.tool_choice, named);
  await ask({ type: 'mcp', server_label: 'more' });
  const [first, second] = sent() as { tool_choice?: unknown; tools: { function: { name: string } }[] }[];
  assert.equal(first?.tool_choice, 'required');
  assert.deepEqual(
    first?.tools.map((one) => one.function.name),
    ['more__add', 'more__fail'],
  );
  assert.ok(second!.tools.length > 2);
  for (const choice of [{ server_label: 'more', name: 'wait' }, { server_label: 'none' }]) {
    await assert.rejects(ask({ type: 'mcp', ...choice }), { status: 400, param: 'tool_choice' });
  }
  sent();
});

test('a tool that fails is told to the model and to the caller, and the call has a row', async () => {
  sent();
  const before = (await rows()).length;
  const response = await openai.responses.create({ model: 'chat', input: 'call sums__fail', tools: [tool] });
  const call = response.output.find((item) => item.type === 'mcp_call')!;
  assert.equal(call.error, 'It did not work.');
  assert.match(JSON.stringify(sent()[1]), /It did not work\./);
  const made = (await rows()).slice(before).map(({ endpoint }) => endpoint);
  assert.deepEqual(made.toSorted(), ['mcp-call', 'responses', 'responses']);
});

test('a call that needs approval waits for the next request, also by previous_response_id', async () => {
  const asking = { ...tool, require_approval: 'always' as const };
  for (const approve of [true, false]) {
    sent();
    const asked = await openai.responses.create({ model: 'chat', input, tools: [asking] });
    const question = asked.output.find((item) => item.type === 'mcp_approval_request')!;
    assert.deepEqual([question.name, question.server_label], ['add', 'sums']);
    assert.ok(asked.output.every(({ type }) => type !== 'mcp_call'));
    assert.equal(sent().length, 1);
    const answer = { type: 'mcp_approval_response' as const, approval_request_id: question.id, approve };
    const response = await openai.responses.create({
      model: 'chat',
      previous_response_id: asked.id,
      input: [answer],
      tools: [asking],
    });
    const types = response.output.map(({ type }) => type);
    assert.deepEqual(types, approve ? ['mcp_call', 'message'] : ['message']);
    const call = response.output.find((item) => item.type === 'mcp_call');
    assert.equal(call?.approval_request_id, approve ? question.id : undefined);
    const told = JSON.stringify(sent()[0]);
    assert.match(told, approve ? /"content":"1"/ : /does not want this call/);
    // It is made once, whatever follows.
    await openai.responses.create({
      model: 'chat',
      previous_response_id: response.id,
      input: 'And?',
      tools: [asking],
    });
    const again = sent() as { messages: unknown[] }[];
    assert.equal(again.length, 1);
    const results = again[0]!.messages.filter((one) => (one as { role: string }).role === 'tool');
    // The model would ask for a denied call again if it forgot the answer.
    assert.equal(results.length, 1);
    assert.match(JSON.stringify(results), approve ? /"content":"1"/ : /does not want this call/);
  }
});

test('bad headers and too many servers are refused, and names that functions cannot have are changed', async (t) => {
  const asked = (tools: unknown[]) => gateway.fetch('/v1/responses', { json: { model: 'claude', input: 'Hi', tools } });
  for (const headers of [{ 'bad name': 'x' }, { good: 'a\nb' }, { good: 'ü€' }]) {
    const response = await asked([{ ...tool, headers }]);
    assert.equal(response.status, 400, JSON.stringify(headers));
    assert.match(await response.text(), /tools\[0\]\.headers/);
  }
  assert.equal((await asked([{ ...tool, authorization: 'two\nlines' }])).status, 400);
  const many = Array.from({ length: 17 }, (_, at) => ({ ...tool, server_label: `s${at}` }));
  assert.equal((await asked(many)).status, 400);
  const odd = await startMcpServer(t, { tools: ['files.read'] });
  await gateway.reload({ ...config, fetch: { allow_private: [server.place, gone.place, odd.place] } });
  sent();
  assert.equal((await asked([{ ...tool, server_url: odd.url, allowed_tools: ['files.read'] }])).status, 200);
  assert.match(JSON.stringify(sent()[0]), /"sums__files_read"/);
});

test('only named tools go without approval', async () => {
  const some = { ...tool, require_approval: { never: { tool_names: ['add'] } } };
  const add = await openai.responses.create({ model: 'chat', input, tools: [some] });
  assert.ok(add.output.some(({ type }) => type === 'mcp_call'));
  const fail = await openai.responses.create({ model: 'chat', input: 'call sums__fail', tools: [some] });
  assert.ok(fail.output.some(({ type }) => type === 'mcp_approval_request'));
});

test('a server of the configuration is named by its label alone', async (t) => {
  const mcp = { servers: { house: { url: server.url }, down: { url: 'http://127.0.0.1:9/mcp' } } };
  const { openai: own, rows: ownRows } = await openToolsWorld(t, { mcp });
  const response = await own.responses.create({
    model: 'chat',
    input: 'call house__add',
    tools: [{ type: 'mcp', server_label: 'house', require_approval: 'never' } as OpenAI.Responses.Tool.Mcp],
  });
  const call = response.output.find((item) => item.type === 'mcp_call')!;
  assert.equal(call.output, '1');
  assert.ok((await ownRows()).some((row) => row.endpoint === 'mcp-call'));
  const tools = [{ type: 'mcp', server_label: 'other' } as OpenAI.Responses.Tool.Mcp];
  await assert.rejects(own.responses.create({ model: 'chat', input: 'Hi', tools }), /no MCP server 'other'/);
  const ofDown = [{ type: 'mcp', server_label: 'down' } as OpenAI.Responses.Tool.Mcp];
  await assert.rejects(
    own.responses.create({ model: 'chat', input: 'Hi', tools: ofDown }, { maxRetries: 0 }),
    (error: Error & { status?: number }) => (error.status ?? 0) >= 502 && /'down' is down/.test(error.message),
    'the model would answer without its tools',
  );
});

test('a private address is refused, a server that is gone ends the request', async () => {
  const asked = async (url: string) => {
    const json = { model: 'chat', input, tools: [{ ...tool, server_url: url }] };
    const response = await gateway.fetch('/v1/responses', { json });
    return { status: response.status, text: await response.text() };
  };
  const blocked = await asked('http://127.0.0.1:9/mcp');
  assert.equal(blocked.status, 400);
  assert.match(blocked.text, /'sums' may not be asked/);
  await gone.close();
  const failed = await asked(gone.url);
  assert.equal(failed.status, 502);
  assert.match(failed.text, /'sums' could not be reached/);
});

test('chat completions call it too, and say that they cannot ask for approval', async () => {
  const body = { model: 'chat', messages: [{ role: 'user' as const, content: input }] };
  upstream.script(paths.chat, ['ok', 'text=One.']);
  const answer = await openai.chat.completions.create({ ...body, tools: [tool] as never });
  assert.equal(answer.choices[0]!.message.content, 'One.');
  const { require_approval: _, ...asking } = tool;
  await assert.rejects(openai.chat.completions.create({ ...body, tools: [asking] as never }), /require_approval/);
});

test('values of any type in a tool are never a fault of ours', async () => {
  const odd = { toString: 1 };
  for (const path of Object.values(paths)) {
    const asked = { max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }], input: 'Hi' };
    for (const wrong of [{ type: odd }, { ...tool, type: odd }, { ...tool, headers: { odd } }]) {
      const { status } = await gateway.fetch(path, { json: { model: 'claude', ...asked, tools: [wrong] } });
      assert.ok(status < 500, `${path} ${status} ${JSON.stringify(wrong)}`);
    }
  }
});

test('members that a server adds to its result are no failure', async () => {
  const input = 'call sums__kind';
  const response = await openai.responses.create({ model: 'chat', input, tools: [tool] });
  const call = response.output.find((item) => item.type === 'mcp_call')!;
  assert.deepEqual([call.output, call.error], ['It worked.', null]);
});

test('a call that its caller has left is aborted in the ledger, and ends at the server', async () => {
  const before = (await rows()).length;
  const leaving = new AbortController();
  const body = { model: 'chat', input: 'call sums__wait', tools: [tool] };
  const asked = openai.responses.create(body, { signal: leaving.signal });
  const until = async (is: () => boolean | Promise<boolean>) => {
    while (!(await is())) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await until(() => server.waiting() > 0);
  leaving.abort();
  await assert.rejects(asked);
  await until(() => server.waiting() === 0);
  const call = async () => (await rows()).slice(before).find(({ endpoint }) => endpoint === 'mcp-call');
  await until(async () => (await call()) !== undefined);
  assert.equal((await call())!.class, 'aborted');
  const { mcp } = (await call())!.route as { mcp: { server: string; name: string; host: string } };
  const { server: label, name, host } = mcp;
  assert.deepEqual([label, name, host], ['sums', 'wait', server.place]);
});
