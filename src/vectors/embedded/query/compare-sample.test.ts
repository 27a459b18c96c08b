import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  alice,
  ask,
  bob,
  near,
  spec,
  temporaryStore,
  upsert,
} from '../../../../test/fixtures/temporary-vector-store.ts';
import { seededRandom } from '../../../kernel/random.ts';
import type { Distance } from '../../collection.ts';
import { neighboursBySearch } from '../../neighbours-by-search.ts';
import type { VectorStore } from '../../vector-store.ts';
import { callBounds } from '../call-bounds.ts';
import type { EmbeddedOptions } from '../embedded-store.ts';

const random = seededRandom(5);

async function filled(
  t: TestContext,
  size: number,
  count: number,
  distance: Distance,
  options: Partial<EmbeddedOptions> = {},
): Promise<VectorStore> {
  const { store } = temporaryStore(t, options);
  await store.create(alice, spec('docs', size, { distance }));
  for (let from = 0; from < count; from += 100) {
    const ids = Array.from({ length: Math.min(100, count - from) }, (_, at) => from + at);
    // Small whole numbers: some points are equally near.
    const vectorOf = () => Array.from({ length: size }, () => Math.floor(random.next() * 5) - 2);
    await store.write('alice', 'docs', [upsert(...ids.map((id): [number, number[]] => [id, vectorOf()]))]);
  }
  return store;
}

for (const distance of ['Cosine', 'Dot', 'Euclid', 'Manhattan'] as const) {
  test(`pairs of a sample have the scores and the order that searches give (${distance})`, async (t) => {
    const store = await filled(t, 6, 150, distance);
    const asked = { filter: null, sample: 150, limit: 7, using: '' };
    const searched = await neighboursBySearch((queries) => store.query('alice', 'docs', queries), asked);
    assert.equal(searched.nearest.flat().length, 150 * 7);
    assert.deepEqual(await store.neighbours('alice', 'docs', asked), searched);
  });
}

test('vectors that are too large to be in memory together are compared all the same', async (t) => {
  // 32 of these are in memory at a time.
  const store = await filled(t, 65_536, 40, 'Dot');
  const asked = { filter: null, sample: 40, limit: 200, using: '' };
  const { ids, nearest } = await store.neighbours('alice', 'docs', asked);
  assert.deepEqual(
    nearest.map((found) => found.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b))),
    ids.map((id) => ids.filter((other) => other !== id)),
  );
  for (const row of [0, 31, 32, 39]) {
    const target = { kind: 'nearest', vector: { id: ids[row]! }, mmr: null } as const;
    const [hits] = await store.query('alice', 'docs', [ask(target, { limit: 200, exact: true })]);
    assert.deepEqual(nearest[row], hits);
  }
});

test('a sample that takes too long to compare is refused, and names the number that fits', async (t) => {
  const bounds = { ...callBounds, comparedWork: 20_000 };
  const store = await filled(t, 100, 25, 'Dot', { bounds });
  const asked = { filter: null, sample: 20, limit: 1, using: '' };
  assert.equal((await store.neighbours('alice', 'docs', asked)).ids.length, 20);
  await assert.rejects(store.neighbours('alice', 'docs', { ...asked, sample: 1_000 }), {
    failure: {
      kind: 'invalid-request',
      param: 'sample',
      message: 'sample: at most 20 points of 100 numbers are compared in one call, got 25',
    },
  });
});

test('a thousand points are compared in less than half the time of a search for each, and others are answered meanwhile', async (t) => {
  const store = await filled(t, 64, 1_000, 'Cosine');
  await store.create(bob, spec('docs', 2));
  await store.write('bob', 'docs', [upsert([1, [1, 0]])]);
  const asked = { filter: null, sample: 1_000, limit: 3, using: '' };
  const cpuOf = async (work: () => Promise<unknown>) => {
    const before = process.cpuUsage();
    await work();
    return process.cpuUsage(before).user / 1_000;
  };
  const searchedMs = await cpuOf(() => neighboursBySearch((queries) => store.query('alice', 'docs', queries), asked));
  const comparedMs = await cpuOf(() => store.neighbours('alice', 'docs', asked));
  assert.ok(comparedMs < searchedMs / 2, `${comparedMs} ms, a search for each ${searchedMs} ms`);
  let isCompared = false;
  const compared = store.neighbours('alice', 'docs', asked).finally(() => (isCompared = true));
  let answered = 0;
  while (!isCompared) {
    await store.query('bob', 'docs', [near([1, 0])]);
    await setImmediate();
    answered += 1;
  }
  await compared;
  assert.ok(answered > 3, `another tenant had ${answered} answers meanwhile`);
});
