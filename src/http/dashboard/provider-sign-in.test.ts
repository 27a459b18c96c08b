import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import type { Config } from '../../config/schema.ts';
import { createSealer } from '../../kernel/seal.ts';
import type { Exchange } from '../exchange.ts';
import { createBegunCookie, loginMaxMs, safePlace } from './provider-sign-in.ts';

const clock = fakeClock();
const sealer = createSealer(['a secret of the tests, which has 32 bytes and more'], 'logins');

/** A browser that has this server at `publicUrl`, and its cookies. */
function browserAt(publicUrl: string) {
  const state = { set: '', cookie: '' };
  const server = () => ({ public_url: publicUrl }) as Config['server'];
  const exchange = {
    get request() {
      return { headers: { cookie: state.cookie } };
    },
    response: {
      appendHeader(_name: string, value: string) {
        state.set = value;
        state.cookie = value.split(';', 1)[0] ?? '';
      },
    },
  } as unknown as Exchange;
  return { state, exchange, parts: { clock, sealer, server } };
}

const begun = () => ({ to: '/dashboard/keys', untilMs: clock.wallMs() + loginMaxMs });

test('a browser that has begun a login is known for ten minutes, and until the login has ended', () => {
  const { exchange, parts } = browserAt('https://culvert.example.org');
  const cookie = createBegunCookie('saml', 'post', parts);
  assert.equal(cookie.read(exchange), null);
  cookie.keep(exchange, begun());
  clock.advance(loginMaxMs - 1);
  assert.equal(cookie.read(exchange)?.to, '/dashboard/keys');
  clock.advance(1);
  assert.equal(cookie.read(exchange), null);
  cookie.keep(exchange, begun());
  cookie.drop(exchange);
  assert.equal(cookie.read(exchange), null);
});

test('a login of one kind is none of another, even under its name', () => {
  const { state, exchange, parts } = browserAt('http://127.0.0.1:4141');
  createBegunCookie('oidc', 'link', parts).keep(exchange, begun());
  state.cookie = state.cookie.replace('culvert_oidc', 'culvert_saml');
  assert.equal(createBegunCookie('saml', 'post', parts).read(exchange), null);
});

test('a form of another site brings the cookie back where there is TLS, and a link does everywhere', () => {
  const rulesAt = (publicUrl: string, of: 'oidc' | 'saml') => {
    const { state, exchange, parts } = browserAt(publicUrl);
    createBegunCookie(of, of === 'oidc' ? 'link' : 'post', parts).keep(exchange, begun());
    return state.set.replace(/^[^;]*; /, '');
  };
  const all = (of: string) => `Path=/dashboard/${of}; Max-Age=600; HttpOnly`;
  assert.equal(rulesAt('https://c.example', 'saml'), `${all('saml')}; SameSite=None; Secure`);
  assert.equal(rulesAt('http://127.0.0.1:4141', 'saml'), all('saml'), 'without Secure, None would be dropped');
  assert.equal(rulesAt('https://c.example', 'oidc'), `${all('oidc')}; SameSite=Lax; Secure`);
  assert.equal(rulesAt('http://127.0.0.1:4141', 'oidc'), `${all('oidc')}; SameSite=Lax`);
});

test('a place is one of this server', () => {
  for (const to of ['/dashboard', '/account', '/dashboard/keys?a=b#c']) assert.equal(safePlace(to), to);
  for (const to of [
    null,
    '',
    '//evil.example',
    'https://evil.example',
    '/dashboardx',
    '/dashboard/\r\nx: y',
    '/v1/models',
  ]) {
    assert.equal(safePlace(to), '/dashboard', String(to));
  }
});
