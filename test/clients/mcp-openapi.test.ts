import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';

/* HTTP APIs that an OpenAPI document describes, as MCP tools (docs/mcp.md). */

interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}
const asked: Asked[] = [];
let reply: { status?: number; type?: string; body?: string | Buffer; afterMs?: number } = {};
let document: unknown;

const api = createServer((request, response) => {
  void request.toArray().then((chunks) => {
    const { method = '', url = '', headers } = request;
    asked.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    const isDocument = url.startsWith('/openapi.json');
    const {
      status = 200,
      type = 'application/json',
      body = '{"ok":true}',
      afterMs = 0,
    } = isDocument ? { body: typeof document === 'string' ? document : JSON.stringify(document) } : reply;
    setTimeout(
      () => response.writeHead(status, { 'content-type': type, location: 'http://127.0.0.1:1/' }).end(body),
      afterMs,
    );
  });
}).listen(0, '127.0.0.1');
await new Promise((resolve) => api.once('listening', resolve));
after(() => {
  api.closeAllConnections();
  api.close();
});
const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;

const pet = { $ref: '#/components/schemas/Pet' };
const pets = (servers: object[] = [{ url: '/v3/{tenant}', variables: { tenant: { default: 'acme' } } }]) => ({
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  servers,
  paths: {
    '/pets/{id}': {
      parameters: [
        { name: 'id', in: 'path', required: true, schema: { type: 'string' }, description: 'Id of the pet.' },
      ],
      get: {
        operationId: 'getPet',
        summary: 'One pet',
        description: 'With its owner.',
        parameters: [
          { name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'filter', in: 'query', style: 'deepObject', explode: true, schema: { type: 'object' } },
          { name: 'x-trace', in: 'header', schema: { type: 'string' } },
          { name: 'authorization', in: 'header', schema: { type: 'string' } },
        ],
      },
      delete: { operationId: 'delete pet!' },
    },
    '/pets': {
      post: {
        operationId: 'addPet',
        requestBody: { required: true, content: { 'application/json': { schema: pet } } },
      },
      put: { requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } } } },
    },
    '/upload': {
      post: { operationId: 'upload', requestBody: { required: true, content: { 'multipart/form-data': {} } } },
    },
    '/cookie': {
      get: { operationId: 'cookie', parameters: [{ name: 'sid', in: 'cookie', required: true }] },
    },
  },
  components: {
    schemas: {
      Pet: {
        type: 'object',
        required: ['id', 'name'],
        properties: {
          id: { type: 'integer', readOnly: true },
          name: { type: 'string', nullable: true },
          parent: pet,
        },
      },
    },
  },
});
document = pets();
const folder = temporaryFolder({ after });
const file = join(folder, 'pets.yaml');
writeFileSync(
  file,
  `openapi: 3.0.3\nservers: [{ url: "${url}/of-file" }]\npaths:\n  /ping: { get: { operationId: ping } }\n`,
);
const server = { headers: { authorization: 'Bearer of-the-operator' }, max_bytes: '10kb' };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    mcp: {
      servers: {
        pets: { openapi: `${url}/openapi.json`, timeout: '2s', tools: { deny: ['delete_*'] }, ...server },
        'of-file': { openapi: file, ...server },
        moved: { openapi: `${url}/openapi.json`, base_url: `${url}/moved`, ...server },
        absent: { openapi: join(folder, 'absent.json') },
      },
    },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: 'sk-cv-test-key-narrow', account: 'dev', name: 'narrow', limits: { mcp: ['of-file'] } },
    ],
  },
);

beforeEach(() => {
  asked.length = 0;
  reply = {};
});

type Result = { isError?: boolean; content: { type: string; text?: string; data?: string; mimeType?: string }[] };

async function connected(t: TestContext, key = testKey) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  t.after(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  const call = async (name: string, args: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: args })) as Result;
  return { client, call };
}

const calls = () => asked.filter(({ url: path }) => !path.startsWith('/openapi.json'));

test('operations are tools with the schemas of their arguments', async (t) => {
  const { client } = await connected(t);
  const { tools } = await client.listTools();
  const ofPets = tools.filter(({ name }) => name.startsWith('pets__'));
  assert.deepEqual(ofPets.map(({ name }) => name).sort(), ['pets__addPet', 'pets__getPet', 'pets__put_pets']);
  const get = ofPets.find(({ name }) => name === 'pets__getPet')!;
  assert.equal(get.description, 'One pet\n\nWith its owner.');
  assert.equal(get.annotations?.readOnlyHint, true);
  assert.deepEqual(Object.keys(get.inputSchema.properties ?? {}), ['id', 'fields', 'filter', 'x-trace']);
  assert.deepEqual(get.inputSchema.required, ['id']);
  const add = ofPets.find(({ name }) => name === 'pets__addPet')!;
  assert.deepEqual(add.inputSchema.properties, {
    body: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: ['string', 'null'] }, parent: {} },
    },
  });
  assert.ok(tools.some(({ name }) => name === 'of-file__ping'));
  await assert.rejects(client.readResource({ uri: 'pets+note://7' }), /pets: has no prompts and no resources/);
});

test('a call is a request with path, query, headers and body where the document puts them', async (t) => {
  const { call } = await connected(t);
  const result = await call('pets__getPet', {
    id: 'a/b c',
    fields: ['name', 'owner'],
    filter: { age: 3 },
    'x-trace': 't1',
  });
  assert.deepEqual(result.content, [{ type: 'text', text: '{"ok":true}' }]);
  await call('pets__addPet', { body: { name: 'Ida' } });
  await call('pets__put_pets', { body: { name: 'I & J', tags: ['a', 'b'] } });
  await call('of-file__ping');
  await call('moved__getPet', { id: '1' });
  assert.deepEqual(
    calls().map(({ method, url: path, body }) => [method, path, body]),
    [
      ['GET', '/v3/acme/pets/a%2Fb%20c?fields=name&fields=owner&filter%5Bage%5D=3', ''],
      ['POST', '/v3/acme/pets', '{"name":"Ida"}'],
      ['PUT', '/v3/acme/pets', 'name=I+%26+J&tags=a&tags=b'],
      ['GET', '/of-file/ping', ''],
      ['GET', '/moved/pets/1', ''],
    ],
  );
  const [first, second] = calls();
  assert.equal(first!.headers.authorization, 'Bearer of-the-operator');
  assert.equal(first!.headers['x-trace'], 't1');
  assert.equal(second!.headers['content-type'], 'application/json');
});

test('arguments that do not fit are a result that names them, and nothing is sent or charged', async (t) => {
  const { call } = await connected(t);
  const used = async () =>
    ((await (await gateway.fetch('/v1/usage')).json()) as { windows: { month: { used: number } } }).windows.month.used;
  const before = await used();
  for (const [args, message] of [
    [{}, /'id' is missing/],
    [{ id: '..' }, /'id' cannot be part of a path/],
    [{ id: 'x', other: 1 }, /'other' is not an argument/],
    [{ id: 'x', authorization: 'Bearer mine' }, /'authorization' is not an argument/],
    [{ id: 'x', 'x-trace': 'a\r\nb: c' }, /'x-trace' has characters/],
  ] as const) {
    const { isError, content } = await call('pets__getPet', args);
    assert.equal(isError, true);
    assert.match(content[0]!.text!, message);
  }
  assert.equal(calls().length, 0);
  assert.equal(await used(), before);
  assert.ok(!(await call('pets__getPet', { id: '1' })).isError);
  assert.equal(await used(), before + 1);
});

test('what an API answers is told as it is: errors, pictures, redirects, bytes, nothing', async (t) => {
  const { call } = await connected(t);
  for (const [answer, isError, content] of [
    [{ status: 404, body: '{"message":"no pet"}' }, true, { type: 'text', text: 'HTTP 404\n{"message":"no pet"}' }],
    [
      { status: 401, body: 'not for Bearer of-the-operator, of-the-operator' },
      true,
      { type: 'text', text: 'HTTP 401\nnot for [redacted], [redacted]' },
    ],
    [{ status: 302 }, true, { type: 'text', text: 'HTTP 302: the API redirects, which Culvert does not follow.' }],
    [{ status: 204, body: '' }, undefined, { type: 'text', text: 'HTTP 204' }],
    [
      { type: 'image/png', body: Buffer.from([1, 2, 255]) },
      undefined,
      { type: 'image', data: Buffer.from([1, 2, 255]).toString('base64'), mimeType: 'image/png' },
    ],
    [
      { type: 'application/zip', body: Buffer.from([0x50, 0xff, 0xfe]) },
      true,
      { type: 'text', text: 'The answer is 3 bytes of application/zip, which is not text.' },
    ],
  ] as const) {
    reply = answer;
    const result = await call('pets__getPet', { id: '1' });
    assert.deepEqual([result.isError, result.content], [isError, [content]]);
  }
  for (const [answer, message] of [
    [{ body: 'x'.repeat(20_000) }, /more bytes than max_bytes/],
    [{ afterMs: 5_000 }, /took longer than 2 s/],
  ] as const) {
    reply = answer;
    const { isError, content } = await call('pets__getPet', { id: '1' });
    assert.equal(isError, true);
    assert.match(content[0]!.text!, message);
  }
});

test('a key sees only what it may use; a document that cannot be read is told to the operator', async (t) => {
  const { client } = await connected(t, 'sk-cv-test-key-narrow');
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name).filter((name) => name.includes('__')),
    ['of-file__ping'],
  );
  const shown = await gateway.fetch('/admin/v1/mcp-servers', { headers: { authorization: `Bearer ${adminKey}` } });
  const { data } = (await shown.json()) as { data: { name: string; transport: string; status: string; why: string }[] };
  const absent = data.find(({ name }) => name === 'absent')!;
  assert.deepEqual([absent.transport, absent.status], ['openapi', 'down']);
  assert.match(absent.why, /no document at the path/);
});

test('documents that are odd, hostile or lead elsewhere make no tools, and the reason is said', async (t) => {
  const loop = { $ref: '#/components/schemas/Loop' };
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`p${at}`, loop]));
  const alone = await startGateway(t, {});
  const why = async (written: unknown) => {
    document = written;
    // The query makes it another server.
    await alone.reload({ mcp: { servers: { odd: { openapi: `${url}/openapi.json?${asked.length}` } } } });
    let found: string | null = null;
    await until('the server was looked at', async () => {
      const answer = await alone.fetch('/admin/v1/mcp-servers', { headers: { authorization: `Bearer ${adminKey}` } });
      const { data } = (await answer.json()) as { data: { status: string; why: string | null }[] };
      found = data[0]?.status === 'unknown' ? null : (data[0]?.why ?? 'up');
      return found !== null;
    });
    return found;
  };
  t.after(() => {
    document = pets();
  });
  for (const [written, reason] of [
    ['no document', /is not an OpenAPI document/],
    ['{', /is not valid JSON/],
    [{ swagger: '2.0' }, /Swagger 2/],
    [{ openapi: '3.0.0', paths: {} }, /no operation/],
    [pets([{ url: 'http://127.0.0.1:1/elsewhere' }]), /elsewhere than its document; set base_url/],
    [pets([{ url: 'file:///etc' }]), /not http/],
    [
      {
        openapi: '3.0.0',
        paths: { '/a': { post: { requestBody: { content: { 'application/json': { schema: loop } } } } } },
        components: { schemas: { Loop: { properties: wide } } },
      },
      /^up$/,
    ],
  ] as const)
    assert.match(String(await why(written)), reason);
});
