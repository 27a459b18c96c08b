import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { adminKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask } from './books-balance.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { startReplicas, storageOver } from './replicas.ts';

/*
 * Providers and models that are set up at run time where several gateways, or a database that can be away, keep them.
 */

const skip = postgresMissing || redisMissing;
const redis = skip === false ? await startRedis(null) : null;
/** A change is in force everywhere by then; the rest is what a machine under load may add. */
const inForceEverywhereMs = 1_000 + 500;
const secret = 'sk-upstream-of-replicas-0123';

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
type Answer = any;

async function admin(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; json: Answer }> {
  const response = await fetch(`${url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await response.json() };
}

async function world(t: TestContext) {
  const postgres = await startPostgres(t);
  redis!.cli('flushall');
  const late = await startUpstream();
  t.after(() => late.close());
  const provider = { name: 'late', type: 'openai', base_url: `${late.url}/v1`, api_key: secret };
  return { postgres, redis: redis!, late, provider };
}

test('of two people who change one account on two gateways at one time one is told of the other', {
  skip,
}, async (t) => {
  const { postgres, redis } = await world(t);
  const { urls } = await startReplicas(t, 2, { postgres, redis });
  const made = await admin(urls[0]!, 'POST', '/accounts', { id: 'acme' });
  const { version } = made.json;
  const answers = await Promise.all(
    urls.map((url, at) => admin(url, 'PATCH', '/accounts/acme', { name: `by ${at}`, version })),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
  const winner = answers.findIndex(({ status }) => status === 200);
  assert.equal(answers[1 - winner]!.json.current.name, `by ${winner}`);
});

test('what is set up on one gateway serves on the other within a second, and is gone as soon', { skip }, async (t) => {
  const { late, provider, ...stores } = await world(t);
  const { urls } = await startReplicas(t, 2, { ...stores });
  const [one, other] = urls as [string, string];
  assert.equal((await admin(one, 'POST', '/providers', provider)).status, 201);
  const made = await admin(one, 'POST', '/models', { id: 'new', targets: ['late/mock/ok'] });
  assert.equal(made.status, 201);
  const madeMs = performance.now();
  assert.equal((await ask(one, { model: 'new' })).status, 200, 'at once where it was made');
  await until('the other serves it', async () => (await ask(other, { model: 'new' })).status === 200);
  const took = performance.now() - madeMs;
  assertWithin(took, inForceEverywhereMs);
  const asked = late.requests().filter(({ path }) => path.endsWith('/chat/completions'));
  assert.ok(asked.length >= 2 && asked.every(({ headers }) => headers.authorization === `Bearer ${secret}`));
  assert.equal((await admin(other, 'DELETE', '/models/new')).status, 200);
  const goneMs = performance.now();
  await until('it is gone from the first', async () => (await ask(one, { model: 'new' })).status === 404);
  assertWithin(performance.now() - goneMs, inForceEverywhereMs);
});

test('a replica with another secret says which credential it cannot open, and asks nobody without it', {
  skip,
}, async (t) => {
  const { postgres, late, provider } = await world(t);
  const database = postgres.newDatabase();
  const start = (own: string, more: Record<string, unknown> = {}) => {
    const folder = temporaryFolder(t);
    const storage = { ...storageOver(database, redis!), secret: own, data_dir: join(folder, 'data'), ...more };
    return startGatewayProcess(t, { storage, simulator: 'off' }, { log: join(folder, 'log') }).then((gateway) => ({
      ...gateway,
      log: join(folder, 'log'),
    }));
  };
  const [first, stranger] = await Promise.all([start('c'.repeat(44)), start('d'.repeat(44))]);
  const made = await admin(first.url, 'POST', '/providers', {
    ...provider,
    api_key: undefined,
    credentials: [{ id: 'main', api_key: secret }],
  });
  assert.equal(made.status, 201, JSON.stringify(made.json));
  const shown = async (url: string) => (await admin(url, 'GET', '/providers/late')).json;
  await until('the stranger has seen it', async () => (await shown(stranger.url)).problem != null);
  assert.match(
    (await shown(stranger.url)).problem,
    /^credential main cannot be opened here, because another storage\.secret/,
  );
  const told = /"provider":"late".*credential main cannot be opened/;
  await until('its log names it', async () => told.test(readFileSync(stranger.log, 'utf8')));
  late.clear();
  const refused = await ask(stranger.url, { model: 'late/mock/ok' });
  assert.equal(refused.status, 404);
  assert.deepEqual(late.requests(), [], 'nobody is asked without the key');
  const serves = (url: string) => async () => (await ask(url, { model: 'late/mock/ok' })).status === 200;
  await until('the first has heard of its models', serves(first.url));
  // One that knows it as an earlier secret opens it, and seals it by its own.
  const next = await start('e'.repeat(44), { earlier_secrets: ['c'.repeat(44)] });
  await until('the next has, too', serves(next.url));
  const rotated = await admin(next.url, 'POST', '/secret/rotate', {});
  assert.deepEqual([rotated.json.source, rotated.json.resealed, rotated.json.left], ['configuration', 1, []]);
});

test('a database that is away while something is changed: 503, nothing is changed, and later it is', {
  skip,
}, async (t) => {
  const { postgres, late, provider } = await world(t);
  const { urls } = await startReplicas(t, 1, { postgres, redis: redis! });
  const [url] = urls as [string];
  assert.equal((await admin(url, 'POST', '/providers', provider)).status, 201);
  await postgres.stop('SIGKILL');
  const away = await admin(url, 'POST', '/models', { id: 'new', targets: ['late/mock/ok'] });
  assert.equal(away.status, 503, JSON.stringify(away.json));
  assert.equal((await admin(url, 'DELETE', '/providers/late')).status, 503);
  await postgres.restart();
  await until('it can be changed again', async () => {
    const { status } = await admin(url, 'POST', '/models', { id: 'new', targets: ['late/mock/ok'] });
    assert.ok(status === 201 || status === 503, String(status));
    return status === 201;
  });
  await until('it serves', async () => (await ask(url, { model: 'new' })).status === 200);
  assert.ok(late.requests().length > 0);
});
