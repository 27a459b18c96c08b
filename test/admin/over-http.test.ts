import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../../src/http/exchange.ts';
import { adminRoutes } from '../../src/http/routes/server/admin.ts';
import { openApiRoute } from '../../src/http/routes/server/openapi.ts';
import { createGatewayServer } from '../../src/http/server.ts';
import { parseObject } from '../../src/kernel/parse-object.ts';
import { createRoom } from '../../src/kernel/sharing/room.ts';
import { type Answer, openAdmin } from './open-admin.ts';

const adminKey = 'sk-cv-admin-of-tests';
const userKey = 'sk-cv-user-of-tests';
const config = { keys: [{ key: userKey, account: 'dev', name: 'laptop' }] };

const onLoop = { readObject: (_tenant: string, raw: Buffer) => parseObject(raw) };

/** The server with the admin API alone. */
async function serve(t: { after(fn: () => unknown): void }) {
  const admin = await openAdmin(t, config);
  const routes: Route[] = [
    ...adminRoutes(admin.api, admin.clock, onLoop),
    openApiRoute({ admin: async () => admin.api.openApi(), routes: () => routes, server: () => ({}) as never }),
  ];
  const unexpected: unknown[] = [];
  const server = createGatewayServer({
    traces: null,
    tally: null,
    clock: admin.clock,
    admission: {
      admit: () => assert.fail('nothing here is metered'),
      reserve: () => assert.fail('nothing here is metered'),
      left: async () => null,
    },
    elsewhere: null,
    bodies: createRoom('bodies', () => ({ bytesMax: 2 ** 30, accountBytesMax: 2 ** 30 })),
    routes,
    keys: admin.ring,
    lookForKey: async () => {},
    sessions: null,
    snapshots: {
      current: {
        config: {
          server: {
            cors_origins: [],
            trusted_proxies: [],
            connections_per_address: undefined,
            overload: { delay: 250 },
          },
        },
      },
    },
    onRefused() {},
    onDropped: () => undefined,
    onUnexpected: (error) => unexpected.push(error),
  });
  const { host, port } = await server.listen('127.0.0.1', 0);
  t.after(() => server.drain({ delayMs: 0, graceMs: 0 }));
  const url = `http://${host}:${port}`;
  const call = (method: string, path: string, init: RequestInit = {}, key: string | null = adminKey) =>
    fetch(url + path, {
      method,
      ...init,
      headers: { ...(key && { authorization: `Bearer ${key}` }), ...init.headers },
    });
  const json = (body: unknown): RequestInit => ({
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  return { admin, routes, call, json, unexpected, url };
}

test('S7 no user key reaches anything below /admin/v1, whatever the method and however the path is written', async (t) => {
  const { admin, routes, call, json } = await serve(t);
  for (const { path, auth } of routes) if (path.startsWith('/admin')) assert.equal(auth, 'admin');
  const document = admin.api.openApi() as { paths: Record<string, Record<string, unknown>> };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path.replace(/\{\w+\}/, 'x')] as const),
  );
  assert.ok(operations.length > 20);
  for (const [method, path] of operations) {
    for (const written of [path, path.replace('/admin', '/%61dmin'), `${path}?key=${adminKey}`]) {
      const init = method === 'GET' || method === 'DELETE' ? {} : json({ account: 'dev', name: 'mine', plan: 'x' });
      const response = await call(method, written, init, userKey);
      assert.equal(response.status, 403, `${method} ${written}`);
      assert.equal(((await response.json()) as Answer).error.type, 'permission_error');
      assert.equal((await call(method, written, init, null)).status, 401);
      // Wrong keys of an address are answered ten times a minute (S37).
      admin.clock.advance(6_001);
      assert.equal((await call(method, written, init, 'sk-cv-admin-guess')).status, 401);
    }
  }
  for (const path of ['/admin/v1/keys/', '/admin/v1//keys', '/admin/v1/nothing', '/admin/v1/KEYS']) {
    assert.equal((await call('POST', path, json({}), userKey)).status, 403, path);
  }
  const { accounts, keys, plans } = await admin.store.load();
  assert.deepEqual([accounts, keys, plans], [[], [], []]);
});

test('the admin key opens it; answers carry ids and are kept by nobody', async (t) => {
  const { call, json } = await serve(t);
  const made = await call('POST', '/admin/v1/keys', json({ account: 'dev', name: 'ci' }));
  assert.equal(made.status, 201);
  assert.match(made.headers.get('x-culvert-request-id') ?? '', /^req_/);
  assert.equal(made.headers.get('cache-control'), 'no-store');
  const { id } = (await made.json()) as Answer;
  assert.equal((await call('POST', `/admin/v1/keys/${id}/rotate`)).status, 200, 'a body is not needed');
  const head = await call('HEAD', '/admin/v1/keys');
  assert.equal(head.status, 200);
  assert.equal(await head.text(), '');
});

test('ids with a slash are written with %2F', async (t) => {
  const { call } = await serve(t);
  const id = encodeURIComponent('sk-cv-declared:dev/laptop');
  const response = await call('GET', `/admin/v1/keys/${id}`);
  assert.deepEqual([response.status, ((await response.json()) as Answer).name], [200, 'laptop']);
  assert.equal((await call('GET', '/admin/v1/keys/sk-cv-declared:dev/laptop')).status, 404);
});

test('a path written another way is not found, an unknown method not allowed', async (t) => {
  const { call } = await serve(t);
  assert.equal((await call('GET', '/%61dmin/v1/keys')).status, 404);
  assert.equal((await call('GET', '/admin/v1/nothing')).status, 404);
  assert.equal((await call('GET', '/admin/v1/keys/%E0%A4%A')).status, 404);
  const wrong = await call('PUT', '/admin/v1/keys');
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'GET, POST');
  assert.match(await wrong.text(), /PUT is not allowed on \/admin\/v1\/keys; use GET or POST/);
});

test('bad bodies: no JSON 400, another type 415, more than 1 MB 413, never 500', async (t) => {
  const { call, json, unexpected } = await serve(t);
  const post = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json', path = '/admin/v1/keys') =>
    call('POST', path, { body, headers: { 'content-type': type } }).then(async (response) => {
      await response.text();
      return response.status;
    });
  assert.equal(await post('{"account":'), 400);
  assert.equal(await post('null'), 400);
  assert.equal(await post('[]'), 400);
  assert.equal(await post('"x"'), 400);
  assert.equal(await post(Uint8Array.of(0x22, 0xff, 0x22)), 400);
  assert.equal(await post('{"__proto__":{"account":"dev","name":"x"}}'), 400);
  assert.equal(await post(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), 400);
  assert.equal(await post('account=dev', 'application/x-www-form-urlencoded'), 415);
  assert.equal(await post(JSON.stringify({ account: 'a'.repeat(1024 * 1024) })), 413);
  assert.equal(await post('x'.repeat(1024 * 1024 + 1), 'application/yaml', '/admin/v1/config/check'), 413);
  assert.equal(await post('plans: {}', 'application/yaml', '/admin/v1/config/check'), 200);
  assert.equal(await post('a: *b', 'text/plain', '/admin/v1/config/check'), 200);
  assert.equal((await call('POST', '/admin/v1/keys')).status, 400);
  const refusal = await call('POST', '/admin/v1/keys', json({ account: 'dev' }));
  assert.equal(refusal.headers.get('x-should-retry'), 'false');
  const { error } = (await refusal.json()) as Answer;
  assert.deepEqual([error.param, error.code, error.type], ['name', 400, 'invalid_request_error']);
  assert.match(error.request_id, /^req_/);
  assert.deepEqual(unexpected, []);
});

test('a reference is no credential: 400 names the field, and the form that culvert.yaml takes', async (t) => {
  const { call, json, unexpected } = await serve(t);
  const refused = async (path: string, body: Record<string, unknown>) => {
    const response = await call('POST', `/admin/v1${path}`, json(body));
    const { error } = (await response.json()) as Answer;
    assert.equal(response.status, 400, JSON.stringify(error));
    return `${error.param} ${error.message}`;
  };
  const base_url = 'http://127.0.0.1:9/v1';
  for (const key of ['env:ACME_KEY', 'os.environ/ACME_KEY', '$ACME_KEY', '%ACME_KEY%']) {
    const message = await refused('/providers', { name: 'acme', type: 'openai', base_url, api_key: key });
    assert.match(message, /^api_key .*did you mean \$\{ACME_KEY\} in culvert\.yaml\?/, key);
  }
  const bare = await refused('/providers', { name: 'acme', type: 'openai', base_url, api_key: `\${ACME_KEY}` });
  assert.match(bare, /^api_key .*references are read in culvert\.yaml alone/);
  const draft = await refused('/providers/test', {
    type: 'openai',
    base_url,
    credentials: [{ api_key: 'env:ACME_KEY' }],
  });
  assert.match(draft, /^credentials\[0\]\.api_key .*did you mean/);
  assert.deepEqual(unexpected, []);
});

test('a reload with errors answers with them beside the error', async (t) => {
  const { admin, call } = await serve(t);
  const problem = { file: 'culvert.yaml', line: 3, column: 5, path: 'plans', message: 'expected a mapping' };
  admin.setReload({ ok: false, errors: [problem] });
  const response = await call('POST', '/admin/v1/config/reload');
  const body = (await response.json()) as Answer;
  assert.deepEqual([response.status, body.ok, body.errors[0].line], [400, false, 3]);
  assert.match(body.error.request_id, /^req_/);
});

test('exports come as pieces, and end with a caller who leaves', async (t) => {
  const { admin, call, unexpected } = await serve(t);
  const response = await call('GET', '/admin/v1/requests.csv');
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/);
  assert.match(await response.text(), /^id,client_request_id,/);
  assert.equal((await call('HEAD', '/admin/v1/requests.csv')).status, 200);
  let ended: (value: string) => void = () => undefined;
  const end = new Promise<string>((resolve) => (ended = resolve));
  const piece = 'x'.repeat(64 * 1024);
  admin.api.handle = async () => ({
    status: 200,
    contentType: 'text/plain',
    body: (async function* () {
      try {
        for (;;) yield piece;
      } finally {
        ended('ended');
      }
    })(),
  });
  const leaving = new AbortController();
  const endless = await call('GET', '/admin/v1/requests.csv', { signal: leaving.signal });
  await endless.body?.getReader().read();
  leaving.abort();
  assert.equal(await end, 'ended');
  assert.deepEqual(unexpected, []);
});

test('/openapi.json needs no key and describes what is served', async (t) => {
  const { call } = await serve(t);
  const response = await call('GET', '/openapi.json', {}, null);
  assert.equal(response.status, 200);
  const { openapi, paths, components } = (await response.json()) as Answer;
  assert.equal(openapi, '3.1.0');
  assert.ok(paths['/admin/v1/keys'].post);
  assert.deepEqual(paths['/openapi.json'].get.security, []);
  assert.deepEqual(Object.keys(components.securitySchemes), ['adminKey', 'apiKey', 'session']);
});
