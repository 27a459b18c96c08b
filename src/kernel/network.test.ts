import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientNetwork, createNetworkSet, parseNetwork, parsePlace, plainAddress } from './network.ts';

test('an address or network is read; IPv4 wrapped in IPv6 is IPv4', () => {
  assert.deepEqual(parseNetwork('10.0.0.0/8'), { address: '10.0.0.0', family: 'ipv4', prefixBits: 8 });
  assert.deepEqual(parseNetwork('192.0.2.7'), { address: '192.0.2.7', family: 'ipv4', prefixBits: 32 });
  assert.deepEqual(parseNetwork('2001:db8::/32'), { address: '2001:db8::', family: 'ipv6', prefixBits: 32 });
  assert.deepEqual(parseNetwork('::ffff:10.0.0.0/104'), { address: '10.0.0.0', family: 'ipv4', prefixBits: 8 });
});

for (const text of [
  '',
  '10.0.0.0/33',
  '10.0.0/8',
  '::1/129',
  '::ffff:10.0.0.0/8',
  'example.org',
  '10.0.0.0/',
  '/8',
  '1.2.3.4/-1',
  '1.2.3.4/8/8',
]) {
  test(`'${text}' is no network`, () => assert.equal(parseNetwork(text), null));
}

test('addresses are compared in one form', () => {
  assert.equal(plainAddress('::ffff:192.0.2.7'), '192.0.2.7');
  assert.equal(plainAddress('::FFFF:c000:0207'), '192.0.2.7');
  assert.equal(plainAddress('0:0:0:0:0:ffff:c000:207'), '192.0.2.7');
  assert.equal(plainAddress('[2001:db8::1]'), '2001:db8::1');
  assert.equal(plainAddress('fe80::1%eth0'), 'fe80::1');
  assert.equal(plainAddress('unknown'), null);
});

test('a set holds what lies in its networks, however it is written', () => {
  const set = createNetworkSet(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7', 'nonsense']);
  for (const inside of ['10.255.0.1', '::ffff:10.1.2.3', '::ffff:a01:203', '2001:db8:1::2', '192.0.2.7'])
    assert.ok(set.has(inside), inside);
  for (const outside of ['11.0.0.1', '::ffff:11.0.0.1', '2001:db9::1', '192.0.2.8', '::1', 'nonsense', '', null])
    assert.ok(!set.has(outside), String(outside));
});

test('an empty set, or one of nonsense alone, holds nobody', () => {
  assert.ok(!createNetworkSet([]).has('127.0.0.1'));
  assert.ok(!createNetworkSet(['10.0.0.0/99']).has('10.0.0.1'));
});

test('a place is a host with its port, as URLs write it', () => {
  assert.deepEqual(parsePlace('127.0.0.1:9000'), { host: '127.0.0.1', port: 9000 });
  assert.deepEqual(parsePlace('MinIO.internal:80'), { host: 'minio.internal', port: 80 });
  for (const port of [1, 65_535]) assert.deepEqual(parsePlace(`a:${port}`), { host: 'a', port });
  assert.deepEqual(parsePlace('[0:0::1]:443'), { host: '[::1]', port: 443 });
  for (const none of ['127.0.0.1', 'a:0', 'a:65536', 'a:b', ':80', 'http://a:80', 'a/b:80', 'u@a:80', '::1:80', '']) {
    assert.equal(parsePlace(none), null, none);
  }
});

test('clients of one /64 are one network, however they write it; each IPv4 address is its own', () => {
  for (const address of ['2001:db8:0:7::1', '2001:DB8:0:7:aaaa:bbbb:cccc:dddd', '2001:0db8::7:1:2:3:4'])
    assert.equal(clientNetwork(address), '2001:db8:0:7', address);
  assert.equal(clientNetwork('2001:db8::1'), '2001:db8:0:0');
  assert.equal(clientNetwork('::1'), '0:0:0:0');
  assert.equal(clientNetwork('fe80::'), 'fe80:0:0:0');
  assert.deepEqual([clientNetwork('192.0.2.7'), clientNetwork(null)], ['192.0.2.7', '']);
});
