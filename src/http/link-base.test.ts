import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { Config } from '../config/schema.ts';
import { linkBaseOf, linkFrom } from './link-base.ts';

function linkBase(headers: Record<string, string>, server: Partial<Config['server']> = {}, peer = '127.0.0.1'): string {
  const socket = { remoteAddress: peer, localAddress: '::1', localPort: 4_141 };
  const configured = { trusted_proxies: [], port: 4_141, ...server } as unknown as Config['server'];
  return linkBaseOf({ headers, socket } as unknown as IncomingMessage, configured);
}

test('links begin with the host that the caller used, or with what the operator says', () => {
  assert.equal(linkBase({ host: 'box:4141' }), 'http://box:4141');
  assert.equal(
    linkBase({ host: 'box' }, { public_url: 'https://ai.example.org/gate/' }),
    'https://ai.example.org/gate',
  );
  // HTTP/1.0 has no Host.
  assert.equal(linkBase({}), 'http://[::1]:4141');
});

test('a proxy says that the caller came by https, if it is one of the trusted ones', () => {
  const headers = { host: 'ai.example.org', 'x-forwarded-proto': 'https' };
  const server = { trusted_proxies: ['10.0.0.0/8'] };
  assert.equal(linkBase(headers, server, '10.1.2.3'), 'https://ai.example.org');
  assert.equal(linkBase(headers, server, '192.0.2.1'), 'http://ai.example.org');
  assert.equal(
    linkBase({ ...headers, 'x-forwarded-proto': 'javascript' }, server, '10.1.2.3'),
    'http://ai.example.org',
  );
});

test('a trusted proxy says which path it took away, unless the operator does', () => {
  const headers = { host: 'ai.example.org', 'x-forwarded-prefix': '/team/culvert/' };
  const server = { trusted_proxies: ['10.0.0.0/8'] };
  assert.equal(linkBase(headers, server, '10.1.2.3'), 'http://ai.example.org/team/culvert');
  assert.equal(linkBase(headers, server, '192.0.2.1'), 'http://ai.example.org');
  const both = { ...server, public_url: 'https://ai.example.org/gate' };
  assert.equal(linkBase(headers, both, '10.1.2.3'), 'https://ai.example.org/gate');
  for (const prefix of ['//evil.example', '/a b', 'culvert', '/', '/a\r\nx: y', '/"><script>']) {
    const base = linkBase({ host: 'box', 'x-forwarded-prefix': prefix }, server, '10.1.2.3');
    assert.equal(base, 'http://box', prefix);
  }
});

test('letters of public_url that no header can have are encoded', () => {
  const server = { trusted_proxies: [], public_url: 'https://bücher.example/模型/' };
  assert.equal(linkBase({ host: 'box' }, server, '10.1.2.3'), 'https://xn--bcher-kva.example/%E6%A8%A1%E5%9E%8B');
});

test('a link from a page holds below any path', () => {
  for (const base of ['', '/culvert', '/a/b'])
    for (const path of ['/', '/dashboard', '/dashboard/', '/dashboard/keys/a%2Fb', '/dashboard/oidc/callback']) {
      if (base !== '' && path === '/') continue;
      const { pathname } = new URL(linkFrom(path, '/dashboard/assets/a.js'), `http://box${base}${path}`);
      assert.equal(pathname, `${base}/dashboard/assets/a.js`, base + path);
    }
});
