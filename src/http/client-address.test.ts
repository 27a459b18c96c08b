import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClientAddress } from './client-address.ts';

const proxies = ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'];

function address(remoteAddress: string | undefined, forwarded?: string, trusted: readonly string[] = proxies) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return createClientAddress(() => trusted)({ headers, socket: { remoteAddress } });
}

test('without trusted proxies X-Forwarded-For is not believed', () => {
  assert.equal(address('198.51.100.1', '10.0.0.1', []), '198.51.100.1');
  assert.equal(address('::ffff:198.51.100.1', '10.0.0.1', []), '198.51.100.1');
});

test('a caller who is no proxy cannot name another address', () => {
  assert.equal(address('198.51.100.1', '10.0.0.1'), '198.51.100.1');
});

test('a trusted proxy names the caller; what the caller wrote further left is not believed', () => {
  assert.equal(address('127.0.0.1', '198.51.100.1'), '198.51.100.1');
  assert.equal(address('::ffff:127.0.0.1', '10.9.9.9, 198.51.100.1'), '198.51.100.1');
  assert.equal(address('127.0.0.1', '203.0.113.5, 198.51.100.1, 10.0.0.2 , 2001:db8::5'), '198.51.100.1');
});

test('ports and brackets that proxies add are taken off', () => {
  assert.equal(address('127.0.0.1', '198.51.100.1:4711'), '198.51.100.1');
  assert.equal(address('127.0.0.1', '[2001:db9::1]:4711'), '2001:db9::1');
  assert.equal(address('127.0.0.1', '2001:db9::1'), '2001:db9::1');
});

test('a proxy that names nobody is the caller itself; one that names nonsense hides who it is', () => {
  assert.equal(address('127.0.0.1'), '127.0.0.1');
  assert.equal(address('127.0.0.1', ''), '127.0.0.1');
  assert.equal(address('127.0.0.1', '198.51.100.1, unknown'), null);
  assert.equal(address(undefined), null);
});

test('a header of many hops is read for a while only', () => {
  assert.equal(address('127.0.0.1', `198.51.100.1, ${'10.0.0.1, '.repeat(5_000)}10.0.0.2`), '10.0.0.1');
});

test('a reload of the configuration counts from the next request on', () => {
  let trusted: readonly string[] = [];
  const of = createClientAddress(() => trusted);
  const request = { headers: { 'x-forwarded-for': '198.51.100.1' }, socket: { remoteAddress: '127.0.0.1' } };
  assert.equal(of(request), '127.0.0.1');
  trusted = ['127.0.0.0/8'];
  assert.equal(of(request), '198.51.100.1');
  trusted = [];
  assert.equal(of(request), '127.0.0.1');
});
