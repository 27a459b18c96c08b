import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { Agent, fetch as fetchOver } from 'undici';
import { callAdmin } from '../call-admin.ts';
import { assertWithin } from '../machine-load.ts';
import { adminKey, startGateway, type TestGateway, testKey, testProcesses } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { until } from '../until.ts';

/* MCP servers elsewhere, by the official clients (docs/mcp.md). */

const narrowKey = 'sk-cv-test-key-narrow';
const plannedKey = 'sk-cv-test-key-planned';
const slowKey = 'sk-cv-test-key-slow';
const thirdKey = 'sk-cv-test-key-third';

const one = await startMcpServer(
  { after },
  { tools: ['search', 'secret', 'typed', 'task', 'links'], instructions: 'Add before you search.' },
);
const two = await startMcpServer({ after }, { form: 'stateless', instructions: `Long: ${'x'.repeat(20_000)}` });
const older = await startMcpServer({ after }, { lost: 400, templates: 'unknown' });
const legacy = await startMcpServer(
  { after },
  {
    before(_, response) {
      response.writeHead(405).end();
      return true;
    },
  },
);
const closed = await startMcpServer({ after });
await closed.close();
const program = fileURLToPath(new URL('../mcp-stdio-server.ts', import.meta.url));
const gateway = await startGateway(
  { after: after as never },
  {
    mcp: {
      servers: {
        one: {
          url: one.url,
          headers: { authorization: 'Bearer of-one' },
          tools: { deny: ['secret'] },
          max_bytes: '100kb',
        },
        two: { url: two.url, tools: { allow: ['add', 'wait'] }, timeout: '2s' },
        program: {
          command: process.execPath,
          args: [program, 'process', 'die'],
          env: { OF_THE_PROGRAM: 'yes' },
          processes: 2,
        },
        older: { url: older.url },
        legacy: { url: legacy.url },
        broken: {
          command: process.execPath,
          args: [
            '-e',
            'console.error("SHOP_KEY is missing, not " + process.env.SHOP_KEY + process.argv[1]); throw new Error("It ends.")',
            'argument-secret',
          ],
          env: { SHOP_KEY: 'variable-secret' },
        },
        unknown: { command: 'no-such-program-here' },
        nowhere: { url: closed.url },
      },
    },
    costs: { mcp: 0.5 },
    plans: { default: { rpm: 'off' }, few: { rpm: 'off', mcp: ['one', 'two__add'] } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: narrowKey, account: 'dev', name: 'narrow', limits: { mcp: ['one__a*'] } },
      { key: plannedKey, account: 'planned', name: 'test', plan: 'few' },
      { key: slowKey, account: 'slow', name: 'test' },
      { key: thirdKey, account: 'third', name: 'test' },
    ],
  },
);

interface LedgerRow {
  status: number;
  class: string;
  tenant: string;
  units: number;
  route: { mcp?: { server: string; kind: string; name: string | null; outcome: string } };
}

type Result = {
  isError?: boolean;
  structuredContent?: Record<string, unknown>;
  content: { type: string; text: string }[];
};

async function connected(
  t: Pick<TestContext, 'after'>,
  key = testKey,
  path = '/mcp',
  to = gateway,
  way: { fetch?: FetchLike } = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  t.after(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(to.url + path), { requestInit, ...way });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  return client;
}

/** A client that keeps one connection, so that one process of the gateway has all its calls. */
async function overOneConnection(t: TestContext, key: string): Promise<Client> {
  const dispatcher = new Agent({ connections: 1 });
  t.after(() => dispatcher.destroy());
  const over = (url: string | URL, init?: object) => fetchOver(url, { ...init, dispatcher });
  return connected(t, key, '/mcp', gateway, { fetch: over as unknown as FetchLike });
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Result & { text: string }> {
  const done = (await client.callTool({ name, arguments: args })) as Result;
  return { ...done, text: done.content[0]!.text };
}

async function names(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

async function used(key = testKey): Promise<number> {
  const response = await gateway.fetch('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { windows: { month: { used: number } } }).windows.month.used;
}

test('the tools of other servers stand beside ours, with the name of their server, and are called', async (t) => {
  const client = await connected(t);
  const listed = await names(client);
  assert.deepEqual(listed.slice(0, 2), ['search', 'scrape']);
  assert.deepEqual(
    listed.filter((name) => /^(one|two)__/.test(name)),
    [
      'one__add',
      'one__large',
      'one__wait',
      'one__fail',
      'one__throw',
      'one__search',
      'one__typed',
      'one__links',
      'two__add',
      'two__wait',
    ],
  );
  const { tools } = await client.listTools();
  const add = tools.find(({ name }) => name === 'one__add')!;
  assert.deepEqual([add.title, add.inputSchema.required, add.annotations], ['Add', ['a', 'b'], { readOnlyHint: true }]);
  for (const server of ['one', 'two', 'program']) {
    const { text, structuredContent } = await call(client, `${server}__add`, { a: 2, b: 3 });
    assert.equal(text, '5');
    assert.deepEqual(structuredContent, { sum: 5 });
  }
  assert.equal((await call(client, 'one__search')).text, 'search', 'not ours of that name');
  const { authorization } = one.heard().at(-1)!;
  assert.equal(authorization, 'Bearer of-one', 'the credential of the configuration, not of the caller');
});

test('/mcp/NAME offers one server alone, under its own names', async (t) => {
  const client = await connected(t, testKey, '/mcp/one');
  assert.deepEqual(await names(client), ['add', 'large', 'wait', 'fail', 'throw', 'search', 'typed', 'links']);
  assert.equal((await call(client, 'add', { a: 1, b: 1 })).text, '2');
  assert.ok((await call(client, 'scrape')).isError);
  const unknown = await gateway.fetch('/mcp/three', { json: { jsonrpc: '2.0', id: 1, method: 'ping' } });
  assert.equal(unknown.status, 404);
  assert.match(await unknown.text(), /no MCP server 'three'/);
});

test('a client of the revision without sessions lists and calls them, gets prompts and reads resources', async (t) => {
  const client = new StatelessClient(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  t.after(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${testKey}` } };
  await client.connect(new StatelessTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'one__add'));
  const sum = await client.callTool({ name: 'one__add', arguments: { a: 2, b: 2 } });
  assert.deepEqual(sum.structuredContent, { sum: 4 });
  assert.match(client.getInstructions()!, /Add before you search/);
  const prompt = await client.getPrompt({ name: 'one__greet', arguments: { who: 'Ada' } });
  assert.match(JSON.stringify(prompt.messages), /Greet Ada\./);
  const { contents } = await client.readResource({ uri: 'one+file:///notes.txt' });
  assert.match(JSON.stringify(contents), /Content of file:\/\/\/notes\.txt/);
});

test('what a server says about itself reaches assistants, bounded, and no key that may not use the server', async (t) => {
  assert.equal((await connected(t, testKey, '/mcp/one')).getInstructions(), 'Add before you search.');
  const long = (await connected(t, testKey, '/mcp/two')).getInstructions()!;
  assert.match(long, /^Long: x+…$/);
  assert.equal(long.length, 16_000);
  assert.match((await connected(t, testKey, '/mcp/older')).getInstructions()!, /'older', through a Culvert gateway/);
  const all = (await connected(t)).getInstructions()!;
  assert.match(all, /^Web search/);
  assert.match(all, /'one', whose tools begin with 'one__':\nAdd before you search\.\n\n.*'two__':\nLong: x+…$/);
  assert.ok(all.length < 3_000, `${all.length} characters`);
  const narrow = (await connected(t, narrowKey)).getInstructions()!;
  assert.match(narrow, /Add before you search/);
  assert.doesNotMatch(narrow, /Long/);
});

test('prompts and resources are passed on, with the name of their server', async (t) => {
  const client = await connected(t);
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some(({ name }) => name === 'one__greet'));
  assert.ok(!prompts.some(({ name }) => name === 'two__greet'), 'two allows two tools only');
  const { messages } = await client.getPrompt({ name: 'one__greet', arguments: { who: 'Bob' } });
  assert.deepEqual(messages[0]?.content, { type: 'text', text: 'Greet Bob.' });
  const { resources } = await client.listResources();
  assert.ok(resources.some(({ uri, name }) => uri === 'one+file:///notes.txt' && name === 'one__notes'));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate === 'one+note://{id}'));
  const { contents } = await client.readResource({ uri: 'one+note://7' });
  assert.equal((contents[0] as { text: string }).text, 'Content of note://7');
  await assert.rejects(client.readResource({ uri: 'three+note://7' }), /No MCP server has the resource/);
  await assert.rejects(client.getPrompt({ name: 'one__nothing' }), /No MCP server .* prompt 'one__nothing'/);
  const alone = await connected(t, testKey, '/mcp/one');
  assert.deepEqual(
    (await alone.listResources()).resources.map(({ uri }) => uri),
    ['file:///notes.txt'],
  );
  await alone.readResource({ uri: 'note://7' });
  await alone.getPrompt({ name: 'greet', arguments: { who: 'Bob' } });
});

test('arguments of prompts and templates are completed by their server, and cost nothing', async (t) => {
  const client = await connected(t);
  const prompt = { type: 'ref/prompt', name: 'one__greet' } as const;
  const note = { type: 'ref/resource', uri: 'one+note://{id}' } as const;
  const argument = { name: 'who', value: 'Bo' };
  const units = await used();
  const named = await client.complete({ ref: prompt, argument, context: { arguments: { tone: 'kind' } } });
  assert.deepEqual(named.completion, { values: ['greet who Bo…', '{"tone":"kind"}'], total: 7, hasMore: true });
  const placed = await client.complete({ ref: note, argument: { name: 'id', value: '' } });
  assert.deepEqual(placed.completion.values, ['note://{id} id …', 'null']);
  const many = await client.complete({ ref: prompt, argument: { name: 'who', value: 'many' } });
  assert.equal(many.completion.values.length, 100);
  assert.equal(many.completion.hasMore, true);
  assert.equal(await used(), units);
  const alone = await connected(t, testKey, '/mcp/one');
  const own = await alone.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument });
  assert.equal(own.completion.values[0], 'greet who Bo…');
  const older = { ...note, uri: 'older+note://{id}' };
  assert.deepEqual((await client.complete({ ref: older, argument })).completion.values, []);
  await assert.rejects(client.complete({ ref: prompt, argument: { name: 'who', value: 'broken' } }), /It broke/);
  await assert.rejects(client.complete({ ref: { ...prompt, name: 'one__nothing' }, argument }), {
    code: -32_602,
    message: /No MCP server .* prompt 'one__nothing'/,
  });
  const wrong = client.complete({ ref: prompt, argument: { name: 'who' } as typeof argument });
  await assert.rejects(wrong, { code: -32_602, message: /'params\.argument\.value' must be the text so far/ });
  const narrow = await connected(t, narrowKey);
  await assert.rejects(narrow.complete({ ref: { ...note, uri: 'two+note://{id}' }, argument }), /does not allow/);
});

test('a server with resources that knows no templates of them is offered with none', async (t) => {
  const client = await connected(t, testKey, '/mcp/older');
  assert.deepEqual(
    (await client.listResources()).resources.map(({ uri }) => uri),
    ['file:///notes.txt'],
  );
  assert.deepEqual((await client.listResourceTemplates()).resourceTemplates, []);
  assert.ok((await names(client)).includes('add'));
});

test('a server that has never said what it offers is an error at its address, and no empty list', async (t) => {
  const client = await connected(t, testKey, '/mcp/nowhere');
  await assert.rejects(client.listTools(), /'nowhere' is down/);
  await assert.rejects(client.listResources(), /'nowhere' is down/);
});

test('addresses of resources in results are those that the client can read', async (t) => {
  for (const [path, name, place] of [
    ['/mcp', 'one__links', 'one+'],
    ['/mcp/one', 'links', ''],
  ] as const) {
    const client = await connected(t, testKey, path);
    const { content, _meta } = CallToolResultSchema.parse(await client.callTool({ name }));
    const view = place === '' ? 'ui://view' : 'ui://one/view';
    assert.deepEqual(_meta, { ui: { resourceUri: view }, spent: 7 });
    assert.deepEqual((await client.readResource({ uri: view })).contents, [
      { uri: view, mimeType: 'text/plain', text: 'Content of ui://view' },
    ]);
    assert.deepEqual(
      content.map((part) => ('uri' in part ? part.uri : 'resource' in part ? part.resource.uri : null)),
      [`${place}note://7`, `${place}note://8`, 'https://example.org/'],
    );
    const { contents } = await client.readResource({ uri: `${place}note://7` });
    assert.deepEqual(contents, [{ uri: `${place}note://7`, mimeType: 'text/plain', text: 'Content of note://7' }]);
    const { messages } = await client.getPrompt({ name: name.replace('links', 'greet'), arguments: { who: 'Bob' } });
    assert.deepEqual(messages[1]!.content, {
      type: 'resource',
      resource: { uri: `${place}note://9`, text: 'Nine.' },
    });
    const tool = (await client.listTools()).tools.find((one) => one.name === name)!;
    assert.deepEqual(tool._meta, {
      ui: { resourceUri: view, visibility: ['model'] },
      'openai/outputTemplate': view,
    });
  }
});

test('a tool that a server has added is known when it is called', async (t) => {
  const tools = ['first'];
  const server = await startMcpServer(t, { form: 'stateless', tools });
  const own = await startGateway(t, { mcp: { servers: { own: { url: server.url } } } });
  const call = (tool: string) => own.fetch('/v1/mcp/call', { json: { tool } });
  await until('it is up', async () => (await call('own__first')).ok);
  tools.push('second');
  await until('the new one is known', async () => (await call('own__second')).ok, 20_000);
  assert.equal((await call('own__third')).status, 404);
});

test('a key that may not call a server makes nobody ask it for new tools', async (t) => {
  const server = await startMcpServer(t, { form: 'stateless', tools: ['first'] });
  const own = await startGateway(t, {
    mcp: { servers: { own: { url: server.url } } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: narrowKey, account: 'dev', name: 'narrow', limits: { mcp: ['other'] } },
    ],
  });
  const call = (tool: string, key: string) =>
    own.fetch('/v1/mcp/call', { json: { tool }, headers: { authorization: `Bearer ${key}` } });
  await until('it is up', async () => (await call('own__first', testKey)).ok);
  let heard = 0;
  await until('every process has its list', async () => {
    heard = server.heard().length;
    await sleep(1_100);
    return server.heard().length === heard;
  });
  assert.equal((await call('own__third', narrowKey)).status, 404);
  assert.equal(server.heard().length, heard);
});

test('a tool that runs as a task only is not offered, since no client could call it', async (t) => {
  assert.ok(!(await names(await connected(t))).includes('one__task'));
});

test('why a call failed reaches clients that check results against the schema of their tool', async (t) => {
  const client = await connected(t);
  await client.listTools();
  assert.deepEqual((await call(client, 'one__typed', { chars: 3 })).structuredContent, { text: 'xxx' });
  const { isError, text } = await call(client, 'one__typed', { chars: 200_000 });
  assert.equal(isError, true);
  assert.match(text, /more than 102400 bytes/);
});

test('a call costs costs.mcp and has a row in the ledger with its tool; lists and refusals cost nothing', async (t) => {
  const client = await connected(t);
  const before = await used();
  await client.listTools();
  assert.ok((await call(client, 'one__nothing')).isError);
  assert.ok((await call(client, 'one__throw')).isError);
  assert.equal(await used(), before);
  await call(client, 'one__add', { a: 1, b: 1 });
  assert.equal(Math.round(((await used()) - before) * 1_000), 500);
  const response = await gateway.fetch('/admin/v1/requests?endpoint=mcp-call&limit=50', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { data } = (await response.json()) as {
    data: { model: string; status: number; cost: number; key_name: string }[];
  };
  const found = data.find(({ model, status }) => model === 'one__add' && status === 200);
  assert.ok(found !== undefined, JSON.stringify(data));
  assert.ok(data.some(({ model, status }) => model === 'one__throw' && status === 400));
});

test('the ledger says which key called which tool of which server, what failed, and nothing of the contents', async (t) => {
  const client = await connected(t);
  await call(client, 'one__add', { a: 20_111, b: 20_222 });
  await call(client, 'one__fail', { secret: 'argument-canary' });
  await call(client, 'two__wait');
  await client.readResource({ uri: 'one+note://resource-canary' });
  const listed = async (query: string) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const response = await gateway.fetch(`/admin/v1/requests?limit=50&${query}`, { headers });
    return ((await response.json()) as { data: LedgerRow[] }).data;
  };
  await until('it comes about', async () =>
    (await listed('mcp_server=one')).some(({ route }) => route.mcp?.kind === 'resource'),
  );
  const ofOne = await listed('mcp_server=one');
  assert.ok(ofOne.every(({ route }) => route.mcp!.server === 'one'));
  assert.deepEqual(ofOne.find(({ route }) => route.mcp!.outcome === 'tool-error')!.route.mcp, {
    server: 'one',
    kind: 'tool',
    name: 'fail',
    host: null,
    outcome: 'tool-error',
    bytes: JSON.stringify({ content: [{ type: 'text', text: 'It did not work.' }], isError: true }).length,
  });
  const failed = await listed('mcp_server=two&class=failed');
  assert.deepEqual(
    failed.map(({ route, class: why, tenant }) => [route.mcp!.name, route.mcp!.outcome, why, tenant]),
    [['wait', 'timeout', 'mcp-failed', 'dev/test']],
  );
  const toolErrors = await listed('class=tool-error');
  assert.ok(toolErrors.length > 0 && toolErrors.every(({ status, units }) => status === 200 && units === 0.5));
  assert.deepEqual(await listed('mcp_server=on'), []);
  assert.doesNotMatch(JSON.stringify(await listed('endpoint=mcp-call')), /canary|20111|20222/);
});

test('a key or a plan that names servers and tools has no others, in lists and in calls', async (t) => {
  const narrow = await connected(t, narrowKey);
  assert.deepEqual(
    (await names(narrow)).filter((name) => name.includes('__')),
    ['one__add'],
  );
  assert.equal((await call(narrow, 'one__add', { a: 1, b: 2 })).text, '3');
  const refused = await call(narrow, 'one__fail');
  assert.match(refused.text, /plan or the key does not allow the tool 'one__fail'/);
  await assert.rejects(narrow.readResource({ uri: 'one+file:///notes.txt' }), /does not allow the resource/);
  const planned = await connected(t, plannedKey);
  const theirs = (await names(planned)).filter((name) => name.includes('__'));
  assert.ok(theirs.includes('one__fail') && theirs.includes('two__add') && !theirs.includes('two__wait'));
  assert.ok(!theirs.some((name) => name.startsWith('program')));
  assert.equal(
    (await gateway.fetch('/mcp/program', { json: {}, headers: { authorization: `Bearer ${plannedKey}` } })).status,
    404,
  );
});

test('what a server refuses, or does too slowly or too largely, is a result that says so and costs nothing', async (t) => {
  const client = await connected(t);
  const before = await used();
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['one__throw', {}, /one: refused: It broke\./],
    ['one__large', { chars: 200_000 }, /MCP server 'one' answered with more than 102400 bytes/],
    ['two__wait', {}, /MCP server 'two' took longer than 2 s/],
    ['nowhere__any', {}, /MCP server 'nowhere' (is down \()?could not be reached \(ECONNREFUSED\)/],
    ['legacy__any', {}, /answered 405 to a POST.* Its address of Streamable HTTP often ends in \/mcp/],
    ['one__secret', {}, /has a tool 'one__secret'/],
    ['one__ad', {}, /did you mean 'one__add'/],
  ];
  for (const [name, args, words] of cases) {
    const { isError, text } = await call(client, name, args);
    assert.ok(isError, name);
    assert.match(text, words);
  }
  assert.equal(await used(), before);
  const failed = await call(client, 'one__fail');
  assert.ok(failed.isError);
  assert.equal(failed.text, 'It did not work.');
});

test('each key has a session of its own, and a slow call of one delays no other', async (t) => {
  const client = await connected(t);
  const slow = await connected(t, slowKey);
  const leaving = new AbortController();
  const waited = slow.callTool({ name: 'one__wait' }, undefined, { signal: leaving.signal });
  const gone = assert.rejects(waited);
  await until('it comes about', () => one.waiting() === 1);
  assert.equal((await call(client, 'one__add', { a: 1, b: 1 })).text, '2');
  const sessions = new Set(one.heard().map((headers) => headers['mcp-session-id']));
  assert.ok(sessions.size >= 3, 'that of the gateway, and one of each key');
  leaving.abort();
  await gone;
  // The SDK's client keeps its connection; whoever closes it has left.
  await slow.close();
  await until('it comes about', () => one.waiting() === 0);
});

test('a caller who leaves ends the call at the server', async () => {
  const leaving = new AbortController();
  const asked = gateway.fetch('/v1/mcp/call', { json: { tool: 'one__wait' }, signal: leaving.signal });
  const gone = assert.rejects(asked);
  await until('it comes about', () => one.waiting() === 1);
  leaving.abort();
  await gone;
  await until('it comes about', () => one.waiting() === 0);
});

test('a server that answers 400 for sessions that it forgot is asked in a new one, and goes on in it', async (t) => {
  const client = await connected(t);
  await call(client, 'older__add', { a: 1, b: 1 });
  for (let round = 0; round < 2; round++) {
    older.forget();
    assert.equal((await call(client, 'older__add', { a: 2, b: round })).text, String(2 + round));
  }
  for (let round = 0; round < 3; round++) await call(client, 'older__add', { a: 1, b: 1 });
  // Of each process one is the gateway's, if it has looked meanwhile.
  assert.ok(older.sessions() <= 2 * testProcesses, `${older.sessions()} sessions`);
});

test('a server that forgot its sessions is asked in a new one', async (t) => {
  const client = await connected(t);
  await call(client, 'one__add', { a: 1, b: 1 });
  one.forget();
  assert.equal((await call(client, 'one__add', { a: 1, b: 2 })).text, '3');
});

test('a program that does not start is quoted, without its variables and arguments', async (t) => {
  const client = await connected(t);
  const { text } = await call(client, 'broken__any');
  assert.match(text, /closed the connection; it wrote: .*SHOP_KEY is missing.*Error: It ends\./);
  assert.doesNotMatch(text, /secret/);
  assert.match((await call(client, 'unknown__any')).text, /could not be started: its command was not found \(ENOENT\)/);
});

const facts = async (client: Client) =>
  JSON.parse((await call(client, 'program__process')).text) as { pid: number; env: Record<string, string> };

test('a program runs for each key, without our environment; one that dies is started again', async (t) => {
  process.env.CULVERT_TEST_SECRET = 'of the gateway';
  t.after(() => {
    delete process.env.CULVERT_TEST_SECRET;
  });
  const [mine, theirs] = [await overOneConnection(t, testKey), await overOneConnection(t, slowKey)];
  const [a, b] = [await facts(mine), await facts(theirs)];
  assert.notEqual(a.pid, b.pid);
  assert.equal(a.env.OF_THE_PROGRAM, 'yes');
  assert.equal(a.env.CULVERT_TEST_SECRET, undefined);
  const died = await call(mine, 'program__die');
  assert.match(died.text, /MCP server 'program' closed the connection/);
  const c = await facts(mine);
  assert.ok(c.pid !== a.pid);
  assert.equal((await facts(theirs)).pid, b.pid, 'that of another key runs on');
  const third = await connected(t, narrowKey);
  assert.match((await call(third, 'program__process')).text, /does not allow/);
});

test('a key beyond the number of processes takes the place of the one that has rested longest', {
  skip: testProcesses > 1 && 'each process of the gateway has programs of its own',
}, async (t) => {
  const [mine, theirs, third] = [await connected(t), await connected(t, slowKey), await connected(t, thirdKey)];
  const [a, b] = [await facts(mine), await facts(theirs)];
  const c = await facts(third);
  assert.equal((await facts(theirs)).pid, b.pid, 'it was used after the first');
  assert.equal((await facts(third)).pid, c.pid);
  const d = await facts(mine);
  assert.equal(new Set([a.pid, b.pid, c.pid, d.pid]).size, 4, 'the first was ended');
  assert.equal((await facts(third)).pid, c.pid, 'and now theirs');
  assert.notEqual((await facts(theirs)).pid, b.pid);
});

test('without MCP, /v1/mcp/tools lists them and /v1/mcp/call calls them', async () => {
  const lists = (await (await gateway.fetch('/v1/mcp/tools')).json()) as { tools: { name: string }[] };
  assert.ok(lists.tools.some(({ name }) => name === 'one__add'));
  const response = await gateway.fetch('/v1/mcp/call', { json: { tool: 'one__add', arguments: { a: 4, b: 5 } } });
  assert.equal(response.headers.get('x-culvert-cost'), '0.5');
  assert.deepEqual(((await response.json()) as Result).structuredContent, { sum: 9 });
  const wrong: [unknown, number, RegExp][] = [
    [{}, 400, /Give one of/],
    [{ tool: 'one__add', prompt: 'one__greet' }, 400, /Give one of/],
    [{ tool: 5 }, 400, /'tool' must be a string/],
    [{ tool: 'one__add', arguments: [] }, 400, /'arguments' must be an object/],
    [{ prompt: 'one__greet', arguments: { who: 5 } }, 400, /'arguments' must be an object of strings/],
    [{ tool: 'one__add', more: 1 }, 400, /unknown.*more/],
    [{ tool: 'add' }, 404, /No MCP server/],
    [{ tool: '__proto__' }, 404, /No MCP server/],
    [{ resource: 'constructor+x:y' }, 404, /No MCP server/],
    [[], 400, /JSON object/],
  ];
  for (const [json, status, words] of wrong) {
    const refused = await gateway.fetch('/v1/mcp/call', { json });
    assert.equal(refused.status, status, JSON.stringify(json));
    assert.match(await refused.text(), words);
  }
  const down = await gateway.fetch('/v1/mcp/call', { json: { tool: 'nowhere__x' } });
  assert.ok(down.status === 502 || (down.status === 503 && Number(down.headers.get('retry-after')) > 0));
  await down.text();
});

async function toolNames(to: TestGateway): Promise<string[]> {
  const { tools } = (await (await to.fetch('/v1/mcp/tools')).json()) as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
}

test('a server that goes down is told so at once, and is used again when it is back; a reload changes the servers', async (t) => {
  const server = await startMcpServer(t, { tools: ['a'] });
  const port = Number(server.place.split(':')[1]);
  const servers = { first: { url: server.url, tools: { allow: ['a'] } } };
  const own = await startGateway(t, { mcp: { servers } });
  assert.deepEqual(await toolNames(own), ['first__a']);
  const asked = () => own.fetch('/v1/mcp/call', { json: { tool: 'first__a' } });
  assert.equal((await asked()).status, 200);
  await server.close();
  assert.equal((await asked()).status, 502);
  await until('it comes about', async () => (await asked()).status === 503);
  assert.deepEqual(await toolNames(own), ['first__a'], 'its list stays');
  await startMcpServer(t, { tools: ['a'], port });
  await until('it comes about', async () => (await asked()).status === 200);
  await own.reload({ mcp: { servers: { ...servers, second: { url: one.url, tools: { allow: ['add'] } } } } });
  assert.deepEqual(await toolNames(own), ['first__a', 'second__add']);
  await own.reload({});
  assert.deepEqual(await toolNames(own), []);
});

test('a new server that never answers keeps nobody from the others', async (t) => {
  let asked = 0;
  const hanging = await startMcpServer(t, { before: () => ++asked > 0 });
  const known = { one: { url: one.url } };
  const own = await startGateway(t, { mcp: { servers: { ...known, hanging: { url: hanging.url } } } });
  const startedMs = performance.now();
  const json = { tool: 'one__add', arguments: { a: 1, b: 2 } };
  const answer = await own.fetch('/v1/mcp/call', { json });
  assert.equal(answer.status, 200);
  await connected(t, testKey, '/mcp/one', own).then((client) => client.listTools());
  assertWithin(performance.now() - startedMs, 9_000);
});

test('lists of all servers come before an assistant gives up, also while one hangs', async (t) => {
  const hanging = await startMcpServer(t, { before: () => true });
  const own = await startGateway(t, { mcp: { servers: { one: { url: one.url }, hanging: { url: hanging.url } } } });
  const client = await connected(t, testKey, '/mcp', own);
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'one__add'));
  // Codex waits ten seconds for both. The look at the other one takes fifteen.
  const { body } = await callAdmin<{ data: { name: string; status: string }[] }>(own, 'GET', '/mcp-servers');
  assert.equal(body.data.find(({ name }) => name === 'hanging')?.status, 'unknown');
});
