import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { otherKey, overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { chatPath, type StalledBody, stallBody } from './stalled-body.ts';

const kb = 1024;
const mb = 1024 * kb;
const uploadPath = '/v1/audio/transcriptions';
const fileHead = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';

for (const { what, count, mbEach, mbMost, bodyMemory } of [
  { what: 'one body', count: 1, mbEach: 30, mbMost: 1, bodyMemory: '512mb' },
  { what: '40 bodies', count: 40, mbEach: 4, mbMost: 1.5, bodyMemory: '512mb' },
  { what: '40 bodies that are refused and dropped', count: 40, mbEach: 4, mbMost: 1.5, bodyMemory: '64mb' },
])
  test(`S27 in one turn of the loop no more than ${mbMost} MB come of ${what}: others have theirs between`, async (t) => {
    const gateway = await start(t, bodyMemory);
    const read = bytesReadByTurn(t);
    const order = { declaredBytes: (mbEach + 1) * mb, bytes: mbEach * mb };
    const bodies = await Promise.all(Array.from({ length: count }, () => stallBody(t, gateway, order)));
    await until(() => read.sum() >= count * mbEach * mb);
    assert.ok(read.most() < mbMost * mb, `${Math.round(read.most() / kb)} KB`);
    assert.equal(refused(bodies).length > 0, bodyMemory === '64mb');
  });

for (const { what, count, mbEach, mbMost } of [
  { what: 'one upload', count: 1, mbEach: 30, mbMost: 1 },
  { what: '40 uploads', count: 40, mbEach: 4, mbMost: 1.5 },
])
  test(`S27 in one turn of the loop no more than ${mbMost} MB come of ${what}: others have theirs between`, async (t) => {
    const gateway = await start(t, '512mb');
    const read = bytesReadByTurn(t);
    const bytes = Buffer.concat([Buffer.from(fileHead), Buffer.alloc(mbEach * mb, ' ')]);
    const type = 'multipart/form-data; boundary=b';
    const order = { path: uploadPath, type, declaredBytes: bytes.length + mb, bytes };
    const uploads = await Promise.all(Array.from({ length: count }, () => stallBody(t, gateway, order)));
    await until(() => read.sum() >= count * mbEach * mb);
    assert.ok(read.most() < mbMost * mb, `${Math.round(read.most() / kb)} KB`);
    assert.deepEqual(refused(uploads), []);
  });

test('S27 an upload of one key comes whole while forty of another are on their way', async (t) => {
  const gateway = await start(t, '512mb');
  const read = bytesReadByTurn(t);
  const large = Buffer.concat([Buffer.from(fileHead), Buffer.alloc(20 * mb, ' ')]);
  const type = 'multipart/form-data; boundary=b';
  const order = { path: uploadPath, type, declaredBytes: large.length + mb, bytes: large };
  for (let i = 0; i < 40; i++) void stallBody(t, gateway, order);
  await until(() => read.sum() >= mb);
  const own = await stallBody(t, gateway, { ...order, key: otherKey, bytes: Buffer.from(fileHead), declaredBytes: mb });
  const at = read.sum();
  own.socket.write(Buffer.alloc(mb - fileHead.length, ' '));
  await until(() => own.received().startsWith('HTTP/1.1 4'));
  // Its turns come between those of the others: 8 for its megabyte, in each of which the others have three.
  assert.ok(read.sum() - at < 40 * mb, `${Math.round((read.sum() - at) / mb)} MB of others came first`);
});

test('S27 what a refused body had is free with the refusal, whenever V8 looks for garbage', async (t) => {
  const gateway = await start(t, '64mb');
  const { mock } = t.mock.method(Buffer, 'allocUnsafeSlow');
  const read = bytesReadByTurn(t);
  const order = { declaredBytes: 32 * mb, bytes: Buffer.alloc(31 * mb, ' ') };
  const bodies = await Promise.all(Array.from({ length: 3 }, () => stallBody(t, gateway, order)));
  await until(() => read.sum() >= 3 * 31 * mb);
  const count = refused(bodies).length;
  assert.ok(count >= 2);
  const memories = mock.calls.flatMap((call) => (call.arguments[0] === 32 * mb ? [call.result!.length] : []));
  assert.equal(memories.filter((bytes) => bytes > 0).length, bodies.length - count);
});

test('S27 what is read of a refused body and dropped takes no memory', async (t) => {
  const gateway = await start(t, '64mb');
  const read = bytesReadByTurn(t);
  const order = { declaredBytes: 32 * mb, bytes: Buffer.alloc(31 * mb, ' ') };
  await stallBody(t, gateway, order);
  await until(() => read.sum() >= 31 * mb);
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const dropped = await Promise.all(Array.from({ length: 4 }, () => stallBody(t, gateway, order)));
  await until(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    return read.sum() >= 5 * 31 * mb;
  });
  assert.equal(refused(dropped).length, 4);
  assert.ok(most < 8 * mb, `${Math.round(most / mb)} MB`);
});

function refused(bodies: readonly StalledBody[]): StalledBody[] {
  return bodies.filter(({ received }) => received().startsWith('HTTP/1.1 503 '));
}

/** Bytes that the gateway's connections have read, from here on. */
function bytesReadByTurn(t: TestContext): { most(): number; sum(): number } {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  channel('net.server.socket').subscribe(onSocket);
  let sum = 0;
  let most = 0;
  let isOver = false;
  const look = () => {
    if (isOver) return;
    const now = sockets.reduce((bytes, socket) => bytes + socket.bytesRead, 0);
    most = Math.max(most, now - sum);
    sum = now;
    setImmediate(look);
  };
  look();
  t.after(() => {
    isOver = true;
    channel('net.server.socket').unsubscribe(onSocket);
  });
  return { most: () => most, sum: () => sum };
}

async function start(t: TestContext, bodyMemory: string): Promise<TestGateway> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    // This one, whose sockets are watched.
    server: { processes: 1, body_limit: '32mb', body_memory: bodyMemory },
  });
  await gateway.modelsKnown;
  // The code for chats and uploads is loaded with the first of them.
  await (await gateway.fetch(chatPath, { json: { model: 'chat', messages: [] } })).arrayBuffer();
  await (await gateway.fetch(uploadPath, { method: 'POST', body: new FormData() })).arrayBuffer();
  return gateway;
}

async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 200_000; turns++) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail('it never came');
}
