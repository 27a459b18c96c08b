import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { answerTo, answerUntilClosed } from '../send-bytes.ts';
import { adminKey, overUpstreams, startGateway, testKey, testProcesses } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';
import { lanesOf, type StreamSeen, streamAtOnce } from './many-streams.ts';

const skip = spawnSync('prlimit', ['--version']).status === 0 ? false : 'prlimit is not there';

test('F64 400 streams on 256 descriptors: those that are let in have their upstream, the rest get 503, no provider is blamed', {
  skip,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['always delay=1500ms']);
  const log = join(temporaryFolder(t), 'log');
  const { url } = await startGatewayProcess(t, overUpstreams(upstream.url), {
    under: ['prlimit', '--nofile=256:256'],
    log,
  });
  const seen = await streamAtOnce(url, 400);
  const count = (what: StreamSeen) => seen.filter((one) => one === what).length;
  assert.ok(count('answered') >= 50, `${count('answered')} answered`);
  assert.ok(count(503) >= 1, 'who is refused is told so');
  assert.equal(count('answered') + count(503) + count('closed'), 400, `${[...new Set(seen)]}`);

  upstream.script('/v1/chat/completions', []);
  const deadlineMs = performance.now() + 10_000;
  while ((await chatOnce(url).catch(() => null))?.status !== 200) {
    assert.ok(performance.now() < deadlineMs, 'serves again');
    await after(50);
  }
  await unblamed(url);
  while (count('closed') > 0 && !/closed unread.*ulimit -n/.test(readFileSync(log, 'utf8'))) {
    assert.ok(performance.now() < deadlineMs, 'the log tells of it');
    await after(50);
  }
});

test('F64 with every place taken by a stream, health checks and operators are answered, others get 503, and places come back', {
  skip,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['always chunks=9;stall=4events']);
  const { url } = await startGatewayProcess(
    t,
    { ...overUpstreams(upstream.url), server: { processes: 1 } },
    { under: ['prlimit', '--nofile=256:256'] },
  );
  const leaving = new AbortController();
  const ask = () =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
      signal: leaving.signal,
    });
  // Held in a list: undici ends the stream of an answer that was garbage collected unread, and its place is free.
  const streams: Response[] = [];
  for (let answer = await ask(); answer.status === 200; answer = await ask()) streams.push(answer);
  assert.ok(streams.length >= 50, `${streams.length} streams`);

  for (let round = 0; round < 20; round += 1) {
    for (const path of ['/healthz', '/metrics', '/admin/v1/keys']) {
      const headers = { authorization: `Bearer ${adminKey}`, connection: 'close' };
      const answer = await fetch(url + path, { headers });
      assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
    }
    const refused = await ask();
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /ulimit -n/);
  }
  // Who says nothing is refused, too, and its place is free again.
  const silent = await answerUntilClosed(url, '');
  assert.deepEqual([silent.status, silent.closed], [503, true]);

  assert.ok(streams.every(({ bodyUsed }) => !bodyUsed));
  leaving.abort();
  upstream.script('/v1/chat/completions', []);
  await until('places come back', async () => (await chatOnce(url).catch(() => null))?.status === 200);
});

test('F64 no descriptor is left to ask a provider with: 503 that says so, nobody else is asked, no provider is blamed', {
  skip,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['always delay=500ms']);
  // The limit that is changed is one process's.
  const { url, process } = await startGatewayProcess(t, { ...overUpstreams(upstream.url), server: { processes: 1 } });
  assert.equal((await chatOnce(url)).status, 200);
  const bound = (files: string) => spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${files}`]);
  const open = readdirSync(`/proc/${process.pid}/fd`).length;
  bound(`${open + 4}:4096`);
  const answers = await Promise.all(Array.from({ length: 4 }, () => chatOnce(url)));
  bound('4096:4096');
  const refused = answers.filter(({ status }) => status !== 200);
  assert.ok(refused.length > 0);
  for (const { status, text } of refused) {
    assert.equal(status, 503, text);
    assert.match(text, /open files/);
  }
  assert.equal((await chatOnce(url)).status, 200);
  await unblamed(url);
});

async function unblamed(url: string): Promise<void> {
  const lanes = await lanesOf(url);
  assert.ok(lanes.length > 0);
  for (const { state, failed } of lanes) assert.deepEqual([state, failed], ['ready', 0], 'no health is lost');
}

test('F64 connections on which nothing comes take no place for long: at the limit they close, and callers are served', {
  skip,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { url } = await startGatewayProcess(t, overUpstreams(upstream.url), { under: ['prlimit', '--nofile=256:256'] });
  const idle = Array.from({ length: 200 }, () => connect({ port: Number(new URL(url).port), host: '127.0.0.1' }));
  t.after(() => {
    for (const socket of idle) socket.destroy();
  });
  for (const socket of idle) socket.on('error', () => undefined);
  await after(2_500);
  const statuses = [];
  for (let round = 0; round < 5; round += 1) statuses.push((await chatOnce(url).catch(() => null))?.status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 200]);
});

test('S28 one address has so many connections and no more: the next is told so, another address is let in', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), server: { connections_per_address: 5 } });
  const port = Number(new URL(gateway.url).port);
  const sockets = Array.from({ length: 5 }, () => connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' }));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
  const sixth = () => answerTo(gateway.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  // Workers hear of each other's connections some milliseconds later.
  if (testProcesses > 1) await until('the sixth is refused', async () => (await sixth()).status === 503);
  const { statuses, text } = await sixth();
  assert.deepEqual(statuses, [503], text);
  assert.match(text, /server\.connections_per_address/);

  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  t.after(() => other.destroy());
  other.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  let heard = '';
  for await (const bytes of other) heard += bytes;
  assert.match(heard, /^HTTP\/1\.1 200/);

  for (const socket of sockets) socket.destroy();
  await until('the next is let in', async () => (await sixth()).status === 200);
});
