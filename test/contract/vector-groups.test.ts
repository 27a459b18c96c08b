import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherKey, type startGateway, testKey } from '../start-gateway.ts';
import { vectorEngines } from '../vector-engines.ts';

type Test = Parameters<typeof startGateway>[0];

for (const [engine, open] of Object.entries(vectorEngines)) {
  const world = async (t: Test) => {
    const gateway = await open(t);
    const call = async (method: string, path: string, json?: unknown, key = testKey) => {
      const answer = await fetch(`${gateway.url}/v1/vectors${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const body = (await answer.json()) as { result: never; error?: { message: string; param: string } };
      return { status: answer.status, body };
    };
    const make = async (name: string, points: unknown) => {
      assert.equal((await call('PUT', `/collections/${name}`, { vectors: { size: 2, distance: 'Dot' } })).status, 200);
      assert.equal((await call('PUT', `/collections/${name}/points`, { points })).status, 200);
    };
    return { call, make };
  };

  test(`${engine}: each group stands with the point of its id in another collection`, async (t) => {
    const { call, make } = await world(t);
    const chunk = (id: number, document: unknown) => ({ id, vector: [1, id / 100], payload: { document } });
    await make('chunks', [chunk(1, 7), chunk(2, 7), chunk(3, 8), chunk(4, 'no id')]);
    await make('documents', [{ id: 7, vector: [3, 4], payload: { title: 'seven', text: 'long' } }]);
    const groups = async (with_lookup: unknown) => {
      const asked = { query: [1, 1], group_by: 'document', group_size: 1, with_lookup };
      return call('POST', '/collections/chunks/points/query/groups', asked);
    };
    const seven = { id: 7, payload: { title: 'seven', text: 'long' } };
    const whole = (await groups('documents')).body.result as { groups: { id: unknown; lookup?: unknown }[] };
    assert.deepEqual(
      whole.groups.map(({ id, lookup }) => [id, lookup]),
      [
        ['no id', undefined],
        [8, undefined],
        [7, seven],
      ],
    );
    const part = { collection: 'documents', with_payload: ['title'], with_vectors: true };
    const { groups: cut } = (await groups(part)).body.result as { groups: { lookup?: unknown }[] };
    assert.deepEqual(cut[2]!.lookup, { id: 7, payload: { title: 'seven' }, vector: [3, 4] });
    assert.equal((await groups('nowhere')).status, 404);
    // Another key's collection is none.
    await call('PUT', '/collections/theirs', { vectors: { size: 2, distance: 'Dot' } }, otherKey);
    assert.equal((await groups('theirs')).status, 404);
  });

  test(`${engine}: a distance matrix has the nearest of each point among those that were taken`, async (t) => {
    const { call, make } = await world(t);
    const points = [
      { id: 3, vector: [0, 1], payload: { of: 'us' } },
      { id: 1, vector: [1, 0], payload: { of: 'us' } },
      { id: 2, vector: [2, 1], payload: { of: 'us' } },
      { id: 4, vector: [9, 9], payload: { of: 'them' } },
    ];
    await make('docs', points);
    const filter = { must: [{ key: 'of', match: { value: 'us' } }] };
    const ask = (form: string, body: object) => call('POST', `/collections/docs/points/search/matrix/${form}`, body);
    assert.deepEqual((await ask('pairs', { filter, sample: 10, limit: 1 })).body.result, {
      pairs: [
        { a: 1, b: 2, score: 2 },
        { a: 2, b: 1, score: 2 },
        { a: 3, b: 2, score: 1 },
      ],
    });
    assert.deepEqual((await ask('offsets', { filter, sample: 10, limit: 2 })).body.result, {
      offsets_row: [0, 0, 1, 1, 2, 2],
      offsets_col: [1, 2, 0, 2, 1, 0],
      scores: [2, 0, 2, 1, 1, 0],
      ids: [1, 2, 3],
    });
    const two = (await ask('pairs', { sample: 2, limit: 5 })).body.result as { pairs: unknown[] };
    assert.equal(two.pairs.length, 2);
    const refusals: [object, string][] = [
      [{ using: 'title' }, 'using'],
      [{ sample: 1_001 }, 'sample'],
      [{ sample: 1_000, limit: 1_000 }, 'limit'],
      [{ samples: 1 }, 'body'],
    ];
    for (const [body, param] of refusals) {
      const { status, body: refused } = await ask('pairs', body);
      assert.deepEqual([status, refused.error?.param], [400, param]);
    }
  });
}
