import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminKey, overUpstreams, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startGatewayProcess } from './gateway-process.ts';

const streams = 500;
const graceMs = 60_000;

test('F79 500 streams wait to be accepted when SIGTERM comes: each of them is answered to its end', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['always tokens=5;interval=20ms']);
  const { url, process: gateway } = await startGatewayProcess(t, overUpstreams(upstream.url), { graceMs });
  // The system connects on behalf of a process that stands still.
  gateway.kill('SIGSTOP');
  const agent = new Agent({ keepAlive: false });
  const connected: Promise<unknown>[] = [];
  const answers = Array.from({ length: streams }, () => {
    const call = chat(url, agent);
    connected.push(once(call, 'socket').then(([socket]) => once(socket, 'connect')));
    return lastFrame(call);
  });
  await Promise.all(connected);
  const ended = once(gateway, 'exit');
  gateway.kill('SIGTERM');
  gateway.kill('SIGCONT');
  const outcomes: Record<string, number> = {};
  for (const outcome of await Promise.all(answers)) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  assert.deepEqual(outcomes, { '200 data: [DONE]': streams });
  assert.deepEqual(await ended, [0, null]);
});

test('F67 connections are kept until the port is closed, so that no proxy makes new ones; then each closes behind an answer', async (t) => {
  const gateway = await startGateway(t, { server: { processes: 1 } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const headers = { authorization: `Bearer ${testKey}` };
  const asked = () =>
    new Promise<string | undefined>((resolve, reject) => {
      get(`${gateway.url}/v1/models`, { agent, headers }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.headers.connection));
      }).once('error', reject);
    });
  // The first one loads code and waits for models: it came too long ago to count as a caller who is there.
  await asked();
  assert.equal(await asked(), 'keep-alive');
  const ended = gateway.close(2_000);
  const seen: (string | undefined)[] = [];
  do seen.push(await asked());
  while (seen.at(-1) === 'keep-alive');
  assert.equal(seen[0], 'keep-alive');
  assert.equal(seen.at(-1), 'close');
  await assert.rejects(fetch(`${gateway.url}/healthz`));
  await ended;
});

test('F79 first /readyz answers 503, everything is served for server.drain_delay, and then the port closes', async (t) => {
  // It is told when to end; of several processes the primary is (test/processes/processes.long.test.ts).
  const gateway = await startGateway(t, { server: { processes: 1 } });
  const status = async (path: string) => {
    try {
      const response = await gateway.fetch(path);
      await response.arrayBuffer();
      return response.status;
    } catch (error) {
      return String(((error as Error).cause as NodeJS.ErrnoException).code);
    }
  };
  const startedMs = performance.now();
  const ended = gateway.close(10_000, 1_500);
  assert.equal(await status('/readyz'), 503);
  const headers = {
    ...{ authorization: `Bearer ${testKey}`, connection: 'Upgrade', upgrade: 'websocket' },
    ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
  };
  const opening = request(`${gateway.url}/v1/responses`, { headers }).end();
  const [opened, socket] = await Promise.race([once(opening, 'upgrade'), once(opening, 'response')]);
  assert.equal(opened.statusCode, 101, 'a WebSocket is opened, too');
  socket.destroy();
  assert.equal(await status('/healthz'), 200);
  let [before, last] = [startedMs, 0 as string | number];
  while (typeof last === 'number') {
    before = performance.now();
    last = await status('/v1/models');
    if (typeof last === 'number') assert.equal(last, 200);
  }
  assert.equal(last, 'ECONNREFUSED');
  assert.ok(before - startedMs > 1_400, `the port was closed after ${before - startedMs} ms`);
  await ended;
});

test('F79 who used a connection for a stream may ask on it again right after the end: no request meets a closed one', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['always tokens=30;interval=50ms']);
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), server: { processes: 1 } });
  const callers = Array.from({ length: 30 }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const first = await lastFrame(chat(gateway.url, agent));
    const second = await lastFrame(chat(gateway.url, agent));
    return [first, second];
  });
  await upstream.when(() => upstream.requests().filter(({ method }) => method === 'POST').length === callers.length);
  const ended = gateway.close(graceMs);
  for (const outcomes of await Promise.all(callers)) {
    assert.deepEqual(outcomes, ['200 data: [DONE]', '200 data: [DONE]']);
  }
  await ended;
});

test('F67 a request that crosses the end of its idle connection is not run, and its caller reads an end, no reset', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });
  const ask = () =>
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  ask();
  await once(socket, 'data');
  const asked = upstream.requests().length;
  const ended = gateway.close(10_000);
  socket.resume();
  await once(socket, 'end');
  ask();
  // A reset would be an error here.
  socket.end();
  await once(socket, 'close');
  await ended;
  assert.equal(upstream.requests().length, asked);
});

function chat(url: string, agent: Agent) {
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const call = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers });
  call.end(JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] }));
  return call;
}

/** The status and the last frame of a stream, or what went wrong. */
function lastFrame(call: ReturnType<typeof request>): Promise<string> {
  return new Promise((resolve) => {
    const failed = (error: NodeJS.ErrnoException) => resolve(String(error.code));
    call.once('error', failed);
    call.once('response', (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', failed);
      response.once('end', () => resolve(`${response.statusCode} ${text.trim().split('\n').at(-1)}`));
    });
  });
}

test('addresses that keys were used from are written when the gateway stops', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-places-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const config = { storage: { data_dir: dataDir } };
  const first = await startGateway(t, config);
  const { id, key } = (await asAdmin(first, '/keys', { account: 'dev', name: 'ci' })) as Record<string, string>;
  for (let at = 0; at < 3; at += 1) {
    assert.equal((await first.fetch('/v1/models', { headers: { authorization: `Bearer ${key}` } })).status, 200);
  }
  await first.close(1_000);
  const second = await startGateway(t, config);
  const { data } = (await asAdmin(second, `/keys/${id}/addresses`)) as {
    data: { address: string; requests: number }[];
  };
  assert.deepEqual(
    data.map(({ address, requests }) => [address, requests]),
    [['127.0.0.1', 3]],
  );
});

async function asAdmin({ fetch }: TestGateway, path: string, json?: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const answer = await fetch(`/admin/v1${path}`, { headers, ...(json !== undefined && { method: 'POST', json }) });
  assert.ok(answer.ok, `${answer.status}`);
  return answer.json();
}
