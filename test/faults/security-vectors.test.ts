import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { after, test } from 'node:test';
import { vectorVerbNames, vectorVerbs } from '../../src/vectors/verbs.ts';
import { twoPoints, vectorCalls } from '../contract/vector-calls.ts';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';

const gateway = await startGateway({ after: after as never });

interface Answer {
  status: number;
  text: string;
}

function call(key: string, method: string, path: string, json?: unknown): Promise<Answer> {
  return raw(key, method, `/v1/vectors${path}`, json);
}

/** The path goes out as written: fetch would resolve its dots. */
function raw(key: string, method: string, path: string, json?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(gateway.url);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = request({ hostname, port, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    sent.on('error', reject);
    sent.end(json === undefined ? undefined : JSON.stringify(json));
  });
}

async function must(key: string, method: string, path: string, json?: unknown): Promise<Record<string, unknown>> {
  const { status, text } = await call(key, method, path, json);
  assert.equal(status, 200, text);
  return (JSON.parse(text) as { result: Record<string, unknown> }).result;
}

async function withPoints(key: string, name: string): Promise<void> {
  await must(key, 'POST', '/collections', { name, vector_size: 4, distance: 'Cosine' });
  await must(key, 'POST', `/collections/${name}/points`, { points: twoPoints });
}

/** Files of the data folder; SQLite's own files beside a database come and go. */
function files(): string[] {
  const all = readdirSync(gateway.dataDir, { recursive: true }).map(String);
  return all.filter((name) => !/-(wal|shm|journal)$/.test(name)).toSorted();
}

/** The constant part of an answer. */
function unchanging({ status, text }: Answer, name: string): string {
  const body = JSON.parse(text) as { time?: number; error?: { request_id?: string } };
  delete body.time;
  if (body.error !== undefined) delete body.error.request_id;
  return `${status} ${JSON.stringify(body).replaceAll(name, 'NAME')}`;
}

test('S10 another key gets for a collection that exists what it gets for one that does not, and changes nothing', async () => {
  await withPoints(testKey, 'private');
  await must(testKey, 'POST', '/collections/aliases', {
    actions: [{ create_alias: { collection_name: 'private', alias_name: 'private-alias' } }],
  });
  const before = JSON.stringify(
    await must(testKey, 'POST', '/collections/private/points/scroll', { with_vector: true }),
  );
  for (const [known, absent] of [
    ['private', 'nothing'],
    ['private-alias', 'nothing-alias'],
  ] as const) {
    for (const verb of vectorVerbNames) {
      const { method, path } = vectorVerbs[verb];
      if (!path.includes(':collection') || verb === 'put-collection') continue;
      const [knownPath, knownJson] = vectorCalls[verb](known);
      const [absentPath, absentJson] = vectorCalls[verb](absent);
      const onKnown = await call(otherKey, method, knownPath, knownJson);
      const onAbsent = await call(otherKey, method, absentPath, absentJson);
      assert.equal(unchanging(onKnown, known), unchanging(onAbsent, absent), `${verb} ${known}`);
      const silent = verb === 'collection-exists' || verb === 'delete-collection';
      if (!silent) assert.ok(onKnown.status === 404 || onKnown.status === 501, `${verb}: ${onKnown.text}`);
    }
  }
  // Its own of that name, and its own alias, are other ones.
  await withPoints(otherKey, 'private');
  await must(otherKey, 'DELETE', '/collections/private');
  const after = JSON.stringify(
    await must(testKey, 'POST', '/collections/private/points/scroll', { with_vector: true }),
  );
  assert.equal(after, before);
});

test("S10 neither list nor aliases show what is not the key's own", async () => {
  await withPoints(testKey, 'hidden');
  await must(testKey, 'POST', '/collections/aliases', {
    actions: [{ create_alias: { collection_name: 'hidden', alias_name: 'hidden-alias' } }],
  });
  for (const path of ['/collections', '/aliases']) {
    const { text } = await call(otherKey, 'GET', path);
    assert.ok(!text.includes('hidden'), text);
    assert.ok((await call(testKey, 'GET', path)).text.includes('hidden'));
  }
  const alias = { create_alias: { collection_name: 'hidden', alias_name: 'mine' } };
  assert.equal((await call(otherKey, 'POST', '/collections/aliases', { actions: [alias] })).status, 404);
});

/** Each must be refused as a name, or be a name and nothing else. */
const hostileNames = [
  '../../etc/passwd',
  '..\\..\\windows',
  '/etc/passwd',
  'a/b',
  'a\\b',
  'nul\0byte',
  'a'.repeat(300),
  'caf\u00e9',
  'cafe\u0301',
  ' ',
  '',
  'a b',
  'a%2fb',
  '\u202egnp',
  "'; DROP TABLE point; --",
  'CON',
  '.',
  '..',
  'shard-0.db',
];

test('S13 no name of a collection becomes a path: those that are no names are 400, the others stay names', async () => {
  await withPoints(testKey, 'first');
  const before = files();
  for (const name of hostileNames) {
    const fits = /^[A-Za-z0-9_.-]{1,255}$/.test(name) && name !== '.' && name !== '..';
    const created = await call(testKey, 'POST', '/collections', { name, vector_size: 4, distance: 'Cosine' });
    assert.equal(created.status, fits ? 200 : 400, `${JSON.stringify(name)}: ${created.text}`);
    const path = `/collections/${encodeURIComponent(name)}`;
    if (name === '') continue;
    const inspected = await call(testKey, 'GET', path);
    if (fits) {
      assert.equal((JSON.parse(inspected.text) as { result: { name: string } }).result.name, name);
      assert.equal((await call(testKey, 'DELETE', path)).status, 200);
    } else assert.ok(inspected.status === 400 || inspected.status === 404, inspected.text);
    assert.ok(!inspected.text.includes('root:'));
  }
  assert.deepEqual(files(), before);
});

test('S13 a path that climbs is no route, however it is written', async () => {
  for (const path of [
    '/v1/vectors/collections/../../../etc/passwd',
    '/v1/vectors/collections/..%2f..%2fetc%2fpasswd/points/1',
    '/v1/vectors/collections/%2e%2e/%2e%2e/x',
    '/v1/vectors/collections/a%00b',
    '/collections/..%5c..%5cx/exists',
    '/v1/vectors/collections/first/points/..%2f..%2f1',
    '/v1/vectors/collections/%ff',
    '/v1/vectors//..//collections',
  ]) {
    const { status, text } = await raw(testKey, 'GET', path);
    assert.ok(status === 400 || status === 404, `${path}: ${status} ${text}`);
    assert.ok(!text.includes('root:'));
  }
});

test('S14 an archive sent to any snapshot route is not unpacked: 501, and no file is new', async () => {
  await withPoints(testKey, 'archived');
  const before = files();
  for (const path of [
    '/collections/archived/snapshots/upload',
    '/collections/archived/shards/0/snapshots/upload',
    '/collections/archived/snapshots',
    '/snapshots',
  ]) {
    for (const at of ['/v1/vectors', '']) {
      const { status } = await raw(testKey, 'POST', at + path, { location: 'file:///etc/passwd' });
      assert.equal(status, 501, path);
    }
  }
  const recovered = await call(testKey, 'PUT', '/collections/archived/snapshots/recover', { location: 'file:///etc' });
  assert.equal(recovered.status, 501);
  assert.deepEqual(files(), before);
});
