import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { AdminApi, AdminReply, AdminRequest } from '../../src/admin/admin-api.ts';
import { adminOperator } from '../../src/books/auth/operator.ts';
import { type AdminClient, AdminRefused, adminKey, inProcess, overHttp } from '../../src/cli/admin-client.ts';
import { chat } from '../../src/cli/commands/chat.ts';
import { models } from '../../src/cli/commands/models.ts';
import type { CliParts } from '../../src/cli/parts.ts';
import { listRows } from '../../src/cli/rows.ts';
import type { Config } from '../../src/config/schema.ts';
import { listening } from '../listening.ts';
import { closedPort, runCommand, temporaryFolder } from '../start-process.ts';

const key = 'sk-cv-admin-canary-0001';

/** Answers by its route table, and records its requests. */
function scripted(routes: Record<string, AdminReply | ((request: AdminRequest) => AdminReply)>) {
  const asked: AdminRequest[] = [];
  const api: AdminApi = {
    async handle(request) {
      asked.push(request);
      const route = routes[`${request.method} ${request.path}`];
      const answer = typeof route === 'function' ? route(request) : route;
      return answer ?? refusal(404, `There is no ${request.path}.`, null);
    },
    alerts: async () => [],
    openApi: () => ({}),
  };
  return { api, asked };
}

function json(value: unknown, status = 200): AdminReply {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

function refusal(status: number, message: string, param: string | null): AdminReply {
  return json({ error: { message, type: 't', code: status, param } }, status);
}

/** Both transports over one API: whatever a command does, it must not matter which of them it has. */
async function transports(t: TestContext, api: AdminApi): Promise<Record<'in process' | 'over HTTP', AdminClient>> {
  const server = createServer((request, response) => {
    void (async () => {
      const { pathname, searchParams } = new URL(request.url!, 'http://x');
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      const authorized = request.headers.authorization === `Bearer ${key}` && pathname.startsWith('/admin/v1/');
      const reply = authorized
        ? await api.handle({
            method: request.method as AdminRequest['method'],
            path: pathname.slice('/admin/v1'.length),
            query: searchParams,
            body,
            operator: adminOperator,
          })
        : refusal(401, 'The key is not valid.', null);
      response.writeHead(reply.status, { 'content-type': reply.contentType, 'x-culvert-request-id': 'req_1' });
      if (typeof reply.body === 'string') response.end(reply.body);
      else {
        for await (const piece of reply.body) response.write(piece);
        response.end();
      }
    })();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  return { 'in process': inProcess(api), 'over HTTP': overHttp(`http://127.0.0.1:${port}`, key) };
}

test('a command gets the same from a server and in its own process', async (t) => {
  const { api, asked } = scripted({
    'POST /keys/a%2Fb/rotate': ({ body }) => json({ given: JSON.parse(String(body)) }),
    'GET /usage': ({ query }) => json(Object.fromEntries(query)),
    'GET /usage.csv': { status: 200, contentType: 'text/csv', body: pieces('a,b\n', '1,ü\n') },
    'GET /plans/x': refusal(400, 'expected a name', 'name'),
    'GET /plans/y': refusal(400, 'name: expected a name', 'name'),
  });
  for (const [how, admin] of Object.entries(await transports(t, api))) {
    assert.deepEqual(await admin.request('POST', '/keys/a%2Fb/rotate', { body: { grace: '1h' } }), {
      given: { grace: '1h' },
    });
    const query = { account: 'a&b=c', from: undefined, limit: 5 };
    assert.deepEqual(await admin.request('GET', '/usage', { query }), { account: 'a&b=c', limit: '5' }, how);
    let text = '';
    for await (const piece of admin.read('/usage.csv')) text += piece;
    assert.equal(text, 'a,b\n1,ü\n', how);
    const absent = await admin.request('GET', '/nothing').catch((error: unknown) => error);
    assert.ok(absent instanceof AdminRefused);
    assert.deepEqual([absent.status, absent.message, absent.exitCode], [404, 'There is no /nothing.', 1]);
    // A message says which field it is about, once.
    await assert.rejects(admin.request('GET', '/plans/x'), { message: 'name: expected a name', param: 'name' });
    await assert.rejects(admin.request('GET', '/plans/y'), { message: 'name: expected a name', param: 'name' });
  }
  assert.deepEqual(new Set(asked.map(({ operator }) => operator.name)), new Set(['cli', 'admin']));
});

/** One that can be read again and again, as each transport does. */
function pieces(...texts: string[]): AsyncIterable<string> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* texts;
    },
  };
}

test('a list is read page by page, no further than wanted', async (t) => {
  const all = Array.from({ length: 2_500 }, (_, id) => ({ id }));
  const { api, asked } = scripted({
    'GET /keys': ({ query }) => {
      const start = Number(query.get('cursor') ?? 0);
      const end = start + Number(query.get('limit'));
      return json({ data: all.slice(start, end), next_cursor: end < all.length ? String(end) : null });
    },
    'GET /plans': json({ no: 'list' }),
  });
  const { 'in process': admin } = await transports(t, api);
  assert.deepEqual(await listRows(admin, '/keys', {}, 10_000), { rows: all, more: false });
  assert.deepEqual(
    asked.map(({ query }) => query.get('limit')),
    ['1000', '1000', '1000'],
  );
  assert.deepEqual(await listRows(admin, '/keys', {}, 1_200), { rows: all.slice(0, 1_200), more: true });
  assert.deepEqual(await listRows(admin, '/keys', {}, 2_500), { rows: all, more: false });
  await assert.rejects(listRows(admin, '/plans', {}, 10), /not a list/);
});

test('a wrong admin key, a server that is not Culvert, and none at all are one sentence without the key', async (t) => {
  const { api } = scripted({});
  const server = (await transports(t, api))['over HTTP'].server!;
  const messageOf = async (admin: AdminClient) => {
    const error = await admin.request('GET', '/keys').catch((thrown: unknown) => thrown);
    assert.ok(error instanceof Error);
    assert.doesNotMatch(error.message, /canary/);
    return error.message;
  };
  assert.match(await messageOf(overHttp(server, `${key}-wrong`)), /did not accept the admin key: .* CULVERT_ADMIN_KEY/);
  const stranger = createServer((request, response) => {
    // A redirect must not take the key along.
    if (request.headers.host?.startsWith('localhost')) response.writeHead(302, { location: server }).end();
    else response.writeHead(200).end('<html>');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => stranger.once('listening', resolve));
  t.after(() => stranger.close());
  const { port } = stranger.address() as { port: number };
  assert.match(
    await messageOf(overHttp(`http://127.0.0.1:${port}`, key)),
    /answers, but not as Culvert does. Check that its URL is that of a Culvert server/,
  );
  assert.match(await messageOf(overHttp(`http://localhost:${port}`, key)), /answered 302, but not as Culvert does/);
  assert.match(
    await messageOf(overHttp(`http://127.0.0.1:${await closedPort()}`, key)),
    /No answer from .*ECONNREFUSED/,
  );
});

test('an answer of another server, or one that is cut, is one sentence and no result', async (t) => {
  const strange = createServer((request, response) => {
    const path = request.url ?? '';
    if (path.endsWith('/cut')) response.setHeader('x-culvert-request-id', 'req_1').setHeader('content-length', 100);
    if (!path.endsWith('/cut')) return response.end(path.includes('/page') ? '<html>' : '{}');
    response.write('{"data":[');
    return setTimeout(() => response.destroy(), 20);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => strange.once('listening', resolve));
  t.after(() => strange.close());
  const url = `http://127.0.0.1:${(strange.address() as { port: number }).port}`;
  const admin = overHttp(url, key);
  const notCulvert = /answers, but not as Culvert does/;
  await assert.rejects(admin.request('DELETE', '/keys/a'), notCulvert);
  await assert.rejects(admin.read('/page')[Symbol.asyncIterator]().next(), notCulvert);
  await assert.rejects(admin.request('POST', '/cut'), /ended its answer too early .* may be done/);
  for (const base of [url, `${url}/page?`]) {
    const flags = { url: base, key: 'sk-cv-test', quiet: true };
    await assert.rejects(models({ ...flags, json: true }, {} as CliParts), notCulvert);
    for (const stream of [true, false]) await assert.rejects(chat('Hi', { ...flags, model: 'm', stream }), notCulvert);
  }
});

test('the generated admin key goes to a named server on this machine alone', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'admin.key'), `${key}\n`);
  const config = { admin: {}, storage: { data_dir: folder } } as Config;
  const keyFor = (url: string) => adminKey(url, true, () => config);
  for (const url of ['http://localhost:4141', 'http://127.0.0.1:4141', 'http://127.1:4141', 'http://[::1]:4141'])
    assert.equal(keyFor(url), key, url);
  for (const url of [
    'http://127.evil.example',
    'http://127.0.0.1.evil.example',
    'http://localhost.example',
    'http://10.0.0.1',
  ])
    assert.equal(keyFor(url), null, url);
});

test('what a server says steers no terminal', async (t) => {
  const server = createServer((_, response) => {
    const error = {
      message: 'No.\u001b]0;title\u0007\u001b[2J\rDone.\nSecond line\u009b31m',
      type: 'x',
      code: 400,
      param: null,
    };
    response.writeHead(400, { 'content-type': 'application/json', 'x-culvert-request-id': 'req_1' });
    response.end(JSON.stringify({ error }));
  });
  const env = { CULVERT_URL: await listening(t, server), CULVERT_ADMIN_KEY: key };
  const { code, stderr } = await runCommand(['accounts', 'list'], { cwd: temporaryFolder(t), env });
  assert.equal(code, 1);
  assert.match(stderr, /No\. \]0;title \[2J Done\./);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  assert.doesNotMatch(stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});
