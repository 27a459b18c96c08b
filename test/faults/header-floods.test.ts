import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { answerTo, answerUntilClosed } from '../send-bytes.ts';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const lifetime = { after: after as never };
const { url, process: server } = await startGatewayProcess(lifetime, {
  ...overUpstreams(upstream.url),
  server: { processes: 1 },
});
// What the first requests load and compile stays resident, whatever comes later.
for (let round = 0; round < 200; round += 1) assert.equal((await chatOnce(url)).status, 200);

const request = (headers: string) =>
  `GET /v1/models HTTP/1.1\r\nhost: x\r\n${headers}authorization: Bearer ${testKey}\r\n\r\n`;
const residentMb = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1_024;
const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;

/** Sends a beginning on so many connections, which stay open. */
async function openAll(count: number, beginning: string): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
    socket.write(beginning);
    return socket.resume();
  });
  after(() => sockets.map((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => new Promise((there) => socket.once('connect', there))));
  return sockets;
}

/** Others are served: a chat, a health check, an operator. */
async function othersAreServed(): Promise<void> {
  const statuses = [
    (await chatOnce(url)).status,
    (await fetch(`${url}/healthz`)).status,
    (await fetch(`${url}/admin/v1/keys`, { headers: { authorization: `Bearer ${adminKey}` } })).status,
  ];
  assert.deepEqual(statuses, [200, 200, 200]);
}

test('S49 of many headers none is lost: 900 pass, those after them too, and more than 1,000 are 431', async () => {
  for (const name of [() => 'a', (at: number) => `h${at.toString(36)}`]) {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `${name(at)}:\r\n`).join('');
    assert.equal((await answerTo(url, request(many(900)))).status, 200);
    const { status, text, closed } = await answerUntilClosed(url, request(many(1_100)));
    assert.deepEqual([status, closed], [431, true]);
    assert.match(text, /"message":"The request has more than 16 KB of headers, or more than 1,000 of them\."/);
  }
});

test('S49 300 connections that send headers without end are cut at 16 KB each: memory stays, others are served', async () => {
  const beforeMb = residentMb();
  const sockets = await openAll(300, 'GET /v1/models HTTP/1.1\r\nhost: x\r\n');
  const flood = `x-flood: ${'a'.repeat(4_000)}\r\n`;
  let sentMb = 0;
  const sending = setInterval(() => {
    for (const socket of sockets) {
      if (!socket.writable || socket.writableLength > 64 * 1024) continue;
      socket.write(flood);
      sentMb += flood.length / 1024 ** 2;
    }
  }, 5);
  try {
    await othersAreServed();
    await until('all are closed', () => sockets.every(({ destroyed }) => destroyed));
  } finally {
    clearInterval(sending);
  }
  await othersAreServed();
  assert.ok(residentMb() - beforeMb < 64, `${residentMb() - beforeMb} MB more, of ${sentMb} MB sent`);
});

test('S49 1,000 connections that stop within their headers get 408 after 10 s, and nobody else waits for them', async () => {
  const beforeMb = residentMb();
  const before = descriptors();
  const sockets = await openAll(1_000, 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ');
  const startedMs = performance.now();
  const first = { text: '' };
  sockets[0]!.on('data', (bytes) => {
    first.text += String(bytes);
  });
  while (performance.now() - startedMs < 3_000) await othersAreServed();
  assert.ok(residentMb() - beforeMb < 64, `${residentMb() - beforeMb} MB more`);
  await until('all are closed', () => sockets.every(({ destroyed }) => destroyed));
  assertWithin(performance.now() - startedMs, 14_000);
  assert.match(first.text, /^HTTP\/1\.1 408 /);
  await until('no descriptor is lost', () => descriptors() <= before + 10);
});

test('S49 3,000 connections of one address that come and go leave nothing behind', async () => {
  await othersAreServed();
  const before = descriptors();
  for (let round = 0; round < 30; round += 1) {
    const sockets = await openAll(100, round % 2 === 0 ? request('') : 'GE');
    for (const [at, socket] of sockets.entries())
      if (at % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
  }
  await othersAreServed();
  await until('no descriptor is lost', () => descriptors() <= before + 10);
});
