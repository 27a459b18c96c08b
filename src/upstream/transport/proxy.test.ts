import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentProxies, readProxy } from './proxy.ts';

const proxies = { HTTPS_PROXY: 'http://secure.test:1', HTTP_PROXY: 'plain.test:2' };
const through = (env: Record<string, string>, origin: string) => environmentProxies(env)(new URL(origin))?.origin.host;

test('the scheme of an origin decides between HTTPS_PROXY and HTTP_PROXY; small letters win', () => {
  assert.equal(through(proxies, 'https://api.test'), 'secure.test:1');
  assert.equal(through(proxies, 'http://api.test'), 'plain.test:2');
  assert.equal(through({ ...proxies, https_proxy: 'http://small.test:3' }, 'https://api.test'), 'small.test:3');
  assert.equal(through({ ...proxies, https_proxy: '' }, 'https://api.test'), undefined);
  assert.equal(through({ HTTP_PROXY: 'plain.test:2' }, 'https://api.test'), undefined);
});

test('this machine is never asked through the environment’s proxies', () => {
  for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.9.9.9', '[::1]']) {
    assert.equal(through(proxies, `http://${host}:11434`), undefined, host);
  }
});

for (const [noProxy, straight, proxied] of [
  ['*', ['http://api.test'], []],
  [
    'api.test, .corp.test',
    ['http://api.test', 'http://a.api.test:8000', 'http://corp.test', 'http://x.corp.test'],
    ['http://xapi.test'],
  ],
  ['*.corp.test', ['http://x.corp.test'], ['http://corp.example']],
  ['api.test:8000 B.test', ['http://api.test:8000', 'http://b.test'], ['http://api.test', 'http://api.test:8001']],
  ['api.test:443', ['https://api.test'], ['http://api.test']],
  ['10.0.0.0/8,fd00::/8', ['http://10.1.2.3', 'http://[fd00::1]:80'], ['http://11.1.2.3', 'http://[fe00::1]']],
  ['192.0.2.7', ['http://192.0.2.7:9000'], ['http://192.0.2.70']],
] as const) {
  test(`NO_PROXY=${noProxy}`, () => {
    const env = { ...proxies, NO_PROXY: noProxy };
    for (const origin of straight) assert.equal(through(env, origin), undefined, origin);
    for (const origin of proxied) {
      assert.notEqual(through(env, origin), undefined, origin);
    }
  });
}

test('a value that is no proxy is named by its variable, and not shown', () => {
  for (const value of ['socks5://user:hidden@proxy.test', 'http://', 'http://[::1']) {
    assert.throws(
      () => environmentProxies({ HTTPS_PROXY: value }),
      (error: Error) => /HTTPS_PROXY/.test(error.message) && !error.message.includes('hidden'),
    );
  }
});

test('user and password are what their escapes stand for', () => {
  const authorization = `Basic ${Buffer.from('us:er@x:pass/word').toString('base64')}`;
  assert.equal(readProxy('http://us%3Aer%40x:pass%2Fword@proxy.test')?.authorization, authorization);
  assert.equal(readProxy('http://proxy.test')?.authorization, null);
  // A sign of no escape is itself.
  const stray = `Basic ${Buffer.from('user:p%w').toString('base64')}`;
  assert.equal(
    environmentProxies({ HTTPS_PROXY: 'http://user:p%w@proxy.test' })(new URL('https://x.test'))?.authorization,
    stray,
  );
});
