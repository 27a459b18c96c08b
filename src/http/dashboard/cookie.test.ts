import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { Config } from '../../config/schema.ts';
import { cookieName, sessionAddressOf, sessionCookie } from './cookie.ts';

test('servers at other ports and paths of one host have cookies of other names', () => {
  const names = [
    'https://a',
    'https://a/',
    'https://a:8443',
    'https://a/team/x',
    'https://a:8443/team',
    'https://a/b=;c',
  ];
  assert.deepEqual(
    names.map((address) => cookieName('session', address)),
    [
      'culvert_session',
      'culvert_session',
      'culvert_session_8443',
      'culvert_session_team_x',
      'culvert_session_8443_team',
      'culvert_session_b--c',
    ],
  );
  assert.match(sessionCookie('s', 1_000, 'https://a/team'), /^culvert_session_team=s; Path=\/team; .*; Secure$/);
  assert.match(sessionCookie('s', 1_000, 'http://a'), /^culvert_session=s; Path=\/; .*SameSite=Strict$/);
});

test('a browser that comes around the proxy has a session without the path of the proxy', () => {
  const address = (host: string, public_url: string) =>
    sessionAddressOf({ headers: { host }, socket: {} } as IncomingMessage, { public_url } as Config['server']);
  assert.equal(address('a.example', 'https://a.example/culvert'), 'https://a.example/culvert');
  assert.equal(address('127.0.0.1:4141', 'https://a.example/culvert'), 'https://127.0.0.1:4141');
  assert.equal(address('127.0.0.1:4141', 'https://a.example'), 'https://a.example', 'as before');
  assert.equal(address('A.example:443', 'https://a.example/culvert'), 'https://a.example/culvert', 'with its port');
});

test('a Host that is no address names a cookie, too', () => {
  const socket = { remoteAddress: '127.0.0.1' };
  for (const host of ['a:99999', '256.256.256.256', '%zz']) {
    const ours = (server: object) =>
      sessionAddressOf({ headers: { host }, socket } as IncomingMessage, server as Config['server']);
    assert.equal(ours({ trusted_proxies: [] }), `http://${host}`);
    assert.equal(cookieName('session', ours({ public_url: 'https://a.example/culvert' })), 'culvert_session');
  }
});
