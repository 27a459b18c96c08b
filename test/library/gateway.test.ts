import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { serve } from '@hono/node-server';
import createFastify from 'fastify';
import { Hono } from 'hono';
import OpenAI from 'openai';
import { WebSocket } from 'ws';
import { createGateway, GatewayError, type GatewayOptions } from '../../src/main/create-gateway.ts';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startSecretManagers } from '../start-secret-managers.ts';
import { startUpstream } from '../start-upstream.ts';

/* `culvert-gateway` inside applications of the frameworks that people use, each with a port of its own. */

/** Express has no types of its own. */
const express = createRequire(import.meta.url)('express') as {
  (): { use(...handlers: unknown[]): void; listen(port: number): Server };
  json(options: object): unknown;
};
interface Sent {
  status(code: number): { send(text: string): void };
}

const upstream = await startUpstream();
after(() => upstream.close());

function options(more: GatewayOptions = {}, config: Record<string, unknown> = {}): GatewayOptions {
  const own = {
    ...overUpstreams(upstream.url),
    storage: { data_dir: temporaryFolder({ after }) },
    keys: [{ key: testKey, account: 'dev', name: 'test' }],
    admin: { key: 'sk-cv-admin-test-key-0001' },
    plans: { default: { windows: 'off', rpm: 'off' } },
    autodetect: 'off',
    ...config,
  };
  return { env: {}, log: 'off', config: own as never, ...more };
}

const gateway = createGateway(options({ basePath: '/ai' }));
after(() => gateway.close({ graceMs: 0 }));

const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
const chat = (more: object = {}) => ({
  method: 'POST',
  headers,
  body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }], ...more }),
});

/** What every framework must do: whole answers, streams, errors, a body of 2 MB, and a prefix that is gone. */
async function worksAt(url: string): Promise<void> {
  const whole = await fetch(`${url}/v1/chat/completions`, chat());
  assert.equal(whole.status, 200, await whole.clone().text());
  assert.equal(whole.headers.get('x-culvert-provider'), 'up1');
  assert.match(await whole.text(), /"choices"/);
  const streamed = await fetch(`${url}/v1/chat/completions`, chat({ stream: true }));
  assert.match(streamed.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.match(await streamed.text(), /\[DONE\]/);
  assert.equal((await fetch(`${url}/v1/models?limit=1`, { headers })).status, 200);
  assert.equal((await fetch(`${url}/v1/models`)).status, 401);
  const nowhere = await fetch(`${url}/v1/nowhere`, { headers });
  assert.equal(nowhere.status, 404);
  assert.match(await nowhere.text(), /There is no \/v1\/nowhere here/);
  const broken = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: '{' });
  assert.equal(broken.status, 400, await broken.text());
  const long = await fetch(
    `${url}/v1/chat/completions`,
    chat({ messages: [{ role: 'user', content: 'x'.repeat(2_000_000) }] }),
  );
  assert.equal(long.status, 200, await long.text());
  assert.equal((await fetch(`${url}/v1/models`, { method: 'HEAD', headers })).status < 500, true);
}

const urlOf = (server: { address(): unknown }) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test('it answers behind a server of node:http', async (t) => {
  const server = createServer(gateway.handler).listen(0);
  t.after(() => server.close());
  await worksAt(`${urlOf(server)}/ai`);
});

test('it answers behind Express, and says so where a parser has read the body before', async (t) => {
  const app = express();
  app.use('/gateway', gateway.handler);
  app.use('/late', express.json({ limit: '10mb' }), gateway.handler);
  app.use((error: unknown, _request: unknown, response: Sent, _next: unknown) =>
    response.status(500).send(String(error)),
  );
  const server = app.listen(0);
  t.after(() => server.close());
  await worksAt(`${urlOf(server)}/gateway`);
  const late = await fetch(`${urlOf(server)}/late/v1/chat/completions`, chat());
  assert.equal(late.status, 500);
  assert.match(await late.text(), /before parsers such as express\.json\(\)/);
});

test('it answers behind Fastify', async (t) => {
  const app = createFastify();
  t.after(() => app.close());
  app.post('/own', async (request) => request.body);
  await app.register(gateway.fastify, { prefix: '/models-of-all' });
  const url = await app.listen({ port: 0 });
  await worksAt(`${url}/models-of-all`);
  const own = await fetch(`${url}/own`, { method: 'POST', headers, body: '{"a":1}' });
  assert.deepEqual(await own.json(), { a: 1 });
});

test('it answers behind Hono', async (t) => {
  const app = new Hono();
  app.mount('/mounted', gateway.fetch);
  app.all('/ai/*', (context) => gateway.fetch(context.req.raw, context.env as object));
  const server = serve({ fetch: app.fetch, port: 0 });
  t.after(() => server.close());
  await worksAt(`${urlOf(server)}/mounted`);
  await worksAt(`${urlOf(server)}/ai`);
});

test('it answers as route handlers of Next', async () => {
  const { GET, POST, OPTIONS } = gateway.next;
  const models = await GET(new Request('https://app.example/ai/v1/models', { headers }));
  assert.equal(models.status, 200);
  const streamed = await POST(new Request('https://app.example/ai/v1/chat/completions', chat({ stream: true })));
  assert.match(await streamed.text(), /\[DONE\]/);
  assert.ok((await OPTIONS(new Request('https://app.example/ai/v1/models', { method: 'OPTIONS' }))).status < 500);
});

test('it is the fetch of an SDK, without a port', async () => {
  const client = new OpenAI({ baseURL: 'http://culvert/v1', apiKey: testKey, fetch: gateway.fetch });
  const stream = await client.chat.completions.create({
    model: 'chat',
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  assert.notEqual(text, '');
});

test('a request that its caller gives up ends at the provider too', async () => {
  upstream.clear();
  upstream.script('*', ['chunks=1000;interval=5ms']);
  const controller = new AbortController();
  const sent = { ...chat({ stream: true }), signal: controller.signal };
  const { body } = await gateway.fetch('http://culvert/v1/chat/completions', sent);
  const reader = body?.getReader();
  await reader?.read();
  controller.abort();
  await assert.rejects(async () => {
    while ((await reader?.read())?.done === false);
  });
  assert.ok(await upstream.when(({ aborted }) => aborted));
  await assert.rejects(gateway.fetch('http://culvert/v1/models', { headers, signal: AbortSignal.abort() }), /abort/i);
  const request = () => new Request('http://culvert/v1/models');
  await assert.rejects(gateway.fetch(request(), { headers, signal: AbortSignal.abort() }), /abort/i);
  assert.deepEqual(
    [(await gateway.fetch(request())).status, (await gateway.fetch(request(), { headers })).status],
    [401, 200],
    'members behind a Request count before its',
  );
});

test('an address of the framework decides which keys may enter', async (t) => {
  const keys = [{ key: testKey, account: 'dev', name: 'test', ips: ['10.0.0.0/8'] }];
  const bound = createGateway(options({}, { keys }));
  t.after(() => bound.close({ graceMs: 0 }));
  const from = async (address?: string) =>
    (await bound.fetch(new Request('http://culvert/v1/models', { headers }), { address })).status;
  assert.equal(await from('10.1.2.3'), 200);
  assert.equal(await from('192.0.2.1'), 403);
  assert.equal(await from(), 403);
});

test('WebSockets come by the upgrades of the application, and other paths of theirs are closed', async (t) => {
  const server = createServer(gateway.handler).on('upgrade', gateway.upgrade).listen(0);
  t.after(() => server.close());
  const url = urlOf(server).replace('http', 'ws');
  const socket = new WebSocket(`${url}/ai/v1/responses`, { headers: { authorization: headers.authorization } });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.close();
  const wrong = new WebSocket(`${url}/ai/v1/models`, { headers });
  await new Promise((resolve) => wrong.once('error', resolve));
});

test('keys may be variables of the environment that it is given, or secrets of a manager', async () => {
  const managers = await startSecretManagers({ after });
  managers.secrets.set('vault:secret/data/up', { data: { data: { key: 'of-vault' }, metadata: {} } });
  const provider = (key: string) => ({ type: 'openai', base_url: `${upstream.url}/v1`, api_key: key });
  const secrets = createGateway(
    options(
      { env: { ...managers.env, UP_KEY: 'of-environment' } },
      {
        // biome-ignore lint/suspicious/noTemplateCurlyInString: references of the configuration
        providers: { a: provider('${UP_KEY}'), b: provider('${vault:secret/data/up#key}') },
        models: { chat: { targets: ['a/mock/ok'] }, other: { targets: ['b/mock/ok'] } },
      },
    ),
  );
  after(() => secrets.close({ graceMs: 0 }));
  upstream.clear();
  for (const model of ['chat', 'other']) {
    const answer = await secrets.fetch('http://culvert/v1/chat/completions', chat({ model }));
    assert.equal(answer.status, 200, await answer.text());
  }
  const sent = upstream.requests().map((request) => request.headers.authorization);
  assert.ok(sent.includes('Bearer of-environment') && sent.includes('Bearer of-vault'), String(sent));
});

test('a configuration with errors refuses the start, and lists each with its place', async () => {
  const wrong = createGateway(options({}, { providers: { up: { type: 'nobody' } }, server: { port: 'seven' } }));
  await assert.rejects(wrong.start(), (error) => {
    assert.ok(error instanceof GatewayError);
    assert.deepEqual(error.problems.map(({ path }) => path).sort(), ['providers.up.type', 'server.port']);
    return true;
  });
  await assert.rejects(createGateway({ config: '/nowhere/culvert.yaml', env: {} }).start(), /there is no such file/);
  await assert.rejects(
    createGateway(options({}, { server: { processes: 2 } })).start(),
    /server\.processes: .*one process/,
  );
  assert.throws(() => createGateway({ basePath: 'ai' }), /begin it with a slash/);
  const circle: Record<string, unknown> = {};
  circle.circle = circle;
  await assert.rejects(createGateway({ config: circle as never, env: {} }).start(), /what JSON can say/);
  const server = createServer(wrong.handler).listen(0);
  try {
    const answer = await fetch(`${urlOf(server)}/v1/models`);
    assert.equal(answer.status, 503);
    assert.doesNotMatch(await answer.text(), /nobody|seven|at /);
  } finally {
    server.close();
  }
});

test('two gateways of one folder do not run at once', async () => {
  const own = options();
  const [first, second] = [createGateway(own), createGateway(own)];
  await first.start();
  await assert.rejects(second.start(), GatewayError);
  await first.close();
  await second.start();
  await second.close();
});

test('a reload takes another configuration into use, and a wrong one changes nothing', async () => {
  const given = options();
  const changing = createGateway(given);
  const names = async () => {
    const answer = await changing.fetch('http://culvert/v1/models', { headers });
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  assert.ok((await names()).includes('chat'));
  const config = given.config as object;
  const targets = [{ provider: 'up1', model: 'mock/ok' }];
  await changing.reload({ ...config, models: { other: { targets } } } as never);
  assert.ok((await names()).includes('other'));
  await assert.rejects(changing.reload({ ...config, models: { bad: {} } } as never), GatewayError);
  assert.ok((await names()).includes('other'));
  await changing.close();
  await assert.rejects(changing.start(), /is closed/);
});

test('it listens where it is asked to, and lines of its log go to the application', async () => {
  const lines: string[] = [];
  const listening = createGateway(options({ log: (line) => lines.push(line) }));
  const { url } = await listening.listen({ port: 0 });
  await worksAt(url);
  assert.ok(
    lines.some((line) => JSON.parse(line).endpoint === 'chat'),
    lines.join(''),
  );
  await listening.close({ graceMs: 1_000 });
  await assert.rejects(fetch(`${url}/v1/models`));
});

test('a close lets an answer end', async () => {
  const closing = createGateway(options());
  const answer = await closing.fetch('http://culvert/v1/chat/completions', chat({ stream: true }));
  const [text] = await Promise.all([answer.text(), closing.close({ graceMs: 5_000 })]);
  assert.match(text, /\[DONE\]/);
});

test('signals and errors of the process stay with the application', async () => {
  const events = ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException', 'unhandledRejection', 'message', 'beforeExit'];
  const listeners = () => events.map((name) => process.listenerCount(name));
  const before = listeners();
  const quiet = createGateway(options());
  await quiet.listen({ port: 0 });
  assert.deepEqual(listeners(), before);
  await quiet.close({ graceMs: 0 });
});
