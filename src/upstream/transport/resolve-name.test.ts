import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { assertWithin } from '../../../test/machine-load.ts';
import { addressesInHosts, createSystemResolver } from './resolve-name.ts';

type Reply = { records: Buffer[]; ttlS: number } | 'NXDOMAIN' | 'SERVFAIL' | 'silence';

const typeA = 1;
const typeAaaa = 28;

/** A name server (RFC 1035 §4) on loopback, with one answer per name and type. */
async function nameServer(t: TestContext, replies: Record<string, { a?: Reply; aaaa?: Reply }>): Promise<string> {
  const server = dgram.createSocket('udp4');
  server.on('message', (query, peer) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const type = query.readUInt16BE(at + 1);
    const question = query.subarray(12, at + 5);
    const known = replies[labels.join('.')];
    const reply = (type === typeA ? known?.a : type === typeAaaa ? known?.aaaa : undefined) ?? 'NXDOMAIN';
    if (reply === 'silence') return;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (reply === 'NXDOMAIN' ? 3 : reply === 'SERVFAIL' ? 2 : 0), 2);
    head.writeUInt16BE(1, 4);
    const records = typeof reply === 'string' ? [] : reply.records;
    head.writeUInt16BE(records.length, 6);
    const answers = records.map((data) => {
      const record = Buffer.alloc(12);
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt32BE(typeof reply === 'string' ? 0 : reply.ttlS, 6);
      record.writeUInt16BE(data.length, 10);
      return Buffer.concat([record, data]);
    });
    server.send(Buffer.concat([head, question, ...answers]), peer.port, peer.address);
  });
  await new Promise<void>((ready) => server.bind(0, '127.0.0.1', ready));
  t.after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const four: Reply = { records: [Buffer.from([192, 0, 2, 1]), Buffer.from([192, 0, 2, 2])], ttlS: 20 };
const six: Reply = { records: [Buffer.from('20010db8000000000000000000000001', 'hex')], ttlS: 7 };
const noSystem = (): Promise<never> => assert.fail('getaddrinfo was asked');

async function resolverOver(t: TestContext, replies: Record<string, { a?: Reply; aaaa?: Reply }>) {
  const servers = [await nameServer(t, replies)];
  return (getAddressInfo: (hostname: string) => Promise<{ address: string; family: number }[]>) =>
    createSystemResolver({ servers, hostsFile: '/dev/null', getAddressInfo });
}

test('F26 the name servers are asked for both families; IPv4 stands first, the shorter TTL counts', async (t) => {
  const over = await resolverOver(t, { 'api.test': { a: four, aaaa: six } });
  assert.deepEqual(await over(noSystem)('api.test'), {
    addresses: [
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ],
    ttlMs: 7_000,
  });
});

test('F26 a server that never answers for one family costs 50 ms, not the name', async (t) => {
  const over = await resolverOver(t, {
    'four.test': { a: four, aaaa: 'silence' },
    'six.test': { a: 'silence', aaaa: six },
  });
  const startedAt = performance.now();
  const [inFour, inSix] = await Promise.all([over(noSystem)('four.test'), over(noSystem)('six.test')]);
  // Less than the two tries after which a silent server is given up: 50 ms may be more on a busy machine.
  assertWithin(performance.now() - startedAt, 2_000);
  assert.deepEqual(
    inFour.addresses.map(({ family }) => family),
    [4, 4],
  );
  assert.deepEqual(
    inSix.addresses.map(({ family }) => family),
    [6],
  );
});

test('F26 one family without records does no harm to the other', async (t) => {
  const over = await resolverOver(t, { 'six.test': { a: { records: [], ttlS: 1 }, aaaa: six } });
  assert.equal((await over(noSystem)('six.test')).addresses[0]?.address, '2001:db8::1');
});

test('F26 where the name servers are silent, the next name goes to those of the network that the machine is in now', async (t) => {
  const servers = [await nameServer(t, { 'api.test': { a: 'silence', aaaa: 'silence' } })];
  const resolve = createSystemResolver({ servers, hostsFile: '/dev/null', getAddressInfo: noSystem });
  await assert.rejects(resolve('api.test'), { code: 'ETIMEOUT' });
  servers[0] = await nameServer(t, { 'api.test': { a: four } });
  assert.equal((await resolve('api.test')).addresses[0]?.address, '192.0.2.1');
});

test('F26 what the name servers do not know, getaddrinfo may: search domains, mDNS', async (t) => {
  const over = await resolverOver(t, { 'fails.test': { a: 'SERVFAIL', aaaa: 'SERVFAIL' } });
  const asked: string[] = [];
  const resolve = over(async (hostname) => {
    asked.push(hostname);
    return [
      { address: '::1', family: 6 },
      { address: '127.0.0.9', family: 4 },
    ];
  });
  for (const name of ['svc.namespace', 'fails.test', 'ollama', 'box.local']) {
    const { addresses } = await resolve(name);
    assert.deepEqual(addresses[0], { address: '127.0.0.9', family: 4 }, name);
  }
  assert.deepEqual(asked, ['svc.namespace', 'fails.test', 'ollama', 'box.local']);
});

test('F26 getaddrinfo never holds more than two threads, and who waits gets a turn', async () => {
  const waiting: (() => void)[] = [];
  const resolve = createSystemResolver({
    hostsFile: '/dev/null',
    getAddressInfo: (hostname) =>
      new Promise((done, fail) =>
        waiting.push(() => (hostname === 'b' ? fail(new Error('no')) : done([{ address: '127.0.0.1', family: 4 }]))),
      ),
  });
  const all = ['a', 'b', 'c', 'd'].map((name) =>
    resolve(name).then(
      () => 'found',
      () => 'failed',
    ),
  );
  let most = 0;
  for (let turn = 0; turn < 10; turn++) {
    await new Promise(setImmediate);
    most = Math.max(most, waiting.length);
    waiting.shift()?.();
  }
  assert.equal(most, 2);
  assert.deepEqual(await Promise.all(all), ['found', 'failed', 'found', 'found']);
});

test('a name in the hosts file is not asked for', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'culvert-hosts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const hostsFile = path.join(folder, 'hosts');
  writeFileSync(hostsFile, '127.0.0.5 api.test\n');
  const resolve = createSystemResolver({ hostsFile, getAddressInfo: noSystem });
  assert.deepEqual((await resolve('API.test')).addresses, [{ address: '127.0.0.5', family: 4 }]);
});

test('hosts(5): comments, several names, both families, no part of a name', () => {
  const hosts =
    '# 127.0.0.9 api.test\n::1\tapi.test other\n 127.0.0.1   localhost API.test # me\n127.0.0.2 xapi.test\nrubbish\n';
  assert.deepEqual(addressesInHosts(hosts, 'api.test'), [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]);
  assert.deepEqual(addressesInHosts(hosts, 'api'), []);
});
