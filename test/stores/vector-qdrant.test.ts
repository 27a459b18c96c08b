import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Failure, FailureError } from '../../src/kernel/failure.ts';
import { openCulvertTables } from '../../src/stores/sqlite/stores.ts';
import { createVectorRegistry } from '../../src/stores/vectors/vector-registry.ts';
import { readFilter } from '../../src/vectors/filter/read-filter.ts';
import type { PointBatch } from '../../src/vectors/point.ts';
import { createQdrantStore } from '../../src/vectors/qdrant/qdrant-store.ts';
import { valueText } from '../../src/vectors/qdrant/write-operations.ts';
import { fakeClock } from '../fake-clock.ts';
import { done, type QdrantCall, type QdrantReply, refused, startScriptedQdrant } from '../scripted-qdrant.ts';

const owner = { tenant: 'acme/laptop', account: 'acme' };
const spec = { name: 'docs', size: 2, distance: 'Cosine', embeddingModel: null } as const;
const want = { payload: true, vector: true } as const;
const uuid = '5c56c793-69f3-4fbf-87e6-c4bf54c28c26';

/** Answers that every test needs; `reply` comes first. */
async function open(t: TestContext, reply: (call: QdrantCall, number: number) => QdrantReply | null = () => null) {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-qdrant-'));
  const registry = createVectorRegistry(openCulvertTables(join(folder, 'culvert.db')));
  const qdrant = await startScriptedQdrant(t, (call, number) => reply(call, number) ?? usual(call));
  const clock = fakeClock();
  const troubles: string[] = [];
  const store = createQdrantStore({
    url: qdrant.url,
    apiKey: 'qdrant-secret',
    registry,
    clock,
    limits: { collectionsPerAccount: 2 },
    onTrouble: (message) => troubles.push(message),
    timeouts: { readMs: 5_000, writeMs: 5_000 },
  });
  t.after(async () => {
    await store.close();
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await store.create(owner, spec);
  const { generation } = (await registry.find(owner.tenant, spec.name))!;
  qdrant.calls.length = 0;
  return { store, registry, clock, calls: qdrant.calls, generation, troubles };
}

function usual({ path, body }: QdrantCall): QdrantReply {
  if (path.endsWith('/exists')) return done({ exists: true });
  if (path.includes('/points/batch')) {
    const { operations } = body as { operations: unknown[] };
    return done(operations.map((_, at) => ({ operation_id: 40 + at, status: 'completed' })));
  }
  if (path.endsWith('/points/count')) return done({ count: 0 });
  if (path.endsWith('/points/scroll')) return done({ points: [], next_page_offset: null });
  if (path.endsWith('/points')) return done([]);
  return done(true);
}

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof FailureError)) throw new Error(`expected a FailureError, got ${String(error)}`);
  return error.failure;
}

function batch(ids: PointBatch['ids'], payloads: PointBatch['payloads']): PointBatch {
  return { ids, payloads, vectors: Float32Array.from(ids.flatMap((_, at) => [at, 0.1])) };
}

test('a Qdrant collection is made once for its size and distance, with an index by tenant', async (t) => {
  const there = new Set<string>();
  const { store, calls } = await open(t, ({ method, path }) => {
    const name = path.split('/')[2]!;
    if (path.endsWith('/exists')) return done({ exists: there.has(name) });
    if (method === 'PUT' && path.split('/').length === 3) there.add(name);
    return null;
  });
  await store.create({ tenant: 'beta/key', account: 'beta' }, { ...spec, name: 'others', size: 3, distance: 'Dot' });
  await store.create({ tenant: 'beta/key', account: 'beta' }, { ...spec, name: 'more' });
  assert.deepEqual(
    calls.map(({ method, path, body, apiKey }) => [method, path, body, apiKey]),
    [
      ['GET', '/collections/culvert_3_dot/exists', null, 'qdrant-secret'],
      [
        'PUT',
        '/collections/culvert_3_dot',
        {
          vectors: { size: 3, distance: 'Dot' },
          hnsw_config: { m: 0, payload_m: 16 },
          strict_mode_config: { enabled: false },
        },
        'qdrant-secret',
      ],
      [
        'PUT',
        '/collections/culvert_3_dot/index?wait=true',
        { field_name: 'g', field_schema: { type: 'keyword', is_tenant: true } },
        'qdrant-secret',
      ],
      ['GET', '/collections/culvert_2_cosine/exists', null, 'qdrant-secret'],
    ],
  );
});

test("points stand under their generation, with the caller's id and payload inside", async (t) => {
  const { store, calls, generation } = await open(t);
  const number = await store.write(owner.tenant, 'docs', [
    { kind: 'upsert', points: batch([7, uuid], ['{"city":"Rome"}', null]) },
  ]);
  assert.equal(number, 40);
  assert.equal(calls[0]?.path, '/collections/culvert_2_cosine/points/batch?wait=true&ordering=strong');
  const { operations } = calls[0]!.body as { operations: { upsert: { points: Record<string, unknown>[] } }[] };
  const [first, second] = operations[0]!.upsert.points;
  assert.deepEqual(first?.payload, { g: generation, id: 7, p: { city: 'Rome' } });
  assert.deepEqual(second?.payload, { g: generation, id: uuid });
  assert.match(String(first?.id), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(second?.id, uuid, 'two tenants may have the same ids');
  assert.deepEqual(
    (second!.vector as number[]).map(Math.fround),
    [...Float32Array.from([1, 0.1])],
    'every float32 survives its decimal form',
  );
});

test('two rows of integers are not what Qdrant takes for indices and values of a sparse vector', () => {
  const multi = (...numbers: number[]) => ({ rows: 2, numbers: Float32Array.from(numbers) });
  assert.equal(valueText(multi(1, 0, 0, 1)), '[[1.0,0],[0,1]]');
  assert.equal(valueText(multi(12, 5)), '[[12.0],[5]]');
  assert.equal(valueText(multi(0.5, 1, 2, 3)), '[[0.500000000,1],[2,3]]');
});

test("a filter holds for the caller's own points, over paths of the caller's payload", async (t) => {
  const { store, calls, generation } = await open(t);
  const filter = readFilter(
    {
      must: [
        { key: 'a.b[]', match: { any: ['x', 'y'] }, values_count: { gt: 1 } },
        { is_empty: { key: '"quo.ted"' } },
        { nested: { key: 'parts', filter: { must: [{ key: 'n', range: { gte: 1.5 } }] } } },
        { must: [] },
      ],
      should: { has_id: [7] },
      must_not: { key: 'at', range: { lt: '2026-01-02T03:04:05.000006Z' } },
      min_should: { conditions: [{ is_null: { key: 'z' } }, { has_vector: '' }], min_count: 1 },
    },
    'filter',
  );
  await store.count(owner.tenant, 'docs', filter);
  const mine = { key: 'g', match: { value: generation } };
  const body = calls[0]!.body as { filter: { should: { has_id: string[] }[] } };
  const [id] = body.filter.should[0]!.has_id;
  assert.deepEqual(calls[0]?.body, {
    exact: true,
    filter: {
      must: [
        mine,
        {
          should: [
            { key: 'p.a.b[]', match: { any: ['x', 'y'] } },
            { key: 'p.a.b[]', values_count: { gt: 1 } },
          ],
        },
        { is_empty: { key: 'p."quo.ted"' } },
        { nested: { key: 'p.parts', filter: { must: [{ key: 'n', range: { gte: 1.5 } }] } } },
        { must: [] },
      ],
      should: [{ has_id: [id] }],
      must_not: [{ key: 'p.at', range: { lt: '2026-01-02T03:04:05.000006Z' } }],
      min_should: {
        conditions: [
          // Before 1.19.1, Qdrant's condition overlooked a null in an array.
          { must: [], should: [{ is_null: { key: 'p.z' } }, { is_null: { key: 'p.z[]' } }] },
          { has_vector: '' },
        ],
        min_count: 1,
      },
    },
  });
  assert.match(id!, /-5[0-9a-f]{3}-/);
});

test('a collection that is made again sees none of the points of its forerunner', async (t) => {
  const { store, calls, generation } = await open(t);
  await store.write(owner.tenant, 'docs', [{ kind: 'upsert', points: batch([7], [null]) }]);
  await store.drop(owner.tenant, 'docs');
  await store.create(owner, spec);
  await store.write(owner.tenant, 'docs', [{ kind: 'upsert', points: batch([7], [null]) }]);
  const written = calls.filter(({ path }) => path.includes('/points/batch')).map(({ body }) => JSON.stringify(body));
  assert.equal(written.length, 2);
  assert.ok(written[0]!.includes(generation));
  assert.ok(!written[1]!.includes(generation));
  const ids = written.map((text) => /"id":"([^"]+)"/.exec(text)?.[1]);
  assert.notEqual(ids[0], ids[1]);
});

test("payload is changed inside the caller's own, by filter where an unknown id would be refused", async (t) => {
  const { store, calls, generation } = await open(t, ({ path }) =>
    path.endsWith('/points') ? done([{ payload: { id: 1 } }]) : null,
  );
  const all = { filter: readFilter({}, 'filter') };
  await store.write(owner.tenant, 'docs', [
    { kind: 'set-payload', which: { ids: [1] }, payload: '{"a":1}', key: null },
    { kind: 'set-payload', which: all, payload: '{"a":1}', key: 'in.ner' },
    { kind: 'overwrite-payload', which: all, payload: '{"b":2}' },
    { kind: 'delete-payload', which: all, keys: ['x', 'y.z'] },
    { kind: 'clear-payload', which: all },
    { kind: 'delete', which: { ids: [1] } },
    { kind: 'delete', which: all },
  ]);
  const { operations } = calls.at(-1)!.body as { operations: Record<string, Record<string, unknown>>[] };
  const filter = { must: [{ key: 'g', match: { value: generation } }] };
  const [byId] = operations;
  const condition = byId!.set_payload!.filter as { must: { has_id: string[] }[] };
  const ids = condition.must[1]!.has_id;
  assert.deepEqual(operations, [
    { set_payload: { payload: { a: 1 }, key: 'p', filter: { must: [...filter.must, { has_id: ids }] } } },
    { set_payload: { payload: { a: 1 }, key: 'p.in.ner', filter } },
    { set_payload: { payload: { p: { b: 2 } }, filter } },
    { delete_payload: { keys: ['p.x', 'p.y.z'], filter } },
    { delete_payload: { keys: ['p'], filter } },
    { delete: { points: ids } },
    { delete: { filter } },
  ]);
});

test('vectors of points that do not exist are not updated, and nothing else of that call is done', async (t) => {
  const { store, calls } = await open(t, ({ path, body }) => {
    if (!path.endsWith('/points')) return null;
    const { ids } = body as { ids: string[] };
    return done(ids.slice(0, 1).map((id) => ({ id, payload: { id: 1 } })));
  });
  const update = { kind: 'update-vectors', ids: [1, 2, 3], vectors: new Float32Array(6) } as const;
  const failure = await failureOf(
    store.write(owner.tenant, 'docs', [{ kind: 'upsert', points: batch([3], [null]) }, update]),
  );
  assert.deepEqual(failure, { kind: 'not-found', message: 'No point with id 2 exists.' });
  assert.ok(calls.every(({ path }) => !path.includes('/points/batch')));
});

test("a page ends where the caller's next one begins, whatever ids Qdrant has", async (t) => {
  const { store, calls } = await open(t, ({ path }) =>
    path.endsWith('/scroll')
      ? done({
          points: [9, 4, uuid].map((id) => ({
            id: '00000000-0000-5000-8000-000000000000',
            payload: { id, p: { id } },
          })),
          next_page_offset: '00000000-0000-5000-8000-00000000000f',
        })
      : null,
  );
  const page = await store.scroll(owner.tenant, 'docs', {
    filter: null,
    limit: 2,
    offset: 9,
    orderBy: null,
    want: { payload: true, vector: false },
  });
  assert.deepEqual(page, {
    points: [
      { id: 9, payload: { id: 9 } },
      { id: 4, payload: { id: 4 } },
    ],
    next: uuid,
  });
  const asked = calls[0]!.body as Record<string, unknown>;
  assert.equal(asked.limit, 3);
  assert.match(String(asked.offset), /-5[0-9a-f]{3}-/);
  assert.deepEqual(asked.with_payload, ['id', 'p']);
});

const newest = {
  filter: null,
  limit: 2,
  offset: null,
  orderBy: { key: 'at', direction: 'desc', startFrom: null },
  want: { payload: false, vector: false },
} as const;

test('of points in order only those are sent that may still stand among the first', async (t) => {
  const pages = [[5, '1970-01-01T00:00:00.000003Z', 9], [7]];
  const { store, calls, generation } = await open(t, ({ path }, number) =>
    path.endsWith('/scroll')
      ? done({
          points: (pages[number - 1] ?? []).map((at, id) => ({ payload: { id: number * 10 + id, p: { at } } })),
          next_page_offset: number === 1 ? '00000000-0000-5000-8000-00000000000f' : null,
        })
      : null,
  );
  const { points } = await store.scroll(owner.tenant, 'docs', newest);
  assert.deepEqual(
    points.map(({ orderValue }) => orderValue),
    [9, 7],
  );
  const mine = { key: 'g', match: { value: generation } };
  assert.deepEqual(
    calls.map(({ body }) => (body as { filter: unknown; with_payload: unknown; offset?: unknown }).filter),
    [
      {
        must: [
          mine,
          {
            should: [
              { key: 'p.at', range: {} },
              { key: 'p.at', range: { gte: '0000-01-01T00:00:00.000Z' } },
            ],
          },
        ],
      },
      {
        must: [
          mine,
          {
            should: [
              { key: 'p.at', range: { gt: 5 } },
              { key: 'p.at', range: { gt: '1970-01-01T00:00:00.000005Z' } },
            ],
          },
        ],
      },
    ],
  );
  assert.deepEqual((calls[1]!.body as Record<string, unknown>).with_payload, ['id', 'p."at"']);
});

test('a call that would read points for ever ends with 400, be it an order, facets or a batch of orders', async (t) => {
  const clocks: { advance(ms: number): void }[] = [];
  const { store, clock, calls } = await open(t, ({ path }) => {
    if (!path.endsWith('/scroll')) return null;
    clocks[0]!.advance(9_000);
    return done({ points: [], next_page_offset: '00000000-0000-5000-8000-00000000000f' });
  });
  clocks.push(clock);
  const target = { kind: 'order-by', order: newest.orderBy } as const;
  const query = { target, filter: null, limit: 2, offset: 0, scoreThreshold: null, exact: false, want };
  const asked = [
    () => store.scroll(owner.tenant, 'docs', newest),
    () => store.facet(owner.tenant, 'docs', { key: 'at', filter: null, limit: 2 }),
    () => store.query(owner.tenant, 'docs', [query, query, query]),
  ];
  for (const ask of asked) {
    calls.length = 0;
    const failure = await failureOf(ask());
    assert.equal(failure.kind, 'invalid-request');
    assert.match('message' in failure ? failure.message : '', /more than 30 s.*Add a filter/);
    assert.equal(calls.length, 4);
  }
});

test('pages are as large as their values allow', async (t) => {
  const lengths = [400, 40_000, 4];
  const { store, calls } = await open(t, ({ path, body }, number) =>
    path.endsWith('/scroll')
      ? done({
          points: Array.from({ length: (body as { limit: number }).limit }, (_, id) => ({
            payload: { id, p: { at: 'x'.repeat(lengths[number - 1] ?? 1) } },
          })),
          next_page_offset: number <= lengths.length ? '00000000-0000-5000-8000-00000000000f' : null,
        })
      : null,
  );
  const facets = await store.facet(owner.tenant, 'docs', { key: 'at', filter: null, limit: 9 });
  const limits = calls.map(({ body }) => (body as { limit: number }).limit);
  assert.deepEqual(limits.slice(0, 2), [100, 1_000]);
  assert.ok(limits[2]! > 90 && limits[2]! < 120, `${limits[2]}`);
  assert.equal(limits[3], limits[2]! * 10);
  assert.equal(facets.length, 4);
});

test('few scans go on at one time, and the next is another tenant’s', async (t) => {
  let atOnce = 0;
  let most = 0;
  const { store, calls } = await open(t, ({ path }) => {
    if (!path.endsWith('/scroll')) return null;
    atOnce += 1;
    most = Math.max(most, atOnce);
    return done({ points: [], next_page_offset: null });
  });
  await store.create({ tenant: 'beta/key', account: 'beta' }, spec);
  calls.length = 0;
  const ask = (tenant: string) =>
    store.facet(tenant, 'docs', { key: 'at', filter: null, limit: 9 }).finally(() => {
      atOnce -= 1;
    });
  const mine = Array.from({ length: 12 }, () => ask(owner.tenant));
  const theirs = ask('beta/key');
  await Promise.all([...mine, theirs]);
  assert.ok(most <= 4, `${most} at once`);
  const filters = calls.map(({ body }) => JSON.stringify(body));
  const place = filters.findIndex((text) => text !== filters[0]);
  assert.ok(place >= 0 && place <= 4, `${place}`);
});

test('an order reaches so many points and no more', async (t) => {
  const { store } = await open(t);
  const target = { kind: 'order-by', order: newest.orderBy } as const;
  const query = { target, filter: null, limit: 2, offset: 0, scoreThreshold: null, exact: false, want };
  assert.deepEqual(await failureOf(store.query(owner.tenant, 'docs', [{ ...query, offset: 200_000 }])), {
    kind: 'invalid-request',
    param: 'offset',
    message: 'offset: with limit, an order by a key reaches 200000 points; go on with order_by.start_from',
  });
});

test("parts of a payload are asked for by the caller's paths, the caller's id always", async (t) => {
  const { store, calls } = await open(t);
  const wants = [
    { payload: false, vector: false },
    { payload: { include: ['a.b'] }, vector: true },
    { payload: { exclude: ['c'] }, vector: false },
  ] as const;
  for (const one of wants) await store.retrieve(owner.tenant, 'docs', [1], one);
  assert.deepEqual(
    calls.map(({ body }) => (body as Record<string, unknown>).with_payload),
    [['id'], ['id', 'p.a.b'], { exclude: ['g', 'p.c'] }],
  );
});

test('a query by a point that does not exist names it as the caller does', async (t) => {
  const { store } = await open(t, ({ path }) =>
    path.includes('/points/query') ? refused(404, 'Not found: No point with id 0000-internal found') : null,
  );
  const query = {
    target: { kind: 'nearest', vector: { id: 12 }, mmr: null },
    filter: null,
    limit: 3,
    offset: 0,
    scoreThreshold: null,
    exact: false,
    want,
  } as const;
  assert.deepEqual(await failureOf(store.query(owner.tenant, 'docs', [query])), {
    kind: 'not-found',
    message: 'No point with id 12 exists.',
  });
});

test("Qdrant's complaint about a call is the caller's 400, without the names that things have there", async (t) => {
  let generation = '';
  const { store, ...opened } = await open(t, ({ path }) =>
    path.endsWith('/count') ? refused(400, `Bad request: p.city is odd under ${generation}`) : null,
  );
  generation = opened.generation;
  const failure = await failureOf(store.count(owner.tenant, 'docs', null));
  assert.deepEqual(failure, {
    kind: 'invalid-request',
    param: null,
    message: 'Qdrant refused the call: Bad request: city is odd under …',
  });
});

test('a Qdrant collection that somebody deleted is 503 naming it, and never made anew in silence', async (t) => {
  let gone = false;
  const { store, calls } = await open(t, ({ path }) => {
    if (!gone) return null;
    return path.endsWith('/exists') ? done({ exists: false }) : refused(404, "Not found: Collection doesn't exist!");
  });
  gone = true;
  const failure = await failureOf(store.count(owner.tenant, 'docs', null));
  assert.equal(failure.kind, 'overloaded');
  assert.match('message' in failure ? failure.message : '', /culvert_2_cosine is missing/);
  assert.ok(calls.every(({ method }) => method !== 'PUT'));
});

test('an answer that Qdrant never gives is 503, and says so', async (t) => {
  const { store } = await open(t, ({ path }) => {
    if (path.endsWith('/points/count')) return done({ count: 'many' });
    return path.endsWith('/points') ? done([{ id: 1, vector: [1, 0], payload: {} }]) : null;
  });
  const message = 'The vector store cannot serve right now, because Qdrant sent an unknown answer. Retry it.';
  for (const call of [
    () => store.count(owner.tenant, 'docs', null),
    () => store.retrieve(owner.tenant, 'docs', [1], want),
  ])
    assert.deepEqual(await failureOf(call()), { kind: 'overloaded', message });
});

test('a read whose connection breaks is asked once more, a write is not', async (t) => {
  let broken = 1;
  const { store, calls } = await open(t, ({ path }) =>
    (path.endsWith('/count') || path.includes('/batch')) && broken-- > 0 ? 'reset' : null,
  );
  assert.equal(await store.count(owner.tenant, 'docs', null), 0);
  assert.equal(calls.length, 2);
  broken = 2;
  assert.equal((await failureOf(store.count(owner.tenant, 'docs', null))).kind, 'overloaded');
  assert.equal(calls.length, 4);
  broken = 1;
  const write = store.write(owner.tenant, 'docs', [{ kind: 'upsert', points: batch([7], [null]) }]);
  assert.equal((await failureOf(write)).kind, 'overloaded');
  assert.equal(calls.length, 5);
});

const outages: readonly [string, QdrantReply, RegExp][] = [
  ['refuses our key', { status: 401, body: 'Must provide an API key' }, /refuses the key of vectors\.api_key/],
  ['is limited', refused(429, 'Rate limiting exceeded'), /HTTP 429/],
  ['fails', refused(500, 'Service internal error'), /HTTP 500/],
  ['is a page of a proxy', { status: 200, body: '<html>' }, /HTTP 200/],
];
for (const [name, reply, message] of outages) {
  test(`a Qdrant that ${name} is 503 and told to the operator, without secrets`, async (t) => {
    let failing = false;
    const { store } = await open(t, () => (failing ? reply : null));
    assert.equal(await store.trouble(), null);
    failing = true;
    const failure = await failureOf(store.count(owner.tenant, 'docs', null));
    assert.equal(failure.kind, 'overloaded');
    assert.match('message' in failure ? failure.message : '', message);
    assert.doesNotMatch(JSON.stringify(failure), /qdrant-secret|127\.0\.0\.1/);
    assert.match((await store.trouble()) ?? '', message);
  });
}

test('a Qdrant that cannot be reached, or says nothing in time, is 503', async (t) => {
  const { registry } = await open(t);
  const silent = await startScriptedQdrant(t, () => 'silence');
  for (const [url, words] of [
    ['http://127.0.0.1:1', /cannot be reached: .*\(ECONNREFUSED\)/],
    [silent.url, /did not answer in time/],
  ] as const) {
    const store = createQdrantStore({
      url,
      apiKey: null,
      registry,
      clock: fakeClock(),
      limits: { collectionsPerAccount: 2 },
      onTrouble: () => {},
      timeouts: { readMs: 50, writeMs: 50 },
    });
    const failure = await failureOf(store.count(owner.tenant, 'docs', null));
    assert.equal(failure.kind, 'overloaded');
    assert.match('message' in failure ? failure.message : '', words);
    await store.close();
  }
});

test('points of a dropped collection are deleted until it worked, and again for writes that came late', async (t) => {
  let works = false;
  const { store, calls, clock, generation, troubles } = await open(t, ({ path }) =>
    path.includes('/points/delete') && !works ? refused(500, 'no') : null,
  );
  const filter = { must: [{ key: 'g', match: { value: generation } }] };
  const deletions = () => calls.filter(({ path }) => path.includes('/points/delete'));
  await store.drop(owner.tenant, 'docs');
  await store.deletions.run();
  assert.equal(deletions().length, 1);
  assert.deepEqual(deletions()[0]?.body, { filter });
  assert.equal(await store.deletions.run(), 0, 'not at once again');
  for (let at = 0; at < 3; at += 1) {
    clock.advance(3_600_000);
    assert.equal(await store.deletions.run(), 1);
  }
  assert.deepEqual(troubles.length, 1, 'the operator hears of it once');
  works = true;
  clock.advance(3_600_000);
  assert.equal(await store.deletions.run(), 1);
  clock.advance(3_600_000);
  assert.equal(await store.deletions.run(), 0, 'it worked long after the last write can have come');

  await store.create(owner, spec);
  await store.drop(owner.tenant, 'docs');
  await store.deletions.run();
  assert.equal(deletions().length, 6);
  clock.advance(119_999);
  assert.equal(await store.deletions.run(), 0);
  clock.advance(1);
  assert.equal(await store.deletions.run(), 1);
  clock.advance(3_600_000);
  assert.equal(await store.deletions.run(), 0);
});

test('an upsert larger than one request is sent in several, in order', async (t) => {
  const { store, calls } = await open(t);
  const payload = JSON.stringify({ text: 'x'.repeat(6 * 1024 * 1024) });
  const ids = [1, 2, 3, 4, 5];
  await store.write(owner.tenant, 'docs', [
    {
      kind: 'upsert',
      points: batch(
        ids,
        ids.map(() => payload),
      ),
    },
    { kind: 'delete', which: { ids: [1] } },
  ]);
  const sent = calls.map(({ body }) =>
    (body as { operations: Record<string, { points: { payload: { id: number } }[] }>[] }).operations.map((operation) =>
      operation.upsert === undefined ? Object.keys(operation)[0] : operation.upsert.points.map((one) => one.payload.id),
    ),
  );
  assert.deepEqual(sent, [[[1, 2]], [[3, 4]], [[5], 'delete']]);
});

test('an account has no more collections than it may, and the same words for every engine', async (t) => {
  const { store } = await open(t);
  await store.create(owner, { ...spec, name: 'two' });
  const failures = [
    await failureOf(store.create(owner, { ...spec, name: 'three' })),
    await failureOf(store.create(owner, spec)),
    await failureOf(store.count('acme/phone', 'docs', null)),
    await failureOf(store.count('acme/phone', 'none', null)),
  ];
  assert.deepEqual(
    failures.map(({ kind }) => kind),
    ['invalid-request', 'conflict', 'not-found', 'not-found'],
  );
});

test("S40 a tenant's request goes to Qdrant although another's many fill what one may have", async (t) => {
  let held = 0;
  let hanging: string | null = null;
  const { store, generation } = await open(t, ({ path, body }) => {
    const isIts = hanging !== null && JSON.stringify(body ?? '').includes(hanging);
    if (!path.endsWith('/points/count') || !isIts) return null;
    held += 1;
    return 'silence';
  });
  hanging = generation;
  const quiet = { tenant: 'beta/key', account: 'beta' };
  await store.create(quiet, spec);
  const all = Array.from({ length: 64 }, () => failureOf(store.count(owner.tenant, 'docs', null)));
  while (held < 30) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await store.count(quiet.tenant, 'docs', null), 0);
  assert.equal(held, 30);
  await store.close();
  for (const { kind } of await Promise.all(all)) assert.equal(kind, 'overloaded');
});
