import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { answerTo } from '../send-bytes.ts';
import { overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { scannedPayloads } from './sql-payloads.ts';

const chatPath = '/v1/chat/completions';
const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
const logged = new PassThrough();
let log = '';
logged.on('data', (chunk) => {
  log += chunk;
});

const upstream = await startUpstream();
/** Where an attacker would like the request, and the provider's credential, to go. */
const lure = await startUpstream();
after(() => Promise.all([upstream.close(), lure.close()]));
const gateway = await startGateway({ after: after as never }, overUpstreams(upstream.url), {
  log: pino({ level: 'trace' }, logged),
});
await gateway.modelsKnown;

const asked = () => upstream.requests().filter(({ method }) => method === 'POST');
const untouched = (what: string) => assert.deepEqual(lure.requests(), [], what);
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string; code: number } }).error;

test('S1 no field of the body, query or headers moves the target or takes the credential along', async () => {
  upstream.clear();
  const host = lure.url.slice('http://'.length);
  const fields = {
    api_base: lure.url,
    base_url: lure.url,
    baseURL: lure.url,
    api_key: 'sk-lure',
    api_version: '1',
    custom_llm_provider: 'openai',
    extra_headers: { host, authorization: 'Bearer sk-lure' },
    extra_body: { base_url: lure.url },
  };
  for (const [name, value] of Object.entries(fields)) {
    for (const response of [
      await gateway.fetch(chatPath, { json: { ...hello, [name]: value } }),
      await gateway.fetch(`${chatPath}?${name}=${encodeURIComponent(String(value))}`, { json: hello }),
      await gateway.fetch(chatPath, { json: hello, headers: { [name.replaceAll('_', '-')]: 'http://' + host } }),
    ]) {
      await response.text();
      assert.equal(response.status, 200, name);
    }
    untouched(name);
  }
  for (const { path, headers, body } of asked()) {
    assert.equal(path, chatPath, 'the query stays here');
    assert.equal(headers.authorization, 'Bearer upstream-secret-1');
    assert.equal(headers.host, upstream.url.slice('http://'.length));
    for (const name of Object.keys(fields)) assert.ok(!Object.hasOwn(body as object, name), name);
    assert.ok(!JSON.stringify(headers).includes(host));
  }
});

test('S2 no header name alters the target: 200 of them, and none is passed on', async () => {
  upstream.clear();
  const stems = [
    'host',
    'url',
    'provider-url',
    'base-url',
    'api-base',
    'endpoint',
    'custom-host',
    'target',
    'origin',
    'forward',
  ];
  const owners = [
    'portkey',
    'culvert',
    'litellm',
    'openai',
    'azure',
    'anthropic',
    'gateway',
    'proxy',
    'upstream',
    'original',
    'forwarded',
    'real',
    'http',
    'rewrite',
    'backend',
    'llm',
    'ai',
    'route',
    'provider',
    'override',
  ];
  const names = owners.flatMap((owner) => stems.map((stem) => `x-${owner}-${stem}`));
  names.push('forwarded', 'via', 'x-forwarded-host', 'x-original-url', 'x-rewrite-url', 'x-http-method-override');
  assert.ok(names.length >= 200);
  for (let i = 0; i < names.length; i += 20) {
    const headers = Object.fromEntries(names.slice(i, i + 20).map((name) => [name, lure.url]));
    const response = await gateway.fetch(chatPath, { json: hello, headers });
    await response.text();
    assert.equal(response.status, 200);
  }
  untouched('headers');
  for (const { headers } of asked()) {
    assert.ok(!JSON.stringify(headers).includes(lure.url));
    for (const name of names) assert.equal(headers[name], undefined);
  }
});

/** Routes that need no key, each with its reason. More than five lines here is a design fault. */
const withoutKey: Record<string, string> = {
  'GET /healthz': 'a balancer has no key; it says nothing but that the process lives',
  'GET /readyz': 'likewise; it says which checks pass and names no provider',
  'GET /': 'title and version, which clients ask before they have a key',
  'HEAD /api/hello': 'Claude Code knocks here; the answer is empty',
};

test('S3 every route has auth, quota and validator, unless it is on a list of at most five lines', () => {
  assert.ok(Object.keys(withoutKey).length <= 5);
  const open = gateway.routes.filter(({ auth }) => auth === 'none').map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(open.sort(), Object.keys(withoutKey).sort());
  for (const { method, path, auth, quota, validator } of gateway.routes) {
    const route = `${method} ${path}`;
    if (path.startsWith('/v1/')) {
      assert.equal(auth, 'key', route);
      assert.notEqual(quota, 'none', route);
    }
    if (method === 'POST') {
      assert.notEqual(validator, 'none', `${route} takes a body`);
      assert.notEqual(quota, 'exempt', `${route} costs something`);
    }
    if (auth === 'none') assert.equal(method === 'POST', false, route);
  }
});

test('S3 what the table says is so: no route of it answers without a key', async () => {
  for (const { method, path, auth } of gateway.routes) {
    const url = gateway.url + path.replace('*', 'x').replace(':id', 'x');
    const response = await fetch(url, { method });
    await response.text();
    assert.equal(response.status, auth === 'none' ? 200 : 401, `${method} ${path}`);
  }
});

test('S4 1000 SQL payloads as keys: 401 with one constant body on every route, and the store as it was', async () => {
  upstream.clear();
  const bodies = new Set<string>();
  const payloads = scannedPayloads(1_000);
  assert.equal(new Set(payloads).size, 1_000);
  const paths = ['/v1/models', chatPath, '/v1/requests/x', '/metrics'];
  for (let i = 0; i < payloads.length; i += 25) {
    await Promise.all(
      payloads.slice(i, i + 25).map(async (payload, at) => {
        const name = ['authorization', 'x-api-key', 'api-key'][(i + at) % 3]!;
        const path = paths[(i + at) % paths.length]!;
        const headers = { [name]: name === 'authorization' ? `Bearer ${payload}` : payload };
        const response = await fetch(gateway.url + path, { method: path === chatPath ? 'POST' : 'GET', headers });
        assert.equal(response.status, 401, payload);
        const { error } = (await response.json()) as { error: Record<string, unknown> };
        bodies.add(JSON.stringify({ ...error, request_id: '' }));
      }),
    );
  }
  assert.equal(bodies.size, 1);
  assert.equal((await gateway.fetch('/v1/models')).status, 200);
  assert.deepEqual(asked(), []);
});

test('S4 no SQL text is built from input: statements of the stores hold no interpolated values', () => {
  // Names of tables and columns, counts of placeholders, and numbers of our own are all that may be put in.
  const harmless =
    /^(?:table|column|columns|name|placeholders|marks|version|[A-Z_]+|\w+Ms|\w+Columns?|\w+\.length|\w+\.join\([^)]*\))$/;
  for (const file of globSync('src/stores/**/*.ts').filter((name) => !name.endsWith('.test.ts'))) {
    const text = readFileSync(file, 'utf8');
    for (const [statement] of text.matchAll(
      /`[^`]*\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|select|insert|update|delete from|pragma)\b[^`]*`/g,
    )) {
      for (const [, inner] of statement.matchAll(/\$\{([^}]*)\}/g))
        assert.match(inner!.trim(), harmless, `${file}: ${statement.slice(0, 120)}`);
    }
  }
});

test('S5 no endpoint can start a program: outside the CLI no file knows child_process', () => {
  const found = globSync('src/**/*.ts')
    .filter((file) => !file.startsWith('src/cli/') && !file.endsWith('.test.ts'))
    .filter((file) => /child_process|\beval\(|new Function\(|node:vm/.test(readFileSync(file, 'utf8')));
  assert.deepEqual(found, []);
});

const pathTricks = [
  '//v1/models',
  '/v1//models',
  '/v1/../v1/models',
  '/%2e%2e/v1/models',
  '/v1/%2e%2e/v1/models',
  '/healthz/../v1/models',
  '/healthz/%2e%2e/v1/models',
  '/healthz;/v1/models',
  '/v1;x=y/models',
  '/v1/models;x',
  '/v1/models.',
  '/V1/MODELS',
  '/v1/Models',
  '/v1/models/',
  '/v1%2fmodels',
  '/%76%31/models',
  '/v1/models%00',
  '/v1/models%20',
  '/v1\\models',
  '/.//v1/models',
  '/healthz?/v1/models',
  '/healthz%3f/v1/models',
  '/healthz#/v1/models',
  '/healthz%23/../v1/models',
  '/api/hello/..%2f..%2fv1/models',
  '/%2fv1/models',
  '/v1/models?x=/healthz',
  '/metrics/',
  '/metrics;',
  '//metrics',
  '/metrics%2f',
  '/Metrics',
  '/metrics.',
  '/healthz/../metrics',
  '/v1/requests/../models',
  '/v1/requests/..%2fmodels',
];
for (const path of pathTricks) {
  test(`S6 auth is decided on the string the router used: ${path}`, async () => {
    const { status, text } = await answerTo(
      gateway.url,
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    );
    assert.doesNotMatch(text, /"object":"list"|owned_by|culvert_requests|# HELP/);
    const open = path.startsWith('/healthz?') || path.startsWith('/healthz#');
    assert.ok(open ? status === 200 && text.includes('"status":"ok"') : [400, 401, 404].includes(status), `${status}`);
  });
}

for (const host of ['x?/healthz', 'x#', 'x/../healthz', 'user:pass@x']) {
  test(`S6 a Host that could move the path is refused: ${host}`, async () => {
    const { status, closed } = await answerTo(gateway.url, `GET /v1/models HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    assert.deepEqual([status, closed], [400, true]);
  });
}

for (const expect of [{}, { expect: '100-continue' }] as Record<string, string>[]) {
  test(`S8 without a key nothing of a huge body is read, and no upstream is asked ${JSON.stringify(expect)}`, async () => {
    upstream.clear();
    const answer = await new Promise<{ status: number; sent: number; continued: boolean }>((resolve, reject) => {
      let sent = 0;
      let continued = false;
      const call = request(gateway.url + chatPath, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': String(30 * 1024 * 1024), ...expect },
      });
      call.on('continue', () => {
        continued = true;
      });
      call.on('response', (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, sent, continued });
        call.destroy();
      });
      call.on('error', reject);
      if (expect.expect === undefined) {
        const chunk = Buffer.alloc(64 * 1024, '[');
        const more = (): void => {
          sent += chunk.length;
          if (sent < 30 * 1024 * 1024 && !call.destroyed) call.write(chunk, () => setImmediate(more));
        };
        more();
      } else call.flushHeaders();
    });
    assert.equal(answer.status, 401);
    assert.equal(answer.continued, false);
    assert.ok(answer.sent < 4 * 1024 * 1024, `${answer.sent} bytes were taken`);
    assert.deepEqual(asked(), []);
  });
}

test('S19 an upstream that repeats its credential or prints a stack gives no secret away, to callers or the log', async (t) => {
  const canaries = Array.from({ length: 20 }, (_, i) => `canary-${i}-5f1d9c${i}e7a`);
  const echoing = await startUpstream();
  t.after(() => echoing.close());
  const secretive = await startGateway(
    t,
    {
      providers: {
        up: {
          type: 'openai',
          base_url: `${echoing.url}/v1`,
          credentials: canaries.map((api_key) => ({ api_key })),
          headers: { 'x-tenant-secret': 'canary-header-77aa31' },
        },
      },
      models: { chat: { targets: ['up/mock/ok'] } },
    },
    { log: pino({ level: 'trace' }, logged) },
  );
  await secretive.modelsKnown;
  log = '';
  let said = '';
  const trace = canaries.map((canary) => `at fetch (Bearer ${canary})`).join(' ');
  const specs = [
    'echo-auth',
    'echo-auth;status=400',
    'echo-auth;status=500',
    'echo-auth;status=403',
    `status=400;message=Error ${trace} x-tenant-secret canary-header-77aa31 at ${echoing.url}/v1`,
    `status=500;message=${trace}`,
    `error=1;message=${trace}`,
  ];
  for (const spec of specs) {
    for (const stream of [false, true]) {
      echoing.script(chatPath, [`always ${spec}`]);
      const response = await secretive.fetch(chatPath, { json: { ...hello, stream } });
      said += `${[...response.headers]}${await response.text()}`;
      const record = await secretive.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
      said += await record.text();
      echoing.clear();
    }
  }
  said += await (await secretive.fetch('/v1/models')).text();
  assert.ok(said.includes('up: '), 'the attempts are told');
  assert.ok(log.includes('"msg":"request"'), 'the log was written');
  for (const secret of [...canaries, 'canary-header-77aa31', testKey]) {
    assert.ok(!said.includes(secret), `answers: ${secret}`);
    assert.ok(!log.includes(secret), `log: ${secret}`);
  }
  assert.ok(!said.includes(echoing.url.slice('http://'.length)), "the upstream's address");
});

const body = JSON.stringify(hello);
const post = (headers: string, payload = body) =>
  `POST ${chatPath} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${payload}`;
const inner = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\n\r\n`;
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const smuggling: [what: string, bytes: string, status?: number][] = [
  ['CL and TE', post('content-length: 5\r\ntransfer-encoding: chunked', chunked + inner)],
  ['TE and CL', post('transfer-encoding: chunked\r\ncontent-length: 5', chunked + inner)],
  ['two different CL', post(`content-length: ${body.length}\r\ncontent-length: 5`, body + inner)],
  ['two equal CL', post(`content-length: ${body.length}\r\ncontent-length: ${body.length}`, body + inner)],
  ['a CL list', post(`content-length: ${body.length}, ${body.length}`, body + inner)],
  ['a signed CL', post(`content-length: +${body.length}`, body + inner)],
  ['a negative CL', post('content-length: -1', body + inner)],
  ['a hexadecimal CL', post('content-length: 0x10', body + inner)],
  ['TE xchunked', post('transfer-encoding: xchunked', chunked + inner)],
  ['TE chunked, identity', post('transfer-encoding: chunked, identity', chunked + inner)],
  ['two TE', post('transfer-encoding: chunked\r\ntransfer-encoding: identity', chunked + inner)],
  ['a space before the colon', post('transfer-encoding : chunked', chunked + inner)],
  ['an obsolete fold', post('x-a: b\r\n c', body + inner)],
  ['bare LF', post('x-a: b\nx-c: d', body + inner)],
  ['a NUL in a header', post('x-a: b\0c', body + inner)],
  ['a bare CR in a header', post('x-a: b\rc', body + inner)],
  ['a chunk size that is none', post('transfer-encoding: chunked', `zz\r\n${body}\r\n0\r\n\r\n${inner}`)],
  ['a chunk longer than it says', post('transfer-encoding: chunked', `5\r\n${body}\r\n0\r\n\r\n${inner}`)],
  [
    '64 KB of chunk extension',
    post('transfer-encoding: chunked', `5;${'x'.repeat(65_536)}\r\nhello\r\n0\r\n\r\n`),
    413,
  ],
  ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
];
for (const [what, bytes, status = 400] of smuggling) {
  test(`S20 ${what}: ${status} and close, and nothing behind it is read`, async () => {
    upstream.clear();
    const answer = await answerTo(gateway.url, bytes);
    assert.deepEqual(answer.statuses, [status]);
    assert.ok(answer.closed);
    assert.deepEqual(asked(), []);
  });
}

test('S20 garbage behind a request that is being answered never lands inside its answer', async () => {
  upstream.script(chatPath, ['chunks=20;interval=10ms']);
  const streamed = JSON.stringify({ ...hello, stream: true });
  const { statuses, closed } = await answerTo(
    gateway.url,
    `${post(`content-length: ${streamed.length}`, streamed)}garbage\r\n\r\n`,
    { patienceMs: 400 },
  );
  assert.ok(statuses.length <= 1, 'one status line at most');
  assert.ok(closed);
});

test('S20 node runs without a lenient parser', () => {
  for (const file of ['bin/culvert.mjs', ...globSync('src/**/*.ts')])
    assert.ok(!/insecure-?http-?parser/i.test(readFileSync(file, 'utf8')), file);
});

test('S23 CR and LF in model, user and ids never reach an upstream header, an answer header or a log line raw', async () => {
  upstream.clear();
  log = '';
  const evil = 'x\r\nx-injected: yes\r\n\r\nHTTP/1.1 200 OK';
  for (const fields of [
    { user: evil },
    { model: evil },
    { metadata: { a: evil } },
    { safety_identifier: evil },
    { prompt_cache_key: evil },
  ]) {
    const response = await gateway.fetch(chatPath, { json: { ...hello, ...fields } });
    assert.ok(!(await response.text()).includes('\r\n'));
    assert.equal(response.headers.get('x-injected'), null);
  }
  const odd = await gateway.fetch(`/v1/models/${encodeURIComponent(evil)}`);
  assert.equal(odd.status, 404);
  assert.equal(odd.headers.get('x-injected'), null);
  for (const { headers } of asked()) {
    assert.equal(headers['x-injected'], undefined);
    assert.ok(!JSON.stringify(headers).includes('injected'));
  }
  for (const line of log.trim().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line);
  assert.ok(log.includes('"user"'));
  const users = log
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { user?: string }).user ?? '');
  for (const user of users) assert.doesNotMatch(user, /[\r\n]/);
});

test('S23 a model name that a pattern lets through to the upstream is data there, and safe in our headers', async (t) => {
  const open = await startGateway(t, { ...overUpstreams(upstream.url), models: { 'any-*': { targets: ['up1/*'] } } });
  for (const name of ['any-x\r\nx-injected: yes', 'any-\u00fc', 'any-../../admin', 'any-?a=b#c', 'any-👋']) {
    upstream.clear();
    const response = await open.fetch(chatPath, { json: { ...hello, model: name } });
    await response.text();
    assert.equal(response.status, 200, name);
    assert.equal(response.headers.get('x-injected'), null);
    const [sent] = asked();
    assert.equal(sent?.path, chatPath);
    assert.equal((sent?.body as { model: string }).model, name.slice('any-'.length));
  }
});

test('errors of every kind carry the code and a message, never a stack', async () => {
  for (const response of [await gateway.fetch('/v1/none'), await gateway.fetch(chatPath, { json: { model: 5 } })]) {
    const { message, code } = await errorOf(response);
    assert.equal(code, response.status);
    assert.doesNotMatch(message, /\bat \w+ \(|node:|\/src\//);
  }
});
