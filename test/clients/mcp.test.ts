import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { cleanEnv, culvertBin, runCommand, temporaryFolder } from '../start-process.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';

const fewKey = 'sk-cv-test-key-few-units';
/** Of an account of its own: its cost disturbs nobody's count. */
const asideKey = 'sk-cv-test-key-aside';
const site = await startAwkwardSite({ after });
const gateway = await startGateway(
  { after: after as never },
  {
    fetch: { allow_private: [site.place] },
    plans: {
      default: { rpm: 'off' },
      few: { rpm: 'off', windows: { '5h': 1 } },
      slow: { rpm: 5, windows: 'off' },
      one: { rpm: 'off', concurrency: 1 },
    },
    tools: { search: { providers: [{ type: 'corpus' }] } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: fewKey, account: 'few', name: 'test', plan: 'few' },
      { key: asideKey, account: 'aside', name: 'test', plan: 'one' },
      { key: otherKey, account: 'slow', name: 'test', plan: 'slow' },
    ],
  },
);

type Done = {
  isError?: boolean;
  structuredContent?: Record<string, unknown>;
  content: { type: string; text: string }[];
};
type Arguments = Record<string, unknown>;

function clientOf(t: { after(done: () => Promise<void>): void }): Client {
  const client = new Client({ name: 'test', version: '1.0.0' });
  t.after(() => client.close());
  return client;
}

async function overHttp(t: { after(done: () => Promise<void>): void }, key: string = testKey): Promise<Client> {
  const client = clientOf(t);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  return client;
}

function bridgeWith(key: string, url = gateway.url): StdioClientTransport {
  const env = cleanEnv({ CULVERT_API_KEY: key });
  return new StdioClientTransport({ command: process.execPath, args: [culvertBin, 'mcp', '--url', url], env });
}

async function call(client: Client, name: string, args: Arguments = {}): Promise<Done & { text: string }> {
  const done = (await client.callTool({ name, arguments: args })) as Done;
  return { ...done, text: done.content[0]!.text };
}

async function used(key = testKey): Promise<number> {
  const response = await gateway.fetch('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
  const { windows } = (await response.json()) as { windows: { month: { used: number } } };
  return windows.month.used;
}

/** Units that a call costs. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  const before = await used();
  await work();
  return Math.round(((await used()) - before) * 1_000) / 1_000;
}

const toolNames = ['search', 'scrape', 'crawl', 'create_collection', 'vector_search', 'vector_upsert', 'list_models'];

test('an MCP client connects without a session, and lists the tools with their schemas, free of charge', async (t) => {
  const cost = await costOf(async () => {
    const client = await overHttp(t);
    assert.equal(client.getServerVersion()?.name, 'culvert');
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      toolNames,
    );
    for (const { name, description, inputSchema, annotations } of tools) {
      assert.equal(inputSchema.type, 'object', name);
      assert.ok(description!.length > 20 && annotations?.readOnlyHint !== undefined, name);
    }
    // Assistants ask people before a call by these.
    const hinted = (hint: 'readOnlyHint' | 'openWorldHint' | 'destructiveHint') =>
      tools.filter(({ annotations }) => annotations?.[hint] === true).map(({ name }) => name);
    assert.deepEqual(hinted('readOnlyHint'), ['search', 'scrape', 'vector_search', 'list_models']);
    assert.deepEqual(hinted('openWorldHint'), ['search', 'scrape', 'crawl']);
    assert.deepEqual(hinted('destructiveHint'), ['vector_upsert']);
    assert.doesNotMatch(JSON.stringify(tools), /9007199254740991/);
    const scrape = tools.find(({ name }) => name === 'scrape')!;
    assert.deepEqual(scrape.inputSchema.required, ['url']);
  });
  assert.equal(cost, 0);
});

test('`arguments: null`, as clients in Python or Go say it, is none', async () => {
  const answer = await gateway.fetch('/mcp', {
    json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_models', arguments: null } },
    headers: { accept: 'application/json, text/event-stream' },
  });
  const { result, error } = (await answer.json()) as { result?: { isError?: boolean }; error?: unknown };
  assert.equal(error, undefined);
  assert.ok(result !== undefined && !result.isError);
  const listed = await gateway.fetch('/mcp', { json: { jsonrpc: '2.0', id: 2, method: 'tools/list', params: null } });
  assert.ok('result' in ((await listed.json()) as object));
});

test('scrape gives the page as markdown for a unit, and says which arguments it does not know', async (t) => {
  const client = await overHttp(t);
  const cost = await costOf(async () => {
    const { text, structuredContent, isError } = await call(client, 'scrape', { url: `${site.url}/article`, hue: 1 });
    assert.ok(!isError);
    assert.match(text, /^# An article\n\nIt has \*\*words\*\*/);
    assert.match(text, /Warning: .*hue/);
    assert.equal((structuredContent as { data: { metadata: Arguments } }).data.metadata.statusCode, 200);
  });
  assert.equal(cost, 1);
});

test('search finds the page that was scraped, for a unit', async (t) => {
  const client = await overHttp(t);
  await call(client, 'scrape', { url: `${site.url}/article` });
  const cost = await costOf(async () => {
    const { text, isError } = await call(client, 'search', { query: 'words' });
    assert.ok(!isError, text);
    assert.match(text, /\/article/);
  });
  assert.equal(cost, 1);
});

test('a crawl is begun by its url, and asked for by its id until it has its pages', async (t) => {
  const client = await overHttp(t, asideKey);
  const begun = await call(client, 'crawl', { url: `${site.url}/article`, limit: 1, sitemap: 'skip' });
  assert.ok(!begun.isError, begun.text);
  const { id, url } = begun.structuredContent as { id: string; url: string };
  assert.equal(url, `${gateway.url}/v1/tools/crawl/${id}`);
  let state: Arguments = {};
  while (state.status !== 'completed') {
    const { structuredContent, isError, text } = await call(client, 'crawl', { id });
    assert.ok(!isError, text);
    state = structuredContent!;
    assert.ok(state.status === 'scraping' || state.status === 'completed', text);
    if (state.status === 'scraping') await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.match((state.data as { markdown: string }[])[0]!.markdown, /^# An article/);
  const nobodys = await call(client, 'crawl', { id: 'crawl_unknown' });
  assert.equal(nobodys.isError, true);
  assert.match(nobodys.text, /none with this id/);
});

test('what vector_upsert stores, vector_search finds by its text; each costs what its REST call does', async (t) => {
  const client = await overHttp(t);
  const make = { collection: 'docs', embedding_model: 'culvert-lexical-1024' };
  assert.ok(!(await call(client, 'create_collection', make)).isError);
  const again = await call(client, 'create_collection', make);
  assert.ok(again.isError);
  assert.match(again.text, /'docs' exists already/);
  const points = [
    { id: 1, payload: { text: 'Bread is made of flour, water and salt.' } },
    { id: 2, payload: { text: 'The central bank raised its rates.' } },
  ];
  const rest = '/v1/vectors/collections/docs/points';
  const upsertCost = await costOf(async () => (await gateway.fetch(rest, { json: { points } })).text());
  const upserted = await costOf(async () => {
    const { isError, text } = await call(client, 'vector_upsert', { collection: 'docs', points });
    assert.ok(!isError, text);
    assert.match(text, /completed|acknowledged/);
  });
  assert.equal(upserted, upsertCost);
  const byVector = { collection: 'docs', vector: Array.from({ length: 1024 }, () => 0.1) };
  assert.equal(await costOf(async () => call(client, 'vector_search', byVector)), 0.05);
  const { text } = await call(client, 'vector_search', { collection: 'docs', text: 'baking bread', limit: 1 });
  const [hit] = JSON.parse(text) as { id: number; payload: { text: string } }[];
  assert.equal(hit?.id, 1);
  assert.match(hit.payload.text, /flour/);
});

test('list_models lists what the key may use, free of charge', async (t) => {
  const client = await overHttp(t);
  const cost = await costOf(async () => assert.match((await call(client, 'list_models')).text, /culvert-lexical-1024/));
  assert.equal(cost, 0);
});

test('what is wrong with a call is a result that says so, and costs nothing', async (t) => {
  const client = await overHttp(t);
  const wrong: [string, Arguments, RegExp][] = [
    ['scrape', {}, /'url' is missing/],
    ['scrape', { url: 'http://10.0.0.1/' }, /not on the public Internet/],
    ['search', { query: 5 }, /query/],
    ['crawl', { id: 7 }, /'id' must be/],
    ['crawl', { id: 'crawl_x', limit: 1_000 }, /'limit' must be a whole number from 1 to 100/],
    ['crawl', {}, /'url' is missing/],
    ['vector_search', { text: 'x' }, /'collection' must be/],
    ['vector_search', { collection: 'nowhere', text: 'x' }, /nowhere/],
    ['vector_upsert', { collection: '../docs', points: [] }, /./],
    ['paint', {}, /no tool 'paint'.*search, scrape/],
  ];
  const cost = await costOf(async () => {
    for (const [name, args, expected] of wrong) {
      const { isError, text } = await call(client, name, args);
      assert.equal(isError, true, name);
      assert.match(text, expected);
    }
  });
  assert.equal(cost, 0);
});

test('a reached limit is told to the assistant, in the words of the REST API', async (t) => {
  const client = await overHttp(t, fewKey);
  const args = { url: `${site.url}/article` };
  assert.ok(!(await call(client, 'scrape', args)).isError);
  const { isError, text } = await call(client, 'scrape', args);
  assert.equal(isError, true);
  assert.match(text, /Rate limit exceeded: 5-hour window, 1 of 1 requests used/);
});

test('every message counts once in requests per minute: what makes a call, as that call', async (t) => {
  // It sends initialize, and notifications/initialized.
  const client = await overHttp(t, otherKey);
  await client.listTools();
  await client.ping();
  const args = { url: `${site.url}/article` };
  assert.ok(!(await call(client, 'scrape', args)).isError);
  const { isError, text } = await call(client, 'scrape', args);
  assert.equal(isError, true);
  assert.match(text, /minute/);
  await assert.rejects(client.ping(), /requests per minute, 5 of 5/);
  await assert.rejects(client.listTools(), /requests per minute, 5 of 5/);
});

const silentPage = () => ({ url: `${site.url}/silent`, timeout: 300_000 });
const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Resolves once the call that was made holds its unit; a page that never answers keeps it there. */
async function untilHeld(before: number): Promise<void> {
  while ((await used(asideKey)) !== before + 1) await soon();
}

/** Its unit is free again, and so is its place: the plan has one. */
async function untilFree(before: number): Promise<void> {
  while ((await used(asideKey)) !== before) await soon();
}

test('whoever leaves before the answer ends the call, and pays nothing', async (t) => {
  const leaving = new AbortController();
  const before = await used(asideKey);
  const params = { name: 'scrape', arguments: silentPage() };
  const asked = gateway.fetch('/mcp', {
    json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    headers: { authorization: `Bearer ${asideKey}` },
    signal: leaving.signal,
  });
  const gone = assert.rejects(asked, /abort/);
  await untilHeld(before);
  const client = await overHttp(t, asideKey);
  const beside = await call(client, 'scrape', { url: `${site.url}/article` });
  assert.equal(beside.isError, true);
  assert.match(beside.text, /concurren/i);
  leaving.abort();
  await gone;
  await untilFree(before);
  const next = await call(client, 'scrape', { url: `${site.url}/article` });
  assert.ok(!next.isError, next.text);
});

test('without a right key there is no answer: 401', async (t) => {
  await assert.rejects(overHttp(t, 'sk-cv-wrong'), (error: Error & { code?: number }) => {
    assert.equal(error.code, 401);
    return true;
  });
});

test('what is no MCP message is refused as JSON-RPC refuses it; GET and DELETE are 405', async () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    gateway.fetch('/mcp', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"scrape","arguments":{"url":${'['.repeat(100_000)}${']'.repeat(100_000)}}}}`;
  const refused: [string, number, RegExp, Record<string, string>?][] = [
    ['{', 400, /not valid JSON/],
    ['[]', 400, /one JSON-RPC message/],
    [JSON.stringify([list, list]), 400, /one JSON-RPC message/],
    ['{"id": 1}', 400, /Invalid JSON-RPC/],
    [JSON.stringify(list), 400, /protocol version/i, { 'mcp-protocol-version': '1999-01-01' }],
    [JSON.stringify(list), 415, /text\/plain/, { 'content-type': 'text/plain' }],
    [deep, 400, /nests deeper than 64 levels/],
    [' '.repeat(1024 * 1024 + 1), 413, /larger than/],
  ];
  for (const [body, status, message, headers] of refused) {
    const response = await post(body, headers);
    const said = (await response.json()) as { jsonrpc: string; error: { code: number; message: string } };
    assert.equal(response.status, status, body.slice(0, 80));
    assert.equal(said.jsonrpc, '2.0');
    assert.match(said.error.message, message);
  }
  const unknown = (await (await post(JSON.stringify({ ...list, method: 'x/y' }))).json()) as {
    error: object;
  };
  // Clients put the code before it.
  assert.deepEqual(unknown.error, { code: -32_601, message: 'Method not found' });
  for (const method of ['GET', 'DELETE']) assert.equal((await gateway.fetch('/mcp', { method })).status, 405);
  const plain = await post(JSON.stringify(list), { accept: '*/*' });
  assert.equal(plain.status, 200);
  assert.match(plain.headers.get('x-culvert-request-id')!, /^req_/);
  await plain.text();
});

test('culvert mcp carries an assistant’s messages to the server', async (t) => {
  const client = clientOf(t);
  await client.connect(bridgeWith(testKey));
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    toolNames,
  );
  const { text } = await call(client, 'scrape', { url: `${site.url}/article` });
  assert.match(text, /^# An article/);
});

test('what an assistant cancels through culvert mcp ends on the server, and costs nothing', async (t) => {
  const client = clientOf(t);
  await client.connect(bridgeWith(asideKey));
  const before = await used(asideKey);
  const cancel = new AbortController();
  const asked = client.callTool({ name: 'scrape', arguments: silentPage() }, undefined, { signal: cancel.signal });
  const cancelled = assert.rejects(asked);
  await untilHeld(before);
  cancel.abort();
  await cancelled;
  await untilFree(before);
});

test('culvert mcp tells the assistant that its key is wrong', async (t) => {
  await assert.rejects(clientOf(t).connect(bridgeWith('sk-cv-wrong')), /key/i);
});

test('culvert mcp tells the assistant that no server answers', async (t) => {
  await assert.rejects(clientOf(t).connect(bridgeWith(testKey, 'http://127.0.0.1:9')), /If no server runs, start one/);
});

test('culvert mcp answers all that it was sent before its input ended, and says what it lacks', async (t) => {
  const cwd = temporaryFolder(t);
  const list = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' });
  const args = ['mcp', '--url', `${gateway.url}/v1`];
  const input = `${list(1)}\nno message\n${list(2)}\n`;
  const { code, stdout, stderr } = await runCommand(args, { cwd, env: { CULVERT_API_KEY: testKey }, input });
  assert.equal(code, 0, stderr);
  const ids = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: number }).id);
  assert.deepEqual(ids.sort(), [1, 2]);
  assert.match(stderr, /could not be read/);
  const keyless = await runCommand(args, { cwd });
  assert.equal(keyless.code, 1);
  assert.match(keyless.stderr, /CULVERT_API_KEY/);
});
