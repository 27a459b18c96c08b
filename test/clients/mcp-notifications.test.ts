import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type JSONRPCMessage,
  LoggingMessageNotificationSchema,
  type Progress,
} from '@modelcontextprotocol/sdk/types.js';
import { otherKey, startGateway, testKey, testProcesses } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { cleanEnv, culvertBin } from '../start-process.ts';
import { until } from '../until.ts';

/* Progress, log messages and cancellation of calls of MCP servers elsewhere, by the official clients (docs/mcp.md). */

const guardedKey = 'sk-cv-test-key-guarded';
const server = await startMcpServer({ after }, { tools: ['steps'] });
const program = fileURLToPath(new URL('../mcp-stdio-server.ts', import.meta.url));
const gateway = await startGateway(
  { after: after as never },
  {
    guards: { words: { check: 'words', words: ['unheard-of'], on: ['output'], action: 'block' } },
    mcp: {
      servers: {
        // Longer than tests wait for a call to end.
        one: { url: server.url, timeout: '10m' },
        program: { command: process.execPath, args: [program, 'steps'] },
      },
    },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'other', name: 'test' },
      { key: guardedKey, account: 'guarded', name: 'test', guards: ['words'] },
    ],
  },
);

interface Heard {
  progress: Progress[];
  logs: { level: string; logger?: string | undefined; data: unknown }[];
}

type Ended = { after(done: () => Promise<void>): void };

function overHttp(key = testKey) {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit });
}

function overStdio() {
  const env = cleanEnv({ CULVERT_API_KEY: testKey });
  return new StdioClientTransport({ command: process.execPath, args: [culvertBin, 'mcp', '--url', gateway.url], env });
}

async function connected(t: Ended, transport: ReturnType<typeof overHttp | typeof overStdio>) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const heard: Heard = { progress: [], logs: [] };
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.logs.push(params));
  t.after(() => client.close());
  await client.connect(transport as Parameters<Client['connect']>[0]);
  // The client's SDK drops progress that it reads from a pipe together with the answer.
  const { onmessage } = transport;
  transport.onmessage = (message: JSONRPCMessage) => {
    if ('method' in message) onmessage?.(message);
    else void Promise.resolve().then(() => onmessage?.(message));
  };
  return { client, heard };
}

async function steps(
  { client, heard }: Awaited<ReturnType<typeof connected>>,
  name = 'it',
  { tool = 'one__steps', ...args }: { tool?: string; joined?: boolean } = {},
) {
  const onprogress = (progress: Progress) => void heard.progress.push(progress);
  const done = await client.callTool({ name: tool, arguments: { name, ...args } }, undefined, { onprogress });
  assert.deepEqual(done.content, [{ type: 'text', text: `${name}: 3 steps` }]);
}

const threeSteps = [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` }));
const logged = (name: string, levels: readonly string[]) =>
  [1, 2, 3].flatMap((step) => levels.map((level) => ({ level, logger: 'steps', data: { step, of: name } })));

for (const [way, transport] of [
  ['HTTP', () => overHttp()],
  ['culvert mcp', overStdio],
] as const) {
  for (const tool of ['one__steps', 'program__steps']) {
    test(`${way}, ${tool}: a client without a session gets progress and log messages of its call`, async (t) => {
      const one = await connected(t, transport());
      await steps(one, 'it', { tool });
      assert.deepEqual(one.heard.progress, threeSteps);
      assert.deepEqual(one.heard.logs, logged('it', ['debug', 'warning']));
    });
  }
}

test('culvert mcp: what ends a line of text, inside of an answer in a stream, does not end it', async (t) => {
  const one = await connected(t, overStdio());
  await steps(one, 'one\u2028two\u2029three\u0085four');
  assert.deepEqual(one.heard.progress, threeSteps);
});

test('progress that comes together with the answer is not lost', async (t) => {
  const one = await connected(t, overHttp());
  await steps(one, 'it', { tool: 'program__steps', joined: true });
  assert.deepEqual(one.heard.progress, threeSteps);
});

test('a client sets the least level of log messages, for its key', async (t) => {
  const one = await connected(t, overHttp(otherKey));
  const another = await connected(t, overHttp());
  await one.client.setLoggingLevel('warning');
  await Promise.all([steps(one), steps(another)]);
  assert.deepEqual(one.heard.logs, logged('it', ['warning']));
  assert.deepEqual(another.heard.logs, logged('it', ['debug', 'warning']));
  assert.deepEqual(one.heard.progress, threeSteps);
});

test('calls at one time each get their own news, also in the one session of a key', async (t) => {
  const names = ['a', 'b', 'c', 'd'];
  const clients = await Promise.all(names.map(() => connected(t, overHttp())));
  await Promise.all(clients.map((one, at) => steps(one, names[at])));
  for (const [at, { heard }] of clients.entries()) {
    assert.deepEqual(heard.progress, threeSteps);
    assert.deepEqual(heard.logs, logged(names[at] ?? '', ['debug', 'warning']));
  }
});

const params = { name: 'one__steps', arguments: { name: 'raw' }, _meta: { progressToken: 'token' } };
const post = (json: object, key = testKey, accept = 'application/json, text/event-stream') =>
  gateway.fetch('/mcp', { json: { jsonrpc: '2.0', ...json }, headers: { authorization: `Bearer ${key}`, accept } });

test('the answer is a stream of events where there is news, and JSON where there is none or it takes no stream', async () => {
  const streamed = await post({ id: 'x', method: 'tools/call', params });
  assert.match(streamed.headers.get('content-type') ?? '', /^text\/event-stream/);
  const messages = (await streamed.text())
    .split('\n\n')
    .flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? [])
    .map((data) => JSON.parse(data) as { id?: string; params?: { progressToken?: string }; result?: object });
  assert.deepEqual(
    messages.flatMap((one) => one.params?.progressToken ?? []),
    ['token', 'token', 'token'],
  );
  assert.equal(messages.at(-1)?.id, 'x');
  assert.ok(messages.at(-1)?.result !== undefined);
  for (const whole of [
    await post({ id: 'x', method: 'tools/call', params }, testKey, 'application/json'),
    await post({ id: 'x', method: 'tools/call', params: { name: 'one__add', arguments: { a: 1, b: 2 } } }),
  ]) {
    assert.match(whole.headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(((await whole.json()) as { id: string }).id, 'x');
  }
});

test('in the revision without sessions, log messages come to a message that states their level', async (t) => {
  const version = '2026-07-28';
  const client = new StatelessClient(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: version } } },
  );
  const logs: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params: log }) => void logs.push(log));
  t.after(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${testKey}` } };
  await client.connect(new StatelessTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
  const progress: unknown[] = [];
  const onprogress = (one: unknown) => void progress.push(one);
  const call = { name: 'one__steps', arguments: { name: 'it' } };
  await client.callTool(call, { onprogress });
  assert.deepEqual(progress, threeSteps);
  assert.deepEqual(logs, []);
  await client.callTool({ ...call, _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } });
  assert.deepEqual(logs, logged('it', ['warning']));
});

test('where guards look at answers, only the numbers of progress are passed', async (t) => {
  const one = await connected(t, overHttp(guardedKey));
  await steps(one);
  assert.deepEqual(
    one.heard.progress,
    [1, 2, 3].map((progress) => ({ progress, total: 3 })),
  );
  assert.deepEqual(one.heard.logs, []);
});

test('where guards look at calls, a server completes no argument', async (t) => {
  const argument = { name: 'who', value: 'Bo' };
  const ref = { type: 'ref/prompt', name: 'one__greet' } as const;
  const completed = async (key?: string) =>
    (await (await connected(t, overHttp(key))).client.complete({ ref, argument })).completion.values;
  assert.equal((await completed())[0], 'greet who Bo…');
  assert.deepEqual(await completed(guardedKey), []);
});

test('a call that is silent for long keeps its connection by a stream, whose last event is the answer', {
  skip: testProcesses > 1 && 'the timers of another process run on',
}, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const answer = post({ id: 7, method: 'tools/call', params: { name: 'one__wait', arguments: {} } });
  while (server.waiting() === 0) await nextTurn();
  t.mock.timers.tick(10_000);
  const response = await answer;
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  // The end of the server's `timeout`.
  t.mock.timers.tick(600_000);
  const text = await response.text();
  t.mock.timers.reset();
  assert.match(
    text,
    /^(?:: keep-alive\n\n){2,}event: message\ndata: \{[^\n]*took longer than 600 s[^\n]*"id":7\}\n\n$/,
  );
  await until('it was cancelled there', () => server.waiting() === 0);
});

test('a client without a session cancels its call', async (t) => {
  const { client } = await connected(t, overHttp());
  // The SDK numbers requests from 0. A number that another client of this key had in the last second cancels nothing.
  for (let taken = 0; taken < 20; taken += 1) await client.ping();
  const ref = { type: 'ref/prompt', name: 'one__greet' } as const;
  for (const call of [
    (signal: AbortSignal) =>
      client.callTool({ name: 'one__wait', arguments: {} }, undefined, { signal, onprogress: () => {} }),
    (signal: AbortSignal) => {
      const steps = { name: 'one__steps', arguments: { name: 'it', waits: true } };
      return client.callTool(steps, undefined, { signal, onprogress: () => {} });
    },
    (signal: AbortSignal) => client.complete({ ref, argument: { name: 'who', value: 'wait' } }, { signal }),
  ]) {
    const leaving = new AbortController();
    const pending: Promise<unknown> = call(leaving.signal);
    pending.catch(() => {});
    await until('it runs', () => server.waiting() === 1);
    leaving.abort('enough');
    await assert.rejects(pending);
    await until('it was cancelled there', () => server.waiting() === 0);
  }
});

test('a cancellation ends one call of the same key, and none where two have the id', async () => {
  const wait = (id: number | string, key = testKey) =>
    post({ id, method: 'tools/call', params: { name: 'one__wait', arguments: {} } }, key);
  const cancel = (requestId: number | string, key = testKey) =>
    post({ method: 'notifications/cancelled', params: { requestId } }, key);
  // No id of the clients before: their calls have just ended.
  const ofOther = wait(101, otherKey);
  const mine = wait(101);
  const named = wait('101');
  await until('all run', () => server.waiting() === 3);
  const answer = await cancel(101);
  assert.deepEqual([answer.status, await answer.text()], [202, '']);
  const ended = await mine;
  assert.deepEqual([ended.status, await ended.text()], [200, '']);
  await until('one has ended', () => server.waiting() === 2);
  const twin = wait('101');
  await until('both run', () => server.waiting() === 3);
  await cancel('101');
  await cancel(101);
  await pause(200);
  assert.equal(server.waiting(), 3);
  await cancel(101, otherKey);
  assert.equal((await ofOther).status, 200);
  await until('it has ended', () => server.waiting() === 2);
  // One that takes no stream gets an answer without a body.
  const plain = post({ id: 9, method: 'tools/call', params: { name: 'one__wait' } }, testKey, 'application/json');
  await until('it runs', () => server.waiting() === 3);
  await cancel(9);
  assert.equal((await plain).status, 202);
  await server.close();
  await Promise.allSettled([named, twin]);
});
