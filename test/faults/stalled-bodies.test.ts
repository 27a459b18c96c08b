import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { otherKey, overUpstreams, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatPath, loopTurns, type StalledBody, stallBody } from './stalled-body.ts';

const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
const kb = 1024;
const mb = 1024 * kb;

test('S27 a declared length takes no room and no memory: 40 idle bodies of one key shut nothing for anybody', async (t) => {
  // Room for eight of them.
  const gateway = await start(t, { body_memory: '256mb', body_limit: '32mb' });
  const before = heldBytes();
  const bodies: StalledBody[] = [];
  for (const path of [chatPath, '/v1/vectors/collections/c/points']) {
    for (let i = 0; i < 40; i++) bodies.push(await stallBody(t, gateway, { path, declaredBytes: 32 * mb, bytes: 1 }));
  }
  assert.ok(heldBytes() - before < 64 * mb, `${Math.round((heldBytes() - before) / mb)} MB`);
  assert.ok(bodies.every(({ received }) => received() === ''));
  for (const key of [testKey, otherKey]) {
    assert.equal((await send(gateway, chatPath, key, hello)).status, 200);
    assert.equal((await send(gateway, '/v1/vectors/collections', key, { name: 'c', vector_size: 4 })).status, 200);
  }
});

test('S27 bytes that came hold room: an account at its share gets 503 that says so, others are served, and leaving gives it back', async (t) => {
  const gateway = await start(t, { body_memory: '4mb', body_limit: '2mb' });
  const stalled: StalledBody[] = [];
  for (let i = 0; i < 5; i++) stalled.push(await stallBody(t, gateway, { declaredBytes: 600 * kb, bytes: 500 * kb }));
  // 4 × 500 KB are within the 2 MB of one account.
  const refused = await answered(stalled);
  assert.equal(refused.length, 1);
  assert.match(refused[0]!, /^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n[\s\S]*Your account has as many bytes/i);
  assert.match(refused[0]!, /"type":"overloaded_error"/);
  const large = { ...hello, padding: 'x'.repeat(200 * kb) };
  assert.equal((await send(gateway, chatPath, testKey, large)).status, 503);
  assert.equal((await send(gateway, chatPath, otherKey, large)).status, 200);
  for (const { socket } of stalled) socket.destroy();
  await until('it comes about', async () => (await send(gateway, chatPath, testKey, large)).status === 200);
});

test('S27 when all accounts together have filled the room, the refusal says that it is the server', async (t) => {
  const gateway = await start(t, { body_memory: '1mb', body_limit: '512kb' });
  for (const key of [testKey, otherKey]) await stallBody(t, gateway, { key, declaredBytes: 505 * kb, bytes: 500 * kb });
  const third = 'sk-cv-test-key-0003';
  await until('it comes about', async () => {
    const response = await send(gateway, chatPath, third, { ...hello, padding: 'x'.repeat(60 * kb) });
    if (response.status === 200) return false;
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '1');
    assert.match(await response.text(), /This server holds as many bytes/);
    return true;
  });
  assert.equal((await send(gateway, chatPath, third, hello)).status, 200);
});

test('S27 a body that there is no room for is read to its end: its caller gets the 503, and the connection serves on', async (t) => {
  const gateway = await start(t, { body_memory: '8mb', body_limit: '4mb' });
  const order = { declaredBytes: 4 * mb, bytes: 3 * mb };
  const bodies = [await stallBody(t, gateway, order), await stallBody(t, gateway, order)];
  // Whichever comes later.
  const refused = () => bodies.find(({ received }) => received().startsWith('HTTP/1.1 503 '));
  await until('it comes about', async () => refused() !== undefined);
  const { socket, received } = refused()!;
  socket.write(' '.repeat(mb));
  socket.write(`GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\n\r\n`);
  await until('it comes about', async () => received().includes('HTTP/1.1 200 '));
});

test('S27 a fast beginning buys no time: less than 64 KB in a minute is 408 and a close, and gives the room back', async (t) => {
  const gateway = await start(t, { body_memory: '4mb', body_limit: '2mb' });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const body = await stallBody(t, gateway, { declaredBytes: 2 * mb, bytes: 1.9 * mb });
  for (let second = 0; second < 59; second++) {
    t.mock.timers.tick(1_000);
    body.socket.write('x');
    await loopTurns();
  }
  assert.equal(body.received(), '');
  t.mock.timers.tick(1_000);
  await loopTurns();
  t.mock.timers.reset();
  if (!body.socket.closed) await once(body.socket, 'close', { signal: AbortSignal.timeout(60_000) });
  assert.match(body.received(), /^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*less than 64 KB in 60 s/i);
  assert.equal((await send(gateway, chatPath, testKey, { ...hello, padding: 'x'.repeat(mb) })).status, 200);
});

test('S27 a body that keeps the pace for ever is 408 after ten minutes', async (t) => {
  const gateway = await start(t, {});
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const body = await stallBody(t, gateway, { declaredBytes: 31 * mb, bytes: 64 * kb });
  const piece = 'x'.repeat(64 * kb);
  for (let minute = 0; minute < 10; minute++) {
    assert.equal(body.received(), '', `minute ${minute}`);
    t.mock.timers.tick(59_999);
    body.socket.write(piece);
    await loopTurns();
  }
  t.mock.timers.tick(10_000);
  await loopTurns();
  t.mock.timers.reset();
  if (!body.socket.closed) await once(body.socket, 'close', { signal: AbortSignal.timeout(60_000) });
  assert.match(body.received(), /^HTTP\/1\.1 408 [\s\S]*longer than 10 min/i);
});

test('S27 an upload is held to the same pace', async (t) => {
  const gateway = await start(t, {});
  // The form reader is loaded with the first of them.
  const path = '/v1/audio/transcriptions';
  await (await gateway.fetch(path, { method: 'POST', body: new FormData() })).arrayBuffer();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const body = await stallBody(t, gateway, {
    path,
    type: 'multipart/form-data; boundary=b',
    declaredBytes: 10 * mb,
    bytes: Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF'),
  });
  for (let second = 0; second < 60; second++) {
    body.socket.write('x');
    await loopTurns();
    t.mock.timers.tick(1_000);
  }
  await loopTurns();
  t.mock.timers.reset();
  if (!body.socket.closed) await once(body.socket, 'close', { signal: AbortSignal.timeout(60_000) });
  assert.match(body.received(), /^HTTP\/1\.1 408 /);
});

/**
 * Moved timers would make its loop late. They, and the memory, are those of this process: test/processes/shared-bounds
 * looks at bodies over several.
 */
async function start(t: TestContext, server: Record<string, unknown>): Promise<TestGateway> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const keys = [testKey, otherKey, 'sk-cv-test-key-0003'].map((key, i) => ({ key, account: `a${i}`, name: 'test' }));
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    server: { overload: 'off', processes: 1, ...server },
    keys,
  });
  await gateway.modelsKnown;
  // All routes are loaded with the first call of one that is not a chat.
  await (await gateway.fetch('/v1/models')).arrayBuffer();
  return gateway;
}

/** Answers of the answered ones, once there is one. */
async function answered(bodies: readonly StalledBody[]): Promise<string[]> {
  const texts = () => bodies.map(({ received }) => received()).filter((text) => text !== '');
  await until('it comes about', async () => texts().length > 0);
  await loopTurns();
  return texts();
}

async function send(gateway: TestGateway, path: string, key: string, json: unknown): Promise<Response> {
  const response = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  return new Response(text, { status: response.status, headers: response.headers });
}

function heldBytes(): number {
  const { external, arrayBuffers } = process.memoryUsage();
  return Math.max(external, arrayBuffers);
}

test('S27 a caller that closes its connection behind one request reads the refusal, though it still sends', async (t) => {
  const gateway = await start(t, { body_memory: '2mb', body_limit: '1mb' });
  await stallBody(t, gateway, { declaredBytes: 1_000 * kb, bytes: 900 * kb });
  const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  let [received, broken] = ['', ''];
  socket.on('error', (error) => {
    broken = String(error);
  });
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1');
  });
  const head = `POST ${chatPath} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\nconnection: close\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${1_000 * kb}\r\n\r\n{`);
  socket.write(Buffer.alloc(300 * kb, ' '));
  await until('it is refused', () => received.startsWith('HTTP/1.1 503 '));
  for (let piece = 0; piece < 6; piece++) {
    await new Promise((resolve) => socket.write(Buffer.alloc(100 * kb, ' '), resolve));
    await loopTurns();
  }
  assert.equal(broken, '');
  assert.match(received, /Your account has as many bytes/);
});
