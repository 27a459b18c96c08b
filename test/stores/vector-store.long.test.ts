import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distances } from '../../src/vectors/collection.ts';
import type { Filter } from '../../src/vectors/filter/filter.ts';
import { matches } from '../../src/vectors/filter/matches.ts';
import type { PointId } from '../../src/vectors/point.ts';
import type { Target } from '../../src/vectors/vector-store.ts';
import { realQdrantMissing, vectorDrivers } from './vector-drivers.ts';
import { filled, owner, points, spec, tenant, uuids } from './vector-points.ts';
import {
  everything,
  idsOnly,
  nearerFirst,
  plainScore,
  query,
  refusal,
  scrolledIds,
  sorted,
  type TestPoint,
  upsert,
  where,
} from './vector-suite.ts';

test('this suite runs over a real Qdrant, too', { skip: realQdrantMissing }, () => {
  assert.ok(vectorDrivers.some(({ name }) => name.includes('real Qdrant')));
});

for (const driver of vectorDrivers) {
  const { name } = driver;
  const has = (what: (typeof driver.unsupported)[number]) => !driver.unsupported.includes(what);

  test(`${name}: points come back as they were written, in the order asked for, as much of them as is wanted`, async (t) => {
    const store = await filled(await driver.open(t));
    assert.equal((await store.inspect(tenant, 'docs')).points, points.length);
    const ids = [7, uuids[0], 999, 3, 6] as const;
    const found = await store.retrieve(tenant, 'docs', ids, everything);
    const expected = ids.flatMap((id) => points.find((point) => point.id === id) ?? []);
    assert.deepEqual(
      found.map(({ id, payload, vector }) => ({ id, payload, vector: [...(vector ?? [])] })),
      expected.map(({ id, payload, vector }) => ({ id, payload, vector: [...vector] })),
    );
    assert.deepEqual(await store.retrieve(tenant, 'docs', [7], idsOnly), [{ id: 7 }]);
    const part = await store.retrieve(tenant, 'docs', [7], {
      payload: { include: ['n', 'deep.list[].b'] },
      vector: false,
    });
    assert.deepEqual(part, [{ id: 7, payload: { n: 7, deep: { list: [{ b: 1 }, {}] } } }]);
    const rest = await store.retrieve(tenant, 'docs', [7], { payload: { exclude: ['deep', 'tags'] }, vector: false });
    assert.deepEqual(rest, [{ id: 7, payload: { n: 7, city: 'Lima' } }]);
  });

  test(`${name}: an upsert replaces vector and payload whole, and a read right after it sees that`, async (t) => {
    const store = await filled(await driver.open(t));
    for (let at = 0; at < 5; at += 1) {
      await store.write(tenant, 'docs', [upsert([{ id: 7, vector: [at, 0, 0, 1], payload: { at } }])]);
      const [point] = await store.retrieve(tenant, 'docs', [7], everything);
      assert.deepEqual([point?.payload, [...(point?.vector ?? [])]], [{ at }, [at, 0, 0, 1]]);
    }
    assert.equal(await store.count(tenant, 'docs', null), points.length);
  });

  for (const distance of distances) {
    test(`${name}: ${distance} ranks and scores as Qdrant documents it`, async (t) => {
      const store = await driver.open(t);
      await store.create(owner, { ...spec, distance });
      await store.write(tenant, 'docs', [upsert(points)]);
      const asked = [0.3, -0.2, 0.9, 0.1];
      const ranked = points
        .map(({ id, vector }) => ({ id, score: plainScore(distance, asked, vector) }))
        .toSorted((a, b) => nearerFirst(distance)(a.score, b.score));
      const [found, paged, over] = await store.query(tenant, 'docs', [
        query(asked, { limit: 12 }),
        query(asked, { limit: 5, offset: 3, exact: true }),
        query(asked, { limit: 60, scoreThreshold: (ranked[9]!.score + ranked[10]!.score) / 2 }),
      ]);
      const ids = (rows: readonly { id: PointId }[] | undefined) => rows?.map(({ id }) => id);
      assert.deepEqual(ids(found), ids(ranked.slice(0, 12)));
      for (const [at, { score }] of (found ?? []).entries()) assert.ok(Math.abs(score - ranked[at]!.score) < 1e-5);
      assert.deepEqual(ids(paged), ids(ranked.slice(3, 8)));
      assert.deepEqual(ids(over), ids(ranked.slice(0, 10)));
    });
  }

  test(`${name}: a query by a point leaves that point out, and refuses one that does not exist`, async (t) => {
    const store = await filled(await driver.open(t));
    const target = (id: PointId): Target => ({ kind: 'nearest', vector: { id }, mmr: null });
    const seed = points[9]!;
    const [found] = await store.query(tenant, 'docs', [query([], { target: target(9), limit: 5, want: everything })]);
    const expected = points
      .filter(({ id }) => id !== 9)
      .toSorted((a, b) => plainScore('Dot', seed.vector, b.vector) - plainScore('Dot', seed.vector, a.vector));
    assert.deepEqual(
      found?.map(({ id }) => id),
      expected.slice(0, 5).map(({ id }) => id),
    );
    assert.deepEqual(found?.[0]?.payload, expected[0]!.payload);
    assert.equal(await refusal(store.query(tenant, 'docs', [query([], { target: target(999) })])), 'not-found');
  });

  test(`${name}: points like some and unlike others are recommended, none of those named`, async (t) => {
    const store = await filled(await driver.open(t));
    for (const strategy of ['average_vector', 'best_score', 'sum_scores'] as const) {
      const target: Target = {
        kind: 'recommend',
        positive: [{ id: 3 }, { id: uuids[1] }, Float32Array.from([1, 0, 0, 0])],
        negative: [{ id: 4 }],
        strategy,
      };
      const [found] = await store.query(tenant, 'docs', [query([], { target, limit: 60 })]);
      const ids = found?.map(({ id }) => id) ?? [];
      assert.equal(ids.length, points.length - 3);
      assert.ok(![3, uuids[1], 4].some((id) => ids.includes(id)));
      const scores = found?.map(({ score }) => score) ?? [];
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
    }
    const positive = [{ id: 3 }, { id: 999 }];
    const unknown: Target = { kind: 'recommend', positive, negative: [], strategy: 'best_score' };
    assert.equal(await refusal(store.query(tenant, 'docs', [query([], { target: unknown })])), 'not-found');
  });

  test(`${name}: without a query come all points, or any of them`, async (t) => {
    const store = await filled(await driver.open(t));
    const [all, sample] = await store.query(tenant, 'docs', [
      query([], { target: { kind: 'all' }, limit: 100 }),
      query([], {
        target: { kind: 'sample' },
        limit: 5,
        filter: where({ must: { key: 'city', match: { value: 'Rome' } } }),
      }),
    ]);
    assert.deepEqual(sorted(all!.map(({ id }) => id)), sorted(points.map(({ id }) => id)));
    assert.equal(sample?.length, 5);
    assert.equal(new Set(sample?.map(({ id }) => id)).size, 5);
    const rome = points.filter(({ payload }) => payload?.city === 'Rome').map(({ id }) => id);
    assert.ok(sample?.every(({ id }) => rome.includes(id)));
  });

  const filters: readonly [string, unknown][] = [
    ['nothing asked', {}],
    ['a value', { must: { key: 'city', match: { value: 'Oslo' } } }],
    ['a flag', { must: { key: 'deep.on', match: { value: true } } }],
    ['any of some', { must: { key: 'city', match: { any: ['Oslo', 'Lima'] } } }],
    ['all but some', { must: { key: 'city', match: { except: ['Oslo', 'Lima'] } } }],
    ['the beginning of a text', { must: { key: 'city', match: { prefix: 'Li' } } }],
    ['a part of a text', { must: { key: 'city', match: { text: 'im' } } }],
    ['a range', { must: { key: 'n', range: { gt: 7, lte: 20.5 } } }],
    ['an element of an array', { must: { key: 'tags', match: { value: 't3' } } }],
    ['an integer is no text', { must: { key: 'tags[]', match: { value: 3 } } }],
    ['how many', { must: { key: 'tags', values_count: { lt: 1 } } }],
    ['empty', { must: { is_empty: { key: 'tags' } } }],
    ['null', { must: { is_null: { key: 'nothing' } } }],
    ['ids', { must: { has_id: [3, 999, uuids[1]] } }],
    ['not some ids', { must_not: { has_id: [3, uuids[1]] } }],
    [
      'one element has both',
      {
        must: {
          nested: {
            key: 'deep.list',
            filter: {
              must: [
                { key: 'a', match: { value: 1 } },
                { key: 'b', match: { value: 2 } },
              ],
            },
          },
        },
      },
    ],
    [
      'either',
      {
        should: [
          { key: 'n', range: { lt: 5 } },
          { key: 'deep.list[].b', match: { value: 2 } },
        ],
      },
    ],
    [
      'two of three',
      {
        min_should: {
          min_count: 2,
          conditions: [
            { key: 'n', range: { lt: 30 } },
            { key: 'city', match: { value: 'Rome' } },
            { key: 'deep.on', match: { value: false } },
          ],
        },
      },
    ],
    [
      'filters in filters',
      {
        must: [
          {
            should: [{ key: 'n', range: { gte: 50 } }, { must_not: { key: 'city', match: { any: ['Rome', 'Kyiv'] } } }],
          },
        ],
        must_not: { is_null: { key: 'nothing' } },
      },
    ],
    ['two tests of one key', { must: { key: 'n', match: { value: 3 }, range: { gt: 55 } } }],
    ['nobody', { must: { key: 'nowhere', match: { value: 1 } } }],
  ];

  test(`${name}: a filter lets through what it means, in searches, counts and pages`, async (t) => {
    const store = await filled(await driver.open(t));
    for (const [what, json] of filters) {
      const filter = where(json);
      const expected = sorted(
        points.filter(({ id, payload }) => matches(filter, { id, payload, hasVector: () => true })).map(({ id }) => id),
      );
      assert.equal(await store.count(tenant, 'docs', filter), expected.length, what);
      const [found] = await store.query(tenant, 'docs', [query([1, 0, 0, 0], { filter, limit: 100 })]);
      assert.deepEqual(sorted(found!.map(({ id }) => id)), expected, what);
      const asked = { filter, limit: 100, offset: null, orderBy: null, want: idsOnly };
      const page = await store.scroll(tenant, 'docs', asked);
      assert.deepEqual(sorted(page.points.map(({ id }) => id)), expected, what);
    }
  });

  test(`${name}: pages show every point once, also when the next page's first point is deleted meanwhile`, async (t) => {
    const store = await filled(await driver.open(t));
    for (const limit of [1, 7, 60, 100]) {
      const ids = await scrolledIds(store, tenant, 'docs', limit);
      assert.equal(ids.length, points.length);
      assert.deepEqual(sorted(ids), sorted(points.map(({ id }) => id)));
    }
    const ask = { filter: null, limit: 20, orderBy: null, want: idsOnly };
    const first = await store.scroll(tenant, 'docs', { ...ask, offset: null });
    await store.write(tenant, 'docs', [{ kind: 'delete', which: { ids: [first.next!] } }]);
    const second = await store.scroll(tenant, 'docs', { ...ask, offset: first.next, limit: 100 });
    const ids = [...first.points, ...second.points].map(({ id }) => id);
    assert.deepEqual(sorted(ids), sorted(points.map(({ id }) => id).filter((id) => id !== first.next)));
  });

  test(`${name}: points are deleted by id and by filter`, async (t) => {
    const store = await filled(await driver.open(t));
    await store.write(tenant, 'docs', [{ kind: 'delete', which: { ids: [3, 999, uuids[0]] } }]);
    assert.deepEqual(await store.retrieve(tenant, 'docs', [3, uuids[0]], idsOnly), []);
    assert.equal(await store.count(tenant, 'docs', null), 58);
    const filter = where({ must: { key: 'n', range: { gte: 10 } } });
    await store.write(tenant, 'docs', [{ kind: 'delete', which: { filter } }]);
    assert.deepEqual(
      sorted(await scrolledIds(store, tenant, 'docs', 100)),
      sorted(
        points
          .filter(({ id, payload }) => id !== 3 && id !== uuids[0] && !(Number(payload?.n) >= 10))
          .map(({ id }) => id),
      ),
    );
  });

  test(`${name}: a payload is set in part, overwritten, stripped and cleared, by ids and by filter`, async (t) => {
    const store = await filled(await driver.open(t), [
      { id: 1, vector: [1, 0, 0, 0], payload: { a: 1, deep: { x: 1, y: 2 } } },
      { id: 2, vector: [0, 1, 0, 0], payload: null },
      { id: 3, vector: [0, 0, 1, 0], payload: { keep: true } },
    ]);
    const shown = async () =>
      (await store.retrieve(tenant, 'docs', [1, 2, 3], { payload: true, vector: false })).map(({ payload }) => payload);
    const which = { ids: [1, 2] };
    const byFilter = { filter: where({ must: { key: 'deep.z', match: { value: 9 } } }) };
    await store.write(tenant, 'docs', [
      { kind: 'set-payload', which, payload: '{"b":[2]}', key: null },
      { kind: 'set-payload', which: { ids: [1] }, payload: '{"z":9}', key: 'deep' },
    ]);
    const third = { keep: true };
    assert.deepEqual(await shown(), [{ a: 1, b: [2], deep: { x: 1, y: 2, z: 9 } }, { b: [2] }, third]);
    await store.write(tenant, 'docs', [
      { kind: 'delete-payload', which: byFilter, keys: ['deep.x', 'a', 'none.at.all'] },
    ]);
    assert.deepEqual(await shown(), [{ b: [2], deep: { y: 2, z: 9 } }, { b: [2] }, third]);
    await store.write(tenant, 'docs', [{ kind: 'overwrite-payload', which: byFilter, payload: '{"only":{"this":1}}' }]);
    assert.deepEqual(await shown(), [{ only: { this: 1 } }, { b: [2] }, third]);
    await store.write(tenant, 'docs', [{ kind: 'clear-payload', which: { ids: [1, 999] } }]);
    const [cleared, second] = await shown();
    assert.deepEqual([Object.keys(cleared ?? {}), second], [[], { b: [2] }]);
    await store.write(tenant, 'docs', [
      { kind: 'set-payload', which: { ids: [1] }, payload: '{"again":1}', key: null },
    ]);
    assert.deepEqual((await shown())[0], { again: 1 });
  });

  test(`${name}: vectors are changed alone; an unknown point refuses the whole call`, async (t) => {
    const store = await filled(await driver.open(t));
    const vectors = Float32Array.from([9, 9, 9, 9, 8, 8, 8, 8]);
    await store.write(tenant, 'docs', [{ kind: 'update-vectors', ids: [3, uuids[0]], vectors }]);
    const [point] = await store.retrieve(tenant, 'docs', [3], everything);
    assert.deepEqual([point?.payload, [...(point?.vector ?? [])]], [points[3]!.payload, [9, 9, 9, 9]]);
    const before = await store.retrieve(tenant, 'docs', [3, 4], everything);
    const refused = [
      { kind: 'update-vectors', ids: [4, 999], vectors },
      { kind: 'set-payload', which: { ids: [4, 999] }, payload: '{"x":1}', key: null },
      { kind: 'overwrite-payload', which: { ids: [4, 999] }, payload: '{"x":1}' },
      { kind: 'delete-payload', which: { ids: [4, 999] }, keys: ['n'] },
    ] as const;
    for (const operation of refused) {
      const work = store.write(tenant, 'docs', [{ kind: 'delete', which: { ids: [3] } }, operation]);
      assert.equal(await refusal(work), 'not-found', operation.kind);
    }
    assert.deepEqual(await store.retrieve(tenant, 'docs', [3, 4], everything), before);
  });

  test(`${name}: operations of one call are done in order`, async (t) => {
    const store = await filled(await driver.open(t));
    const point: TestPoint = { id: 500, vector: [1, 1, 1, 1], payload: { v: 1 } };
    await store.write(tenant, 'docs', [
      { kind: 'delete', which: { filter: where({}) } },
      upsert([point]),
      { kind: 'set-payload', which: { ids: [500] }, payload: '{"w":2}', key: null },
      { kind: 'update-vectors', ids: [500], vectors: Float32Array.from([2, 2, 2, 2]) },
      upsert([{ ...point, id: 501 }]),
      { kind: 'delete', which: { ids: [501] } },
    ]);
    const page = await store.scroll(tenant, 'docs', {
      filter: null,
      limit: 9,
      offset: null,
      orderBy: null,
      want: everything,
    });
    assert.deepEqual(
      page.points.map(({ id, payload, vector }) => [id, payload, [...(vector ?? [])]]),
      [[500, { v: 1, w: 2 }, [2, 2, 2, 2]]],
    );
  });

  test(`${name}: vectors of another size than the collection's are refused, and nothing is written`, async (t) => {
    const store = await filled(await driver.open(t), points.slice(0, 3));
    const long = { id: 77, vector: [1, 2, 3, 4, 5], payload: null };
    assert.equal(await refusal(store.write(tenant, 'docs', [upsert([long])])), 'invalid-request');
    assert.equal(await refusal(store.query(tenant, 'docs', [query([1, 2])])), 'invalid-request');
    assert.equal(await store.count(tenant, 'docs', null), 3);
  });

  test(`${name}: groups are the best points of each value of a key, by their best`, async (t) => {
    const store = await filled(await driver.open(t), [
      { id: 1, vector: [1, 0, 0, 0], payload: { city: 'Rome' } },
      { id: 2, vector: [0.9, 0, 0, 0], payload: { city: ['Oslo', 'Rome'] } },
      { id: 3, vector: [0.8, 0, 0, 0], payload: { city: 'Rome' } },
      { id: 4, vector: [0.7, 0, 0, 0], payload: null },
      { id: 5, vector: [0.6, 0, 0, 0], payload: { city: 'Paris' } },
    ]);
    const { limit: _limit, offset: _offset, ...grouped } = query([1, 0, 0, 0]);
    const ask = async (filter: Filter | null, groups: number) => {
      const asked = { ...grouped, filter, groupBy: 'city', groups, groupSize: 2 };
      const found = await store.queryGroups(tenant, 'docs', asked);
      return found.map(({ id, hits }) => [id, ...hits.map((hit) => hit.id)]);
    };
    assert.deepEqual(await ask(null, 2), [
      ['Rome', 1, 2],
      ['Oslo', 2],
    ]);
    assert.deepEqual(await ask(where({ must_not: [{ has_id: [1, 2] }] }), 5), [
      ['Rome', 3],
      ['Paris', 5],
    ]);
  });

  test(`${name}: what it cannot do is 501, and is what it says that it cannot do`, async (t) => {
    const store = await filled(await driver.open(t));
    const asked = {
      'text-index': () => store.indexPayload(tenant, 'docs', 'city', 'text', { type: 'text', lowercase: true }),
    } satisfies Record<(typeof driver.unsupported)[number], () => Promise<unknown>>;
    for (const [what, ask] of Object.entries(asked)) {
      const expected = has(what as keyof typeof asked) ? 'nothing was refused' : 'unsupported';
      assert.equal(await refusal(ask()), expected, what);
    }
  });

  test(`${name}: settings and parameters of payload indexes are shown as they were given and changed`, async (t) => {
    const store = await driver.open(t);
    await store.create(owner, {
      ...spec,
      settings: { metadata: { team: 'search' }, vectors: { '': { on_disk: true } } },
    });
    await Promise.all(
      ['a', 'b', 'c'].map((key) => store.configure(tenant, 'docs', { metadata: { [key]: 1, team: null } })),
    );
    await store.configure(tenant, 'docs', { hnsw_config: { m: 8 } });
    const params = { type: 'integer', lookup: true, range: false };
    await store.indexPayload(tenant, 'docs', 'n', 'integer', params);
    await store.indexPayload(tenant, 'docs', 'city', 'keyword');
    const info = await store.inspect(tenant, 'docs');
    assert.deepEqual(info.settings, {
      metadata: { a: 1, b: 1, c: 1 },
      vectors: { '': { on_disk: true } },
      hnsw_config: { m: 8 },
    });
    assert.deepEqual(info.payloadSchema, {
      n: { type: 'integer', points: 0, params },
      city: { type: 'keyword', points: 0 },
    });
    assert.deepEqual((await store.find(tenant, 'docs'))?.settings, info.settings);
    await store.indexPayload(tenant, 'docs', 'n', null);
    assert.deepEqual(Object.keys((await store.inspect(tenant, 'docs')).payloadSchema), ['city']);
  });

  test(`${name}: nothing troubles it`, async (t) => {
    const store = await driver.open(t);
    assert.equal(await store.trouble(), null);
  });
}
