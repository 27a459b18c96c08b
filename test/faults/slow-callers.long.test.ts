import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import type { Lifetime } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { endlessSpeaker } from './endless-speaker.ts';
import { chatOnce, type GatewayProcess, startGatewayProcess } from './gateway-process.ts';

const slow = 300;
/** A slow reader holds its buffer, its upstream's, and what both connections have read: the rest stays in the kernel. */
const readerBytesMax = 1024 * 1024;
const writerBytes = 200 * 1024;

test(`S50 ${slow} readers that stop hold a bounded memory, others are served, and what they held is free when they leave`, async (t) => {
  const [endless, upstream] = [await endlessSpeaker(t, 'openai'), await startUpstream()];
  t.after(() => upstream.close());
  const config = overUpstreams(upstream.url, endless.url) as { models: Record<string, object> };
  const gateway = await startGatewayProcess(t, {
    ...config,
    models: { ...config.models, endless: { targets: ['up2/mock/ok'] }, chat: { targets: ['up1/mock/ok'] } },
    server: { processes: 1 },
  });
  await warm(gateway);
  const before = residentBytes(gateway);
  const body = JSON.stringify({ model: 'endless', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
  const sockets = Array.from({ length: slow }, () => callOn(t, gateway, body.length, body).pause());
  // Until nothing more is read for them.
  let [sent, still] = [-1, 0];
  while (still < 10) {
    await othersAreServed(gateway);
    still = endless.sentBytes() === sent && sent > 0 ? still + 1 : 0;
    sent = endless.sentBytes();
  }
  const each = (residentBytes(gateway) - before) / slow;
  t.diagnostic(`${(each / 1_024).toFixed(0)} KB each`);
  assert.ok(each < readerBytesMax, `${each} bytes each`);
  for (const socket of sockets) socket.destroy();
  await until('no stream runs', async () => (await running(gateway)) === 0);
  await othersAreServed(gateway);
});

test(`S50 ${slow} writers that stop in their bodies hold what they sent, others are served, and it is free when they leave`, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGatewayProcess(t, {
    ...overUpstreams(upstream.url),
    server: { processes: 1, body_memory: '32mb', body_limit: '8mb' },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: slowKey, account: 'slow', name: 'slow' },
    ],
  });
  await warm(gateway);
  const before = residentBytes(gateway);
  const part = `{"model":"chat","padding":"${'x'.repeat(writerBytes)}`;
  const answers: string[] = [];
  const sockets = Array.from({ length: slow }, () =>
    callOn(t, gateway, writerBytes * 2, part, slowKey).on('data', (bytes) => answers.push(String(bytes))),
  );
  // The account has half of the room: 16 MB, which is some eighty of them.
  await until('those beyond its share are refused', () => answers.length >= slow - 90);
  for (let round = 0; round < 20; round += 1) await othersAreServed(gateway);
  for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 503 [\s\S]*Your account has as many bytes/);
  const more = residentBytes(gateway) - before;
  t.diagnostic(`${(more / 1024 ** 2).toFixed(0)} MB more, ${answers.length} of ${slow} refused`);
  assert.ok(more < 160 * 1024 ** 2, `${more} bytes more`);
  for (const socket of sockets) socket.destroy();
  const padded = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'x'.repeat(writerBytes) }] });
  await until('its room is free again', async () => (await post(gateway, padded, slowKey)) === 200);
});

const slowKey = 'sk-cv-test-key-slow';

function residentBytes({ process: { pid } }: GatewayProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1_024;
}

/** A chat whose body may have less than its length. */
function callOn(t: Lifetime, { url }: GatewayProcess, length: number, body: string, key = testKey): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  t.after(() => socket.destroy());
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
  );
  return socket;
}

async function post({ url }: GatewayProcess, body: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
}

async function warm({ url }: GatewayProcess): Promise<void> {
  for (let round = 0; round < 200; round += 1) assert.equal((await chatOnce(url)).status, 200);
}

async function othersAreServed({ url }: GatewayProcess): Promise<void> {
  const { status, ms } = await chatOnce(url);
  assert.equal(status, 200);
  assertWithin(ms, 1_000, 'a chat beside them');
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
}

/** Requests under way. */
async function running({ url }: GatewayProcess): Promise<number> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const { data } = (await (await fetch(`${url}/admin/v1/cluster`, { headers })).json()) as {
    data: { requests: number }[];
  };
  // This one is under way, too.
  return data.reduce((sum, { requests }) => sum + requests, -1);
}
