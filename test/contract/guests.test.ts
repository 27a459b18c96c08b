import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import {
  billingCertificate,
  endedCertificate,
  namedAsUriCertificate,
  namedAsUrnCertificate,
  strangerCertificate,
} from '../client-certificates.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Callers with keys of another system, which a webhook knows, and with certificates that a proxy has verified. */

const upstream = await startUpstream();
after(() => upstream.close());
const secret = 'a-secret-of-at-least-thirty-two-bytes';

interface Question {
  headers: Record<string, string | string[] | undefined>;
  body: string;
  key: string;
  address: string | null;
}
type Reply = { status: number; body?: unknown; afterMs?: number };
const questions: Question[] = [];
let replyTo: (question: Question) => Reply = () => ({ status: 404 });

const service = createServer((request, response) => {
  void request.toArray().then((chunks) => {
    const body = Buffer.concat(chunks).toString();
    const { data } = JSON.parse(body) as { data: Pick<Question, 'key' | 'address'> };
    const question = { headers: request.headers, body, ...data };
    questions.push(question);
    const { status, body: reply = {}, afterMs = 0 } = replyTo(question);
    setTimeout(
      () => response.writeHead(status).end(typeof reply === 'string' ? reply : JSON.stringify(reply)),
      afterMs,
    );
  });
}).listen(0, '127.0.0.1');
await new Promise((resolve) => service.once('listening', resolve));
after(() => {
  service.closeAllConnections();
  service.close();
});
const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/who`;

const config = {
  // Each worker asks the service for itself (docs/scale-out.md).
  server: { trusted_proxies: ['127.0.0.1', '::1'], processes: 1 },
  providers: { up: { type: 'openai', api_key: 'a-key', base_url: `${upstream.url}/v1` } },
  models: { smart: { targets: ['up/mock/ok'] }, other: { targets: ['up/mock/ok'] } },
  plans: { default: { windows: 'off', rpm: 'off' }, tiny: { windows: 'off', rpm: 1 } },
  accounts: { team: {}, gone: { status: 'suspended' } },
  callers: {
    webhook: { url, secret, deadline: '1500ms', cache: '1m', refusals_cache: '1m' },
    certificates: {
      header: 'X-Client-Cert',
      accounts: [
        { match: 'spiffe://prod.example/*', account: 'team', models: ['other'] },
        { match: 'urn:prod:*', account: 'team' },
        { match: 'nobody', account: 'team' },
      ],
    },
  },
};
const gateway = await startGateway({ after: after as TestContext['after'] }, config);

beforeEach(() => {
  questions.length = 0;
  replyTo = () => ({ status: 404 });
});

async function ask(headers: Record<string, string>, model = 'smart') {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const text = await answer.text();
  const error = answer.ok ? '' : (JSON.parse(text) as { error: { message: string } }).error.message;
  return { status: answer.status, error };
}
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test("OpenAI's SDK calls with a key that the service knows; it is asked once, and its question is signed", async () => {
  replyTo = () => ({ status: 200, body: { account: 'team', id: 'ada', name: 'Ada', user: 'ada@example.org' } });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'their-key-1', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  await Promise.all([1, 2, 3].map(() => openai.chat.completions.create({ model: 'smart', messages })));
  assert.equal((await ask({ 'x-api-key': 'their-key-1' })).status, 200, 'in another header');
  assert.equal(questions.length, 1);
  const { headers, body, key, address } = questions[0]!;
  assert.deepEqual([key, address], ['their-key-1', '127.0.0.1']);
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`);
  const rows = await gateway.fetch('/admin/v1/requests?account=team&limit=1', { headers: bearer(adminKey) });
  const [row] = ((await rows.json()) as { data: { user: string; key: string; key_name: string }[] }).data;
  assert.equal(row!.user, 'ada@example.org');
  assert.match(row!.key, /^guest_/);
});

test('an answer bounds models and plan', async () => {
  replyTo = ({ key }) => ({
    status: 200,
    body: { account: 'team', id: key, plan: key === 'eve-1' ? 'tiny' : null, models: ['other'] },
  });
  const refused = await ask(bearer('bob-1'));
  assert.equal(refused.status, 403, refused.error);
  assert.match(refused.error, /smart/);
  assert.equal((await ask(bearer('bob-1'), 'other')).status, 200);
  await ask(bearer('eve-1'), 'other');
  assert.equal((await ask(bearer('eve-1'), 'other')).status, 429, 'one call a minute');
});

test('a plan that does not exist lets nobody in', async () => {
  replyTo = () => ({ status: 200, body: { account: 'team', plan: 'tinny' } });
  const { status, error } = await ask(bearer('typo-1'));
  assert.equal(status, 403, error);
  assert.match(error, /no plan 'tinny'/);
});

test('an id keeps its collections with another key', async () => {
  replyTo = ({ key }) => ({ status: 200, body: { account: 'team', id: key.slice(0, 3) } });
  const at = `${gateway.url}/v1/vectors/collections`;
  const put = await fetch(`${at}/notes`, {
    method: 'PUT',
    headers: { ...bearer('ida-1'), 'content-type': 'application/json' },
    body: JSON.stringify({ vectors: { size: 2, distance: 'Cosine' } }),
  });
  assert.equal(put.status, 200, await put.text());
  const names = async (key: string) => (await fetch(at, { headers: bearer(key) })).text();
  assert.match(await names('ida-2'), /notes/);
  assert.doesNotMatch(await names('joe-1'), /notes/);
});

test('a key that nobody knows is 401, asked for once; keys of this server and its own form are never sent', async () => {
  for (let i = 0; i < 3; i++) assert.equal((await ask(bearer('unknown-1'))).status, 401);
  assert.deepEqual(
    questions.map(({ key }) => key),
    ['unknown-1'],
  );
  assert.equal((await ask(bearer('sk-cv-unknown-key-0001'))).status, 401);
  assert.equal((await ask(bearer(testKey))).status, 200);
  assert.equal((await ask({ authorization: 'Basic dXNlcjpwYXNz' })).status, 401);
  assert.equal((await ask({})).status, 401);
  assert.equal((await ask(bearer('x'.repeat(5_000)))).status, 401);
  assert.equal(questions.length, 1);
});

test('an answer that is none is a 503 that says so, and is not remembered', async () => {
  const cases: [reply: Reply, error: RegExp][] = [
    [{ status: 500 }, /answered 500/],
    [{ status: 302 }, /answered 302/],
    [{ status: 200, body: 'no JSON' }, /without an account/],
    [{ status: 200, body: { account: 7 } }, /without an account/],
    [{ status: 200, body: 'x'.repeat(100_000) }, /does not answer/],
    [{ status: 200, body: { account: 'team' }, afterMs: 2_000 }, /does not answer/],
  ];
  for (const [reply, error] of cases) {
    replyTo = () => reply;
    const answer = await ask(bearer('flaky-1'));
    assert.equal(answer.status, 503, `${JSON.stringify(reply).slice(0, 80)} ${answer.error}`);
    assert.match(answer.error, error);
    assert.doesNotMatch(answer.error, /127\.0\.0\.1|who/);
  }
  replyTo = () => ({ status: 200, body: { account: 'team' } });
  assert.equal((await ask(bearer('flaky-1'))).status, 200);
});

test('accounts that do not exist or are suspended, and answers that have ended, let nobody in', async () => {
  const cases: [body: object, status: number][] = [
    [{ account: 'nobody' }, 403],
    [{ account: '__proto__' }, 403],
    [{ account: 'gone' }, 403],
    [{ account: 'team', expires_at: '2020-01-01T00:00:00Z' }, 401],
    [{ account: 'team', expires_at: '2120-01-01T00:00:00Z' }, 200],
  ];
  for (const [at, [body, status]] of cases.entries()) {
    replyTo = () => ({ status: 200, body });
    assert.equal((await ask(bearer(`bound-${at}`))).status, status, JSON.stringify(body));
  }
});

test('many unknown keys of one address leave the service some peace', async () => {
  replyTo = () => ({ status: 404, afterMs: 300 });
  const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => ask(bearer(`flood-${at}`))));
  const statuses = new Set(answers.map(({ status }) => status));
  assert.deepEqual([...statuses].sort(), [401, 503]);
  assert.ok(questions.length < 40, String(questions.length));
  assert.equal((await ask(bearer(testKey))).status, 200);
});

test('after 100 wrong keys of one network it is asked for no more unknown ones, and right keys go on', async () => {
  replyTo = ({ key }) => (key.startsWith('known') ? { status: 200, body: { account: 'team' } } : { status: 404 });
  const from = (address: string, key: string) => ask({ ...bearer(key), 'x-forwarded-for': address });
  assert.equal((await from('2001:db8:7:7::1', 'known-7')).status, 200);
  const statuses: number[] = [];
  for (let at = 0; at < 105; at++)
    statuses.push((await from(`2001:db8:7:7::${at.toString(16)}`, `guess-${at}`)).status);
  const count = (status: number) => statuses.filter((one) => one === status).length;
  assert.deepEqual([count(401), count(429)], [100, 5]);
  const closed = await from('2001:db8:7:7::1', 'known-8');
  assert.equal(closed.status, 429);
  assert.match(closed.error, /Too many wrong API keys came from this network/);
  assert.equal((await from('2001:db8:7:7::1', 'known-7')).status, 200);
  assert.equal((await from('2001:db8:7:8::1', 'known-8')).status, 200, 'another network');
  assert.equal(questions.filter(({ key }) => key.startsWith('guess')).length, 100);
});

test('an answer counts for the network that it was given for: the service may decide by the address', async () => {
  replyTo = ({ address }) =>
    address?.startsWith('192.0.2.') ? { status: 200, body: { account: 'team' } } : { status: 403 };
  const from = async (address: string) =>
    (await ask({ ...bearer('key-of-an-office'), 'x-forwarded-for': address })).status;
  assert.deepEqual([await from('192.0.2.1'), await from('198.51.100.1'), await from('192.0.2.1')], [200, 401, 200]);
  assert.deepEqual([await from('198.51.100.1'), questions.length], [401, 2]);
});

test('a certificate names its caller, in every form that proxies write', async () => {
  const der = billingCertificate.replace(/-----[^-]+-----|\n/g, '');
  const forms = [
    encodeURIComponent(billingCertificate),
    billingCertificate.replaceAll('\n', ' '),
    der,
    `:${der}:`,
    `By=spiffe://x;Hash=00;Cert="${encodeURIComponent(billingCertificate)}";Subject="CN=billing"`,
  ];
  for (const form of forms) {
    const answer = await ask({ 'x-client-cert': form }, 'other');
    assert.equal(answer.status, 200, `${form.slice(0, 40)}: ${answer.error}`);
  }
  const refused = await ask({ 'x-client-cert': encodeURIComponent(billingCertificate) });
  assert.equal(refused.status, 403, 'the entry bounds the models');
});

test('a certificate that has ended, names nobody known, or is none opens nothing; a key counts first', async () => {
  const cases: [text: string, error: RegExp][] = [
    [encodeURIComponent(endedCertificate), /names nobody/],
    [encodeURIComponent(strangerCertificate), /names nobody/],
    // Whoever may choose a common name must not be taken for the holder of a URI.
    [encodeURIComponent(namedAsUriCertificate), /names nobody/],
    [encodeURIComponent(namedAsUrnCertificate), /names nobody/],
    ['no certificate', /cannot be read/],
    ['%E0%A4%A', /cannot be read/],
    ['A'.repeat(10_000), /cannot be read/],
  ];
  for (const [text, error] of cases) {
    const answer = await ask({ 'x-client-cert': text }, 'other');
    assert.deepEqual([answer.status, error.test(answer.error)], [401, true], answer.error);
  }
  const both = await ask({ 'x-client-cert': encodeURIComponent(billingCertificate), ...bearer(testKey) });
  assert.equal(both.status, 200);
  const wrong = await ask({
    'x-client-cert': encodeURIComponent(billingCertificate),
    ...bearer('sk-cv-wrong-key-0001'),
  });
  assert.equal(wrong.status, 401, 'a wrong key is not helped by a certificate');
});

test("a certificate counts next to a key that nobody knows, since SDKs send one: OpenAI's SDK", async (t) => {
  const defaultHeaders = { 'x-client-cert': encodeURIComponent(billingCertificate) };
  const models = async (baseURL: string, apiKey = 'unused') =>
    (await new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, maxRetries: 0, defaultHeaders }).models.list()).data;
  assert.ok((await models(gateway.url)).length > 0);
  assert.deepEqual(
    questions.map(({ key }) => key),
    ['unused'],
    'a service that knows keys is asked first',
  );
  await assert.rejects(models(gateway.url, 'sk-cv-wrong-key-0002'), { status: 401 });
  replyTo = () => ({ status: 200, body: { account: 'gone' } });
  await assert.rejects(models(gateway.url, 'of-gone-1'), { status: 403 });
  replyTo = () => ({ status: 500 });
  await assert.rejects(models(gateway.url, 'nobody-can-tell'), { status: 503 });
  const { webhook, ...callers } = config.callers;
  const alone = await startGateway(t, { ...config, callers });
  assert.ok((await models(alone.url)).length > 0);
});

test('whoever is no trusted proxy can send no certificate', async (t) => {
  const alone = await startGateway(t, { ...config, server: { trusted_proxies: ['192.0.2.1'] } });
  const answer = await alone.fetch('/v1/models', {
    headers: { authorization: '', 'x-client-cert': encodeURIComponent(billingCertificate) },
  });
  assert.equal(answer.status, 401);
  await alone.reload({
    ...config,
    callers: {
      certificates: {
        header: 'x-client-cert',
        accounts: [{ match: 'billing', account: 'team' }],
      },
    },
  });
  const status = async (certificate: string) =>
    (
      await alone.fetch('/v1/models', {
        headers: { authorization: '', 'x-client-cert': encodeURIComponent(certificate) },
      })
    ).status;
  assert.deepEqual([await status(billingCertificate), await status(endedCertificate)], [200, 401]);
});
