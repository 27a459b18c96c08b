import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { assertWithin } from '../machine-load.ts';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

/** Node raises its own limit to this one. */
const openFilesMax = Number(spawnSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).stdout) || 1_000_000;
/** The gateway keeps half of its open files for upstreams. */
const idle = Math.min(10_000, Math.floor(openFilesMax / 2) - 250);
/** Of node's sockets, parsers and timers; kernel buffers are not counted. */
const bytesEachMax = 24 * 1024;

const skip = idle < 1_000 ? `ulimit -n is ${openFilesMax}` : false;

test(`S50 ${idle} idle connections take little memory, chats, health checks and operators are answered, and all close in time`, {
  skip,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = { ...overUpstreams(upstream.url), server: { processes: 1 } };
  const { url, process: server } = await startGatewayProcess(t, config);
  const residentBytes = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) * 1_024;
  const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
  for (let round = 0; round < 200; round += 1) assert.equal((await chatOnce(url)).status, 200);
  const [bytesBefore, descriptorsBefore] = [residentBytes(), descriptors()];

  // Each has asked once, as a pool of connections that nobody uses any more.
  const asked = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\n\r\n`;
  const sockets: Socket[] = [];
  t.after(() => sockets.map((socket) => socket.destroy()));
  const openedMs = performance.now();
  while (sockets.length < idle) await Promise.all(Array.from({ length: 100 }, () => opened(url, asked, sockets)));
  t.diagnostic(`opened in ${((performance.now() - openedMs) / 1_000).toFixed(1)} s`);
  const lastMs = performance.now();

  const bytesEach = (residentBytes() - bytesBefore) / idle;
  t.diagnostic(`${(bytesEach / 1_024).toFixed(1)} KB each`);
  assert.ok(bytesEach < bytesEachMax, `${bytesEach} bytes each`);
  const tookMs: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    const { status, ms } = await chatOnce(url);
    assert.equal(status, 200);
    tookMs.push(ms);
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    const headers = { authorization: `Bearer ${adminKey}` };
    assert.equal((await fetch(`${url}/admin/v1/keys`, { headers })).status, 200);
  }
  assertWithin(tookMs.sort((a, b) => a - b)[25]!, 50, 'a chat');
  assert.ok(sockets.every(({ destroyed }) => !destroyed) || performance.now() - openedMs > 75_000, 'none closed early');

  await until('all are closed', () => sockets.every(({ destroyed }) => destroyed), 120_000 * 2);
  assertWithin(performance.now() - lastMs, 90_000, 'the last one');
  await until('no descriptor is lost', () => descriptors() <= descriptorsBefore + 10);
});

/** Opens a connection and reads one answer. */
async function opened(url: string, request: string, sockets: Socket[]): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  socket.write(request);
  await new Promise<void>((answered) => {
    socket.once('data', (bytes) => {
      assert.match(String(bytes), /^HTTP\/1\.1 200 /);
      answered();
    });
  });
  await pause(0);
}
