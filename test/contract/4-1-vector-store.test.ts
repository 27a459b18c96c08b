import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { vectorVerbNames, vectorVerbs } from '../../src/vectors/verbs.ts';
import { refusedFor, servePlans, type Usage } from './plan-gateway.ts';
import { twoPoints, vectorCalls } from './vector-calls.ts';

const { gateway, usage, ask, keyOf } = await servePlans({
  free: { rpm: 'off' },
  neighbour: { rpm: 'off' },
  costs: { rpm: 'off', windows: { '5h': 1_000 } },
  refused: { rpm: 'off', windows: { '5h': 1_000 } },
  tight: { rpm: 'off', windows: { '5h': 0.1 } },
  minute: { rpm: 1 },
});

type Json = Record<string, unknown>;

interface Answer {
  status: number;
  headers: Headers;
  body: Json & { result?: Json; error?: Json };
}

/** A call below `/v1/vectors` with the key of a plan. */
async function call(plan: string, method: string, path: string, json?: unknown, name = 'one'): Promise<Answer> {
  const response = await gateway.fetch(`/v1/vectors${path}`, {
    method,
    headers: { authorization: `Bearer ${keyOf(plan, name)}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer['body'] };
}

/** The same, which must succeed; its `result`. */
async function done(plan: string, method: string, path: string, json?: unknown, name = 'one'): Promise<Json> {
  const { status, body } = await call(plan, method, path, json, name);
  assert.equal(status, 200, JSON.stringify(body));
  return body.result as Json;
}

const used = ({ windows }: Usage) => Math.round(windows['5h'].used * 1_000) / 1_000;

function collection(plan: string, name: string, fields: Json = {}, key = 'one'): Promise<Json> {
  return done(plan, 'POST', '/collections', { name, vector_size: 4, distance: 'Cosine', ...fields }, key);
}

async function pointsIn(plan: string, name: string): Promise<unknown> {
  return (await done(plan, 'GET', `/collections/${name}`)).points_count;
}

test('§2.1 a collection is created by "name", "vector_size" and "distance", and told so', async () => {
  const result = await collection('free', 'told');
  assert.deepEqual([result.name, result.vector_size, result.distance], ['told', 4, 'Cosine']);
  const inspected = await done('free', 'GET', '/collections/told');
  assert.deepEqual(
    [inspected.name, inspected.points_count, inspected.vector_size, inspected.distance],
    ['told', 0, 4, 'Cosine'],
  );
});

test('§2.1 each field is required where it says so: a 400 names the one that is missing', async () => {
  for (const [body, param] of [
    [{ vector_size: 4, distance: 'Cosine' }, 'name'],
    [{ name: 'lacking', distance: 'Cosine' }, 'vector_size'],
  ] as const) {
    const answer = await call('free', 'POST', '/collections', body);
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error?.param, param);
  }
  assert.equal((await call('free', 'GET', '/collections/lacking')).status, 404);
});

test('§2.1 "Unique within the account": the second of a name is 409, and the first stays as it was', async () => {
  await collection('free', 'unique');
  await done('free', 'POST', '/collections/unique/points', { points: twoPoints });
  const again = await call('free', 'POST', '/collections', { name: 'unique', vector_size: 8, distance: 'Dot' });
  assert.equal(again.status, 409);
  assert.equal(again.body.error?.type, 'conflict_error');
  const inspected = await done('free', 'GET', '/collections/unique');
  assert.deepEqual([inspected.vector_size, inspected.distance, inspected.points_count], [4, 'Cosine', 2]);
});

test('§2.1, §5.6 "isolated per API key: two users with the same name do not see each other\'s data"', async () => {
  await collection('free', 'same');
  // Another account, and another key of the same account.
  for (const [plan, name] of [
    ['neighbour', 'one'],
    ['free', 'two'],
  ] as const) {
    assert.equal((await call(plan, 'GET', '/collections/same', undefined, name)).status, 404);
    await collection(plan, 'same', { vector_size: 2 }, name);
    await done(plan, 'POST', '/collections/same/points', { points: [{ id: 7, vector: [1, 0] }] }, name);
  }
  assert.equal(await pointsIn('free', 'same'), 0);
  await done('neighbour', 'DELETE', '/collections/same');
  assert.equal((await done('free', 'GET', '/collections/same')).vector_size, 4);
  assert.equal((await done('free', 'GET', '/collections/same', undefined, 'two')).points_count, 1);
});

test('§2.1 vector_size "cannot change later"; "Switching embedding model requires a new collection"', async () => {
  await collection('free', 'fixed');
  for (const body of [{ vector_size: 8 }, { vectors: { size: 8 } }, { distance: 'Dot' }]) {
    const answer = await call('free', 'PATCH', '/collections/fixed', body);
    assert.equal(answer.status, 400, JSON.stringify(body));
  }
  const inspected = await done('free', 'GET', '/collections/fixed');
  assert.deepEqual([inspected.vector_size, inspected.distance], [4, 'Cosine']);
});

test('§2.1 "`Cosine` is the value in normal use": nearest points come first, by their angle', async () => {
  await collection('free', 'angle');
  await done('free', 'POST', '/collections/angle/points', {
    points: [...twoPoints, { id: 3, vector: [30, 40, 0, 0], payload: {} }],
  });
  const { result } = (
    await call('free', 'POST', '/collections/angle/points/search', { vector: [3, 0, 0, 0], limit: 3 })
  ).body as unknown as { result: { id: number; score: number }[] };
  assert.deepEqual(
    result.map(({ id, score }) => [id, Math.round(score * 1_000) / 1_000]),
    [
      [1, 1],
      [3, 0.6],
      [2, 0],
    ],
  );
});

test('§2.1 a collection whose "vector_size" is 1 finds points by vectors written after a search', async () => {
  await collection('free', 'thin', { vector_size: 1, distance: 'Euclid' });
  const put = (points: Json[]) => done('free', 'POST', '/collections/thin/points', { points });
  const nearest = async () => {
    const query = { vector: [4.2], limit: 2 };
    const found = await done('free', 'POST', '/collections/thin/points/search', query);
    return (found as unknown as { id: number }[]).map(({ id }) => id);
  };
  // Searches among up to 256 points read their rows; those among more use an index, which a write must change.
  await put(Array.from({ length: 300 }, (_, id) => ({ id, vector: [id] })));
  assert.deepEqual(await nearest(), [4, 5]);
  await put([{ id: 200, vector: [4.3] }]);
  assert.deepEqual(await nearest(), [200, 4]);
});

test('§2.2 a point is "id", "vector" and "payload", and comes back as it was written', async () => {
  await collection('free', 'points');
  const payload = { text: 'a chunk', source: 'file.md', nested: { list: [1, 'two', null], ok: true }, ключ: 'é' };
  await done('free', 'POST', '/collections/points/points', { points: [{ id: 42, vector: [0, 0, 1, 0], payload }] });
  const point = await done('free', 'GET', '/collections/points/points/42');
  assert.deepEqual([point.id, point.payload, point.vector], [42, payload, [0, 0, 1, 0]]);
});

test('§2.2, §4.1.2 "Upserting an existing id overwrites that point", whole', async () => {
  await collection('free', 'overwritten');
  await done('free', 'POST', '/collections/overwritten/points', { points: twoPoints });
  await done('free', 'POST', '/collections/overwritten/points', {
    points: [{ id: 1, vector: [0, 0, 0, 1], payload: { other: true } }],
  });
  assert.equal(await pointsIn('free', 'overwritten'), 2);
  const point = await done('free', 'GET', '/collections/overwritten/points/1');
  assert.deepEqual([point.payload, point.vector], [{ other: true }, [0, 0, 0, 1]]);
});

test('§2.2, §4.1.1 a vector whose length differs "must not succeed": 400 names the point, and none is written', async () => {
  await collection('free', 'lengths');
  for (const vector of [[1, 2, 3], [1, 2, 3, 4, 5], []]) {
    const answer = await call('free', 'POST', '/collections/lengths/points', {
      points: [twoPoints[0], { id: 2, vector, payload: {} }],
    });
    assert.equal(answer.status, 400);
    assert.match(String(answer.body.error?.message), /points\[1\]/);
  }
  assert.equal(await pointsIn('free', 'lengths'), 0);
});

test('§4.1 GET lists "the account\'s collections"; DELETE deletes one', async () => {
  await collection('costs', 'listed-b');
  await collection('costs', 'listed-a');
  const names = async () =>
    ((await done('costs', 'GET', '/collections')).collections as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => name.startsWith('listed'));
  assert.deepEqual(await names(), ['listed-a', 'listed-b']);
  await done('costs', 'DELETE', '/collections/listed-a');
  assert.deepEqual(await names(), ['listed-b']);
  const gone = await call('costs', 'GET', '/collections/listed-a');
  assert.deepEqual([gone.status, gone.body.error?.type], [404, 'not_found_error']);
});

test('§4.1 the answer is whole JSON with `result`, `status` and `time`, never 202', async () => {
  const { status, headers, body } = await call('free', 'GET', '/collections');
  assert.deepEqual([status, body.status, typeof body.time], [200, 'ok', 'number']);
  assert.equal(headers.get('content-type'), 'application/json');
  assert.match(headers.get('x-culvert-request-id')!, /^req_/);
});

test('§5.1 "Every request carries the account\'s API key": without one, 401 on every path, at the root too', async () => {
  for (const at of ['/v1/vectors', '']) {
    for (const path of ['/collections', '/collections/x', '/aliases', '/collections/x/snapshots']) {
      const response = await fetch(gateway.url + at + path);
      const body = (await response.json()) as Answer['body'] & { status: Json };
      assert.deepEqual([response.status, body.error?.type], [401, 'authentication_error']);
      assert.equal(body.status.error, body.error?.message);
    }
  }
});

test("Qdrant's own header `api-key` opens it", async () => {
  const response = await fetch(`${gateway.url}/collections`, {
    headers: { 'api-key': keyOf('free') },
  });
  assert.equal(response.status, 200);
  await response.text();
});

test('§4.1.3, §8.3 "Each vector call costs 0.05 of one request": each verb by the usage endpoint, whatever it batches', async (t) => {
  await collection('costs', 'c');
  await done('costs', 'POST', '/collections/c/points', { points: twoPoints });
  for (const verb of vectorVerbNames) {
    const [path, json] = vectorCalls[verb](verb === 'delete-collection' ? 'c-2' : 'c');
    await t.test(verb, async () => {
      const before = used(await usage('costs'));
      const { status, headers, body } = await call('costs', vectorVerbs[verb].method, path, json);
      const cost = used(await usage('costs')) - before;
      if (status === 501) assert.ok(Math.abs(cost) < 1e-9, 'what is not supported costs nothing');
      else {
        assert.equal(status, 200, JSON.stringify(body));
        assert.ok(Math.abs(cost - 0.05) < 1e-9, `${cost}`);
        assert.equal(headers.get('x-culvert-cost'), '0.05');
        assert.match(headers.get('ratelimit')!, /"5h";r=\d+/);
      }
    });
  }
  const { data } = await usage('costs', '?group_by=endpoint');
  const row = data.find(({ group }) => group === 'vectors')!;
  assert.ok(Math.abs(row.units - used(await usage('costs'))) < 1e-9, 'all of it stands in the ledger');
});

test('§8.3 a refused vector call costs nothing', async () => {
  await collection('refused', 'c');
  const before = used(await usage('refused'));
  for (const [method, path, json, status] of [
    ['POST', '/collections', { name: 'c', vector_size: 4, distance: 'Cosine' }, 409],
    ['POST', '/collections', { name: '', vector_size: 4 }, 400],
    ['GET', '/collections/none', undefined, 404],
    ['POST', '/collections/c/points', { points: [{ id: 1, vector: [1] }] }, 400],
    ['POST', '/collections/c/points/search', { vector: [1], limit: 1 }, 400],
    ['POST', '/collections/c/snapshots', {}, 501],
  ] as const) {
    const answer = await call('refused', method, path, json);
    assert.equal(answer.status, status, `${method} ${path}`);
    assert.notEqual(answer.headers.get('x-culvert-cost'), '0.05');
  }
  assert.equal(used(await usage('refused')), before);
});

test('§8.1, §8.3 a vector call is refused when its 0.05 no longer fit, and nothing is done', async () => {
  await collection('tight', 'one');
  await collection('tight', 'two');
  const path = '/v1/vectors/collections';
  const error = await refusedFor('5h', ask('tight', path, { name: 'three', vector_size: 4, distance: 'Cosine' }));
  assert.deepEqual([error.used, error.allowed], [0.1, 0.1]);
});

test('§8.2, §8.3 twenty vector calls are one of the requests per minute', async () => {
  for (let i = 0; i < 20; i++) assert.equal((await call('minute', 'GET', '/collections')).status, 200);
  await refusedFor('minute', ask('minute', '/v1/vectors/collections'));
});

test('a vector call stands in the ledger like any other: found by its id, with what it cost', async () => {
  const { headers } = await call('free', 'GET', '/collections');
  const path = `/v1/requests/${headers.get('x-culvert-request-id')}`;
  const told = (await (await ask('free', path)).json()) as Record<string, unknown>;
  assert.deepEqual([told.endpoint, told.status, told.class, told.units], ['vectors', 200, 'ok', 0.05]);
});

test('/openapi.json says of every vector call what it does and that it needs a key or a session', async () => {
  const { paths } = (await (await gateway.fetch('/openapi.json')).json()) as {
    paths: Record<string, Record<string, { summary?: string; security: unknown }>>;
  };
  for (const { method, path } of Object.values(vectorVerbs)) {
    for (const at of ['/v1/vectors', '']) {
      const described = paths[at + path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      assert.ok((described?.summary ?? '').length > 10, `${method} ${at}${path}`);
      assert.deepEqual(described?.security, [{ apiKey: [] }, { session: [] }]);
    }
  }
});

test('points may come compressed', async () => {
  await collection('free', 'packed');
  for (const [id, [encoding, pack]] of Object.entries({ gzip: gzipSync, zstd: zstdCompressSync }).entries()) {
    const points = Array.from({ length: 500 }, (_, at) => ({ id: id * 500 + at, vector: [1, 2, 3, at] }));
    const response = await gateway.fetch('/v1/vectors/collections/packed/points', {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${keyOf('free', 'one')}`,
        'content-type': 'application/json',
        'content-encoding': encoding,
      },
      body: pack(JSON.stringify({ points })),
    });
    assert.equal(response.status, 200, await response.text());
  }
  assert.equal(await pointsIn('free', 'packed'), 1_000);
});
