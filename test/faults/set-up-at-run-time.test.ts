import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { adminKey, otherKey, startGateway, type TestGateway, testProcesses, workersKnow } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { readStream } from './read-answer.ts';

/*
 * Providers, credentials and models that are made, changed, tested and removed while Culvert runs.
 */

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
type Answer = any;

const secret = 'sk-upstream-canary-0123456789ab';

async function call(
  gateway: Pick<TestGateway, 'url'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; json: Answer }> {
  const response = await fetch(`${gateway.url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(!text.includes(secret), `${method} ${path} shows a credential`);
  return { status: response.status, json: JSON.parse(text) };
}

async function ok(gateway: TestGateway, method: string, path: string, body?: unknown): Promise<Answer> {
  const { status, json } = await call(gateway, method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

function chat(gateway: TestGateway, model: string, key?: string): Promise<Response> {
  return gateway.fetch('/v1/chat/completions', {
    json: { model, messages: [{ role: 'user', content: 'Hi' }] },
    ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
  });
}

async function started(
  t: TestContext,
  config: Record<string, unknown> = {},
): Promise<{ gateway: TestGateway; upstream: Upstream }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return { gateway: await startGateway(t, config), upstream };
}

const acme = (upstream: Upstream) => ({
  name: 'acme',
  type: 'openai',
  base_url: `${upstream.url}/v1`,
  api_key: secret,
});

test('a provider is made, its models appear, an alias is made of one, and both are asked with its key', async (t) => {
  const { gateway, upstream } = await started(t);
  const made = await ok(gateway, 'POST', '/providers', acme(upstream));
  assert.deepEqual([made.source, made.version, made.status, made.problem], ['kept', 1, 'healthy', null]);
  assert.deepEqual(made.credentials[0].hint, '…89ab');
  assert.equal(made.credentials[0].made_by, 'admin');
  const listed = (await ok(gateway, 'GET', '/models?provider=acme')).data;
  assert.ok(listed.length > 0 && listed.every(({ source }: Answer) => source === 'detected' || source === 'built-in'));
  assert.equal((await chat(gateway, 'acme/mock/ok')).status, 200, 'a model of its list');
  const smart = await ok(gateway, 'POST', '/models', {
    id: 'smart',
    targets: [{ provider: 'acme', model: 'mock/ok', price: { input: 1, output: 2 } }],
    tier: 'premium',
    cost: 2,
  });
  assert.deepEqual([smart.source, smart.tier, smart.cost, smart.targets[0].price.output], ['kept', 'premium', 2, 2]);
  const answer = await chat(gateway, 'smart');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('x-culvert-cost'), '2');
  const asked = upstream.requests().filter(({ path }) => path.endsWith('/chat/completions'));
  assert.ok(asked.every(({ headers }) => headers.authorization === `Bearer ${secret}`));
  assert.equal((await chat(gateway, 'acme/mock/ok')).status, 200, 'the first alias takes no model away');
});

test('S47 a credential is readable nowhere: not in an answer, the audit trail, the configuration or the database', async (t) => {
  const { gateway, upstream } = await started(t);
  await ok(gateway, 'POST', '/providers', {
    ...acme(upstream),
    headers: { 'x-team': secret },
    proxy: `http://user:${secret}@127.0.0.1:9`,
  });
  // `call` looks at each of these for it.
  for (const path of ['/providers', '/providers/acme', '/audit', '/config', '/models', '/health']) {
    await ok(gateway, 'GET', path);
  }
  const { data } = await ok(gateway, 'GET', '/audit');
  assert.deepEqual([data[0].action, data[0].subject, data[0].actor], ['provider.create', 'acme', 'admin']);
  for (const name of ['culvert.db', 'culvert.db-wal']) {
    const file = join(gateway.dataDir, name);
    if (existsSync(file)) assert.ok(!readFileSync(file).includes(secret), name);
  }
});

test('S48 a provider whose credentials nobody may read is not sent to another address with them', async (t) => {
  const { gateway, upstream } = await started(t);
  await ok(gateway, 'POST', '/providers', acme(upstream));
  const elsewhere = await call(gateway, 'PATCH', '/providers/acme', { base_url: 'http://127.0.0.1:9/v1' });
  assert.deepEqual([elsewhere.status, elsewhere.json.error.param], [400, 'base_url']);
  assert.match(elsewhere.json.error.message, /Remove them, change this, and add them again/);
  const same = await ok(gateway, 'PATCH', '/providers/acme', { timeouts: { idle: '7s' } });
  assert.deepEqual(same.definition.timeouts, { idle: '7s' });
});

test('S48 a header of a provider goes to another address only if its value comes with that address', async (t) => {
  const { gateway, upstream } = await started(t);
  const { api_key: _, ...keyless } = acme(upstream);
  await ok(gateway, 'POST', '/providers', { ...keyless, headers: { 'x-key': secret } });
  const base_url = `${upstream.url}/elsewhere/v1`;
  for (const headers of [undefined, { 'x-key': '(secret)' }, { 'x-other': 'b' }]) {
    const { status, json } = await call(gateway, 'PATCH', '/providers/acme', { base_url, headers });
    assert.deepEqual([status, json.error.param], [400, 'base_url'], JSON.stringify(headers));
    assert.match(json.error.message, /the header x-key was given for another address/);
  }
  upstream.clear();
  await ok(gateway, 'PATCH', '/providers/acme', { base_url, headers: { 'x-key': 'anew' } });
  await ok(gateway, 'PATCH', '/providers/acme', { base_url: `${upstream.url}/third/v1`, headers: { 'x-key': null } });
  assert.deepEqual(
    [...new Set(upstream.requests().map(({ path, headers }) => `${path} ${headers['x-key']}`))].filter(
      (line) => !line.startsWith('/v1'),
    ),
    ['/elsewhere/v1/models anew', '/third/v1/models undefined'],
  );
});

test('S48 what a target sends in its body goes to no other provider and to no other address', async (t) => {
  const { gateway, upstream } = await started(t);
  const { api_key: _, ...keyless } = acme(upstream);
  await ok(gateway, 'POST', '/providers', keyless);
  await ok(gateway, 'POST', '/providers', { ...keyless, name: 'other', base_url: `${upstream.url}/other/v1` });
  const target = { provider: 'acme', model: 'mock/ok', body: { token: secret } };
  await ok(gateway, 'POST', '/models', { id: 'smart', targets: [target] });
  const shown = { ...target, body: { token: '(secret)' } };
  const away = { ...shown, provider: 'other' };
  for (const targets of [[away], [away, shown]]) {
    const { status, json } = await call(gateway, 'PATCH', '/models/smart', { targets });
    assert.deepEqual([status, json.error.param], [400, 'targets[0].body.token']);
  }
  const moved = await call(gateway, 'PATCH', '/providers/acme', { base_url: `${upstream.url}/elsewhere/v1` });
  assert.deepEqual([moved.status, moved.json.error.param], [400, 'base_url']);
  assert.match(moved.json.error.message, /a target of the model smart was given for another address/);

  // Its own target keeps it, wherever in the list it stands and whichever model it names.
  await ok(gateway, 'PATCH', '/models/smart', {
    targets: [
      { ...away, body: {} },
      { ...shown, priority: 2 },
    ],
  });
  await ok(gateway, 'PATCH', '/models/smart', { targets: [{ ...shown, weight: 2 }] });
  upstream.clear();
  const json = { model: 'smart', messages: [{ role: 'user', content: 'Hello' }] };
  await (await gateway.fetch('/v1/chat/completions', { json })).text();
  assert.equal((upstream.requests().at(-1)!.body as { token?: string }).token, secret);
});

test('a draft is tested before it is kept: what the provider said of a wrong key, or its models', async (t) => {
  const { gateway, upstream } = await started(t);
  const draft = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: secret };
  const good = await ok(gateway, 'POST', '/providers/test', draft);
  assert.deepEqual([good.ok, good.verdict, good.message], [true, 'ok', '']);
  assert.ok(good.models.some(({ id, type }: Answer) => id === 'mock/ok' && type === 'chat'));
  upstream.script('/v1/models', [
    `status=401;message=Incorrect API key provided: ${secret}. Find yours in the console.`,
  ]);
  const wrong = await ok(gateway, 'POST', '/providers/test', draft);
  assert.deepEqual([wrong.ok, wrong.verdict, wrong.models], [false, 'bad credential', []]);
  assert.match(wrong.message, /answered 401 .*: Incorrect API key provided: \[redacted\]\. Find yours/);
  const nobody = await ok(gateway, 'POST', '/providers/test', { ...draft, base_url: 'http://127.0.0.1:9/v1' });
  assert.equal(nobody.verdict, 'unreachable');
  assert.deepEqual(
    (await ok(gateway, 'GET', '/providers')).data.filter(({ source }: Answer) => source === 'kept'),
    [],
  );
  // Each worker asks for its list.
  upstream.script('/v1/models', [...Array(testProcesses).fill('ok'), 'status=401;message=This key was revoked.']);
  await ok(gateway, 'POST', '/providers', acme(upstream));
  await workersKnow();
  const kept = await ok(gateway, 'POST', '/providers/acme/test');
  assert.deepEqual([kept.ok, kept.data[0].verdict], [false, 'bad credential']);
  assert.match(kept.data[0].message, /This key was revoked\./);
});

test('a wrong key is told of a service whose list of models is for everybody', async (t) => {
  const { gateway, upstream } = await started(t);
  const draft = { type: 'openrouter', base_url: `${upstream.url}/v1`, api_key: secret };
  upstream.script('/v1/key', ['status=401;message=User not found.']);
  const wrong = await ok(gateway, 'POST', '/providers/test', draft);
  assert.deepEqual([wrong.verdict, wrong.models], ['bad credential', []]);
  assert.match(wrong.message, /answered 401 to its key: User not found\./);
  assert.equal(
    (await ok(gateway, 'POST', '/providers/test', draft)).ok,
    true,
    'what has no such page is asked for nothing more',
  );
});

test('a change of a model asks no provider for its list again', async (t) => {
  const { gateway, upstream } = await started(t);
  await ok(gateway, 'POST', '/providers', acme(upstream));
  await workersKnow();
  upstream.clear();
  await ok(gateway, 'POST', '/models', { id: 'smart', targets: ['acme/mock/ok'] });
  assert.equal((await chat(gateway, 'smart')).status, 200);
  await ok(gateway, 'PATCH', '/models/smart', { cost: 2 });
  assert.deepEqual(
    upstream.requests().filter(({ path }) => path.endsWith('/models')),
    [],
  );
  await ok(gateway, 'POST', '/providers/acme/credentials', { api_key: 'sk-another-one-000000' });
  assert.ok(upstream.requests().some(({ path }) => path.endsWith('/models')));
});

test('what the file defines wins and stays read-only: 409 that says where it stands', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = {
    providers: { main: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { fast: { targets: ['main/mock/ok'] } },
  };
  const gateway = await startGateway(t, config);
  const own = await ok(gateway, 'GET', '/providers/main');
  assert.deepEqual([own.source, own.version, own.definition], ['file', null, null]);
  for (const [method, path, body] of [
    ['POST', '/providers', { name: 'main', type: 'ollama' }],
    ['PATCH', '/providers/main', { type: 'ollama' }],
    ['DELETE', '/providers/main', undefined],
    ['POST', '/providers/main/credentials', { api_key: 'x' }],
  ] as const) {
    const { status, json } = await call(gateway, method, path, body);
    assert.deepEqual(
      [status, /^providers\.main is set in .*\. Change it there\.$/.test(json.error.message)],
      [409, true],
      `${method} ${path}: ${json.error.message}`,
    );
  }
  const model = await call(gateway, 'PATCH', '/models/fast', { cost: 3 });
  assert.equal(model.status, 409);
  assert.match(model.json.error.message, /^models\.fast is set in/);
  // Later the file takes a name that is kept already.
  await ok(gateway, 'POST', '/models', { id: 'slow', targets: ['main/mock/ok'], cost: 5 });
  await gateway.reload({ ...config, models: { ...config.models, slow: { targets: ['main/mock/ok'], cost: 7 } } });
  const shadowed = await ok(gateway, 'GET', '/models/slow');
  assert.deepEqual([shadowed.source, shadowed.cost, shadowed.shadowed, shadowed.version], ['file', 7, true, 1]);
  await gateway.reload(config);
  assert.equal((await ok(gateway, 'GET', '/models/slow')).cost, 5, 'the kept one is back');
});

test('what the file takes away is left out and told, and stops nothing; it is back with the file', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const main = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
  const models = { fast: { targets: ['other/mock/ok'] } };
  const before = { providers: { main, other: main }, models };
  const gateway = await startGateway(t, before);
  await ok(gateway, 'POST', '/models', { id: 'kept', targets: ['main/mock/ok'] });
  await ok(gateway, 'POST', '/models', { id: 'behind', targets: ['other/mock/ok'], fallbacks: ['kept'] });
  await gateway.reload({ providers: { other: main }, models });
  const lost = await ok(gateway, 'GET', '/models/kept');
  assert.deepEqual([lost.status, lost.problem], ['down', 'targets[0]: there is no such provider']);
  assert.match((await ok(gateway, 'GET', '/models/behind')).problem, /^fallbacks\[0\]: there is no such model/);
  assert.deepEqual([(await chat(gateway, 'kept')).status, (await chat(gateway, 'fast')).status], [404, 200]);
  const mended = await ok(gateway, 'PATCH', '/models/behind', { fallbacks: null });
  assert.equal(mended.problem, null, 'what is wrong can be mended');
  await gateway.reload(before);
  assert.deepEqual([(await chat(gateway, 'kept')).status, (await chat(gateway, 'behind')).status], [200, 200]);
});

test('two admins at one thing: the second is told what it is now, and changes nothing', async (t) => {
  const { gateway, upstream } = await started(t);
  await ok(gateway, 'POST', '/providers', acme(upstream));
  await ok(gateway, 'POST', '/models', { id: 'smart', targets: ['acme/a'] });
  const first = await ok(gateway, 'PATCH', '/models/smart', { version: 1, cost: 3 });
  assert.equal(first.version, 2);
  const second = await call(gateway, 'PATCH', '/models/smart', { version: 1, cost: 9 });
  assert.equal(second.status, 409);
  assert.deepEqual([second.json.current.version, second.json.current.cost], [2, 3]);
  assert.match(second.json.error.message, /^admin changed the .* at .*\. It has version 2 now; yours was 1/);
  assert.equal((await call(gateway, 'DELETE', '/models/smart?version=1')).status, 409);
  const both = await Promise.all([1, 2].map((cost) => call(gateway, 'PATCH', '/models/smart', { version: 2, cost })));
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409], 'of two at one moment one');
  const made = await Promise.all(
    [1, 2].map(() => call(gateway, 'POST', '/models', { id: 'new', targets: ['acme/a'] })),
  );
  assert.deepEqual(made.map(({ status }) => status).toSorted(), [201, 409]);
});

test('bad input names its field and changes nothing', async (t) => {
  const { gateway, upstream } = await started(t);
  await ok(gateway, 'POST', '/providers', acme(upstream));
  await ok(gateway, 'POST', '/models', { id: 'smart', targets: ['acme/a'] });
  const before = await ok(gateway, 'GET', '/models/smart');
  const refused: [string, string, unknown, number, string | null][] = [
    ['POST', '/providers', { name: 'b', type: 'no-such' }, 400, 'type'],
    ['POST', '/providers', { name: 'b', type: 'openai', base_url: 'ftp://x' }, 400, 'base_url'],
    ['POST', '/providers', { name: 'b', type: 'openai', base_url: 'https://u:p@x' }, 400, 'base_url'],
    ['POST', '/providers', { name: 'b', type: 'openai', timeouts: { idle: 'soon' } }, 400, 'timeouts.idle'],
    ['POST', '/providers', { name: 'no spaces', type: 'openai' }, 400, 'name'],
    ['POST', '/providers', { name: 'culvert', type: 'openai' }, 400, 'name'],
    ['POST', '/providers', { type: 'openai' }, 400, 'name'],
    ['POST', '/providers', { name: 'b', type: 'openai', api_kee: 'x' }, 400, 'api_kee'],
    ['POST', '/providers', { name: 'acme', type: 'openai' }, 409, null],
    ['POST', '/providers/acme/credentials', {}, 400, 'api_key'],
    ['POST', '/providers/acme/credentials', { api_key: ' ' }, 400, 'api_key'],
    ['POST', '/providers/acme/credentials', { api_key: 'sk-“quoted”' }, 400, 'api_key'],
    ['POST', '/providers/test', { type: 'openai', api_key: 'sk-“quoted”' }, 400, 'api_key'],
    ['POST', '/providers/none/credentials', { api_key: 'x' }, 404, null],
    ['DELETE', '/providers/acme/credentials/none', undefined, 404, null],
    ['PATCH', '/providers/acme', { api_key: 'x' }, 400, 'api_key'],
    ['PATCH', '/providers/acme', { type: null }, 400, 'type'],
    ['POST', '/models', { id: 'b', targets: ['gone/a'] }, 400, 'targets[0]'],
    ['POST', '/models', { id: 'b', targets: [] }, 400, 'targets'],
    ['POST', '/models', { id: 'b', targets: ['acme/a'], fallbacks: ['gone'] }, 400, 'fallbacks[0]'],
    ['POST', '/models', { id: 'a  b', targets: ['acme/a'] }, 400, 'id'],
    ['POST', '/models', { id: '..', targets: ['acme/a'] }, 400, 'id'],
    ['POST', '/models', { id: 'gpt\u202e5', targets: ['acme/a'] }, 400, 'id'],
    ['POST', '/models', { id: 'half-\ud83d', targets: ['acme/a'] }, 400, 'id'],
    ['PATCH', '/models/smart', { fallbacks: ['smart'] }, 400, 'fallbacks[0]'],
    ['PATCH', '/models/smart', { version: 'one' }, 400, 'version'],
    ['PATCH', '/models/gone', {}, 404, null],
    ['DELETE', '/providers/acme', undefined, 409, null],
  ];
  for (const [method, path, body, status, param] of refused) {
    const answer = await call(gateway, method, path, body);
    const why = `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(answer.json)}`;
    assert.deepEqual([answer.status, answer.json.error.param], [status, param], why);
  }
  assert.deepEqual((await ok(gateway, 'GET', '/models/smart')).version, before.version);
  const gone = await call(gateway, 'DELETE', '/providers/acme');
  assert.match(gone.json.error.message, /These would stop working without it: smart \(/);
});

test('a stream from a provider that is removed runs to its end, and new requests do not find it', async (t) => {
  const { gateway, upstream } = await started(t, { server: { unknown_models: 'refuse' } });
  await ok(gateway, 'POST', '/providers', acme(upstream));
  upstream.script('/v1/chat/completions', ['chunks=20;interval=30ms;text=one two three four five six seven eight']);
  const streaming = gateway.fetch('/v1/chat/completions', {
    json: { model: 'acme/mock/ok', stream: true, messages: [{ role: 'user', content: 'Hi' }] },
  });
  await upstream.when(({ path }) => path.endsWith('/chat/completions'));
  await ok(gateway, 'DELETE', '/providers/acme');
  const { text } = readStream(await (await streaming).text());
  assert.equal(text, 'one two three four five six seven eight');
  assert.equal((await chat(gateway, 'acme/mock/ok')).status, 404);
});

test('who may use a model: accounts and plans that it names, and nobody else', async (t) => {
  const { gateway, upstream } = await started(t);
  await ok(gateway, 'POST', '/providers', acme(upstream));
  await ok(gateway, 'POST', '/models', { id: 'ours', targets: ['acme/mock/ok'], only: { accounts: ['dev'] } });
  assert.equal((await chat(gateway, 'ours')).status, 200);
  const others = await chat(gateway, 'ours', otherKey);
  const guessed = await chat(gateway, 'sour', otherKey);
  assert.deepEqual([others.status, guessed.status], [404, 404], 'a guess finds out nothing');
  const textOf = async (answer: Response) => ((await answer.json()) as Answer).error.message;
  assert.equal(await textOf(others), (await textOf(guessed)).replace('sour', 'ours'));
  const listed = await gateway.fetch('/v1/models', { headers: { authorization: `Bearer ${otherKey}` } });
  assert.ok(!((await listed.json()) as Answer).data.some(({ id }: Answer) => id === 'ours'));
  const key = (await ok(gateway, 'GET', '/keys?account=other')).data[0].id;
  const messages = [{ role: 'user', content: 'Hi' }];
  const explained = await ok(gateway, 'POST', '/explain', { key, body: { model: 'ours', messages } });
  assert.match(explained.error.message, /exists for other accounts: see models.ours.only/, 'the operator learns why');
  await ok(gateway, 'POST', '/models', { id: 'our/*', targets: ['acme/mock/*'], only: { accounts: ['dev'] } });
  const byPattern = await ok(gateway, 'POST', '/explain', { key, body: { model: 'our/new', messages } });
  assert.match(byPattern.error.message, /exists for other accounts: see models.our\/\*.only/, 'of a pattern, too');
  await ok(gateway, 'PATCH', '/models/ours', { only: { accounts: ['dev'], plans: ['pro'] } });
  assert.equal((await chat(gateway, 'ours', otherKey)).status, 403, 'another plan may have it');
  await ok(gateway, 'PATCH', '/models/ours', { only: { accounts: null, plans: ['default'] } });
  assert.equal((await chat(gateway, 'ours', otherKey)).status, 200);
});

test('a new credential is tested with the secret headers of its provider, which nobody has to know', async (t) => {
  const main = { type: 'openai', base_url: 'http://127.0.0.1:9', api_key: 'k' };
  const { gateway, upstream } = await started(t, { providers: { main } });
  await ok(gateway, 'POST', '/providers', { ...acme(upstream), headers: { 'x-team': 'team-of-the-operator' } });
  const test = () => ok(gateway, 'POST', '/providers/acme/credentials/test', { api_key: 'sk-new-key-of-today' });
  assert.equal((await test()).ok, true);
  const { headers } = upstream.requests().at(-1)!;
  assert.deepEqual([headers['x-team'], headers.authorization], ['team-of-the-operator', 'Bearer sk-new-key-of-today']);
  upstream.script('/v1/models', ['status=401;message=No such key.']);
  assert.equal((await test()).verdict, 'bad credential');
  assert.equal((await ok(gateway, 'GET', '/providers/acme')).credentials.length, 1, 'nothing was stored');
  assert.equal((await call(gateway, 'POST', '/providers/none/credentials/test', { api_key: 'x' })).status, 404);
  const inFile = await call(gateway, 'POST', '/providers/main/credentials/test', { api_key: 'x' });
  assert.equal(inFile.status, 409, 'it is there, and the file has its credentials');
});

test('credentials are added and removed one by one; requests go by those that are left', async (t) => {
  const { gateway, upstream } = await started(t);
  await ok(gateway, 'POST', '/providers', {
    ...acme(upstream),
    api_key: undefined,
    credentials: [{ id: 'old', api_key: 'sk-the-old-one-000000' }],
  });
  const two = await ok(gateway, 'POST', '/providers/acme/credentials', {
    id: 'new',
    api_key: secret,
    weight: 2,
    rpm: 100,
  });
  assert.deepEqual(
    two.credentials.map(({ id }: Answer) => id),
    ['acme#old', 'acme#new'],
  );
  assert.equal((await call(gateway, 'POST', '/providers/acme/credentials', { id: 'new', api_key: 'x' })).status, 409);
  const one = await ok(gateway, 'DELETE', '/providers/acme/credentials/old');
  assert.deepEqual([one.credentials.length, one.version], [1, 3]);
  const changes = (await ok(gateway, 'GET', '/audit?subject=acme')).data.map(({ action }: Answer) => action);
  assert.deepEqual(changes, ['credential.delete', 'credential.create', 'provider.create']);
  upstream.clear();
  assert.equal((await chat(gateway, 'acme/mock/ok')).status, 200);
  const [asked] = upstream.requests().filter(({ path }) => path.endsWith('/chat/completions'));
  assert.equal(asked?.headers.authorization, `Bearer ${secret}`);
});

test('kinds of providers are listed for a picker, and nothing is looked for where autodetect is off', async (t) => {
  const gateway = await startGateway(t);
  const { data } = await ok(gateway, 'GET', '/providers/types');
  const openai = data.find(({ type }: Answer) => type === 'openai');
  assert.deepEqual(
    [openai.base_url, openai.needs_key, openai.env, openai.local],
    ['https://api.openai.com/v1', true, 'OPENAI_API_KEY', false],
  );
  assert.deepEqual(openai.serves, ['chat', 'embedding', 'speech', 'transcription', 'image']);
  assert.deepEqual(data.find(({ type }: Answer) => type === 'deepgram').serves, ['speech', 'transcription']);
  assert.equal(data.find(({ type }: Answer) => type === 'ollama').needs_key, false);
  assert.deepEqual(await ok(gateway, 'GET', '/providers/found'), { looked: false, data: [] });
});
