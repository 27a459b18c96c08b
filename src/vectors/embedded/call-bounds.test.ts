import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import {
  alice,
  everything,
  near,
  spec,
  temporaryStore,
  upsert,
} from '../../../test/fixtures/temporary-vector-store.ts';
import { FailureError } from '../../kernel/failure.ts';
import { readFilter } from '../filter/read-filter.ts';
import { pagesOf } from '../move-tenant.ts';
import { payloadCharsMax } from '../vector-refusals.ts';
import { callBounds } from './call-bounds.ts';
import { finish } from './index/resumable-steps.ts';
import { scoreByExamples } from './query/recommend-points.ts';

const answerBytes = 10_000;

/** Nine points of about 1,000 characters of payload each, where an answer may hold ten thousand. */
async function ninePoints(t: TestContext, size = 2) {
  const bounds = { ...callBounds, readChars: 30_000, answerBytes, changedPoints: 50, changedChars: 20_000 };
  const { store } = temporaryStore(t, { bounds });
  await store.create(alice, spec('docs', size));
  const text = 'x'.repeat(960);
  const vector = [1, ...new Array(size - 1).fill(0)];
  for (let id = 0; id < 9; id++) await store.write('alice', 'docs', [upsert([id, vector, { id, text }])]);
  return store;
}

const refused = (words: RegExp) => (error: unknown) => {
  assert(error instanceof FailureError && error.failure.kind === 'invalid-request', String(error));
  assert.match(error.failure.message, words);
  return true;
};

const whole = near([1, 0], { want: everything });

test('an answer that would be too large is refused while it is made, over all queries of a call', async (t) => {
  const store = await ninePoints(t);
  const tooLarge = refused(/larger than 10000 bytes: lower 'limit'/);
  assert.equal((await store.query('alice', 'docs', [whole]))[0]!.length, 9);
  await assert.rejects(store.query('alice', 'docs', [whole, whole]), tooLarge);
  await assert.rejects(store.retrieve('alice', 'docs', new Array(11).fill(3), everything), tooLarge);
});

test('vectors count, and of payloads what is wanted', async (t) => {
  const store = await ninePoints(t, 200);
  const query = near([1, ...new Array(199).fill(0)]);
  const wanting = (payload: boolean | { include: string[] }, vector: boolean) =>
    store.query('alice', 'docs', [{ ...query, want: { payload, vector } }]);
  assert.equal((await wanting({ include: ['id'] }, false))[0]!.length, 9);
  await assert.rejects(wanting(false, true), refused(/larger than 10000 bytes/));
});

test('payloads that are read and thrown away again are bounded too', async (t) => {
  const store = await ninePoints(t);
  const little = { ...whole, want: { payload: { include: ['id'] }, vector: false } };
  assert.equal((await store.query('alice', 'docs', [little, little, little])).length, 3);
  await assert.rejects(store.query('alice', 'docs', new Array(4).fill(little)), refused(/more than 30000 characters/));
});

test('whoever copies a collection gets pages that hold less than its bound, and every point', async (t) => {
  const store = await ninePoints(t);
  const pages: number[] = [];
  const bounded = {
    ...store,
    scroll: (...[tenant, name, query]: Parameters<typeof store.scroll>) =>
      store.scroll(tenant, name, { ...query, pageBytes: 4_000 }),
  };
  for await (const page of pagesOf(bounded, 'alice', 'docs', 256)) pages.push(page.length);
  assert.deepEqual(pages, [5, 4]);
});

test('a payload does not grow beyond its bound by small changes', async (t) => {
  const { store } = temporaryStore(t);
  await store.create(alice, spec('docs'));
  await store.write('alice', 'docs', [upsert([1, [1, 0], { text: 'x'.repeat(payloadCharsMax - 100) }])]);
  const payload = JSON.stringify({ more: 'y'.repeat(200) });
  const grow = { kind: 'set-payload', which: { ids: [1] }, payload, key: null } as const;
  await assert.rejects(store.write('alice', 'docs', [grow]), refused(/that of point 1 would have/));
});

test('one short call does not write more than its bound, and nothing of what goes beyond', async (t) => {
  const store = await ninePoints(t);
  const payload = JSON.stringify({ text: 'y'.repeat(1_000) });
  const change = { kind: 'overwrite-payload', which: { filter: readFilter({}, 'filter') }, payload } as const;
  await assert.rejects(
    store.write('alice', 'docs', new Array(3).fill(change)),
    refused(/payloads of 20000 characters/),
  );
  const [first] = await store.retrieve('alice', 'docs', [1], everything);
  assert.equal(first!.payload!.id, 1);
});

test('a call of many operations does not change all points again and again', async (t) => {
  const store = await ninePoints(t);
  const clear = { kind: 'clear-payload', which: { filter: readFilter({}, 'filter') } } as const;
  await store.write('alice', 'docs', new Array(5).fill(clear));
  const refusal = refused(/at most 50 points, and counts a point each time/);
  await assert.rejects(store.write('alice', 'docs', new Array(6).fill(clear)), refusal);
  const remove = { kind: 'delete', which: { filter: readFilter({}, 'filter') } } as const;
  await assert.rejects(store.write('alice', 'docs', [...new Array(5).fill(clear), remove]), refusal);
  assert.equal(await store.count('alice', 'docs', null), 9);
});

test('holding many points against many examples is refused before it is begun', () => {
  const vector = { kind: 'dense', size: 1_024, distance: 'Cosine', embeddingModel: null } as const;
  const used = { spec: vector, count: () => 1_000_000 } as unknown as Parameters<typeof scoreByExamples>[1];
  const example = { vector: new Float32Array(1_024), slot: null };
  const examples = { positive: new Array(10).fill(example), negative: [] };
  const options = { k: 1, slots: null, leaveOut: new Set<number>() };
  assert.throws(
    () => finish(scoreByExamples({} as never, used, examples, 'best_score', options)),
    refused(/strategy: points × examples × vector size is at most 10000000000/),
  );
});

test('the bounds are those that docs/vectors.md names, and the bounds of answers hold the largest payload', () => {
  const docs = readFileSync(new URL('../../../docs/vectors.md', import.meta.url), 'utf8').replaceAll('\n  ', ' ');
  const millions = (count: number) => `${count / 1e6} million`;
  const mb = (bytes: number) => bytes / 1024 ** 2;
  for (const words of [
    `an answer of ${mb(callBounds.answerBytes)} MB, ${mb(callBounds.readChars) / 1024} GB of payloads`,
    `and ${callBounds.rowsMs / 1_000} s of reading every point`,
    `may take ${callBounds.comparedWork / 1e9} billion multiplications`,
    `may change or delete ${millions(callBounds.changedPoints)} points`,
    `changes may make ${mb(callBounds.changedChars)} million characters`,
  ])
    assert(docs.includes(words), words);
  assert(Math.min(callBounds.readChars, callBounds.answerBytes, callBounds.changedChars) > payloadCharsMax * 4);
});

test('a call that must read every point is refused when that takes too long, and columns are made however long it takes', async (t) => {
  let readings = 0;
  // Each look at the clock is a millisecond later: 400 rows take 400.
  const clock = { monotonicMs: () => readings++ };
  const { store } = temporaryStore(t, { clock, bounds: { ...callBounds, rowsMs: 300 } });
  await store.create(alice, spec('docs'));
  const text = (id: number) => `${'x'.repeat(600)} ${id}`;
  await store.write('alice', 'docs', [
    upsert(
      ...Array.from({ length: 400 }, (_, id) => [id, [1, id], { id, text: text(id) }] as [number, number[], object]),
    ),
  ]);
  const count = (json: unknown) => store.count('alice', 'docs', readFilter(json, 'filter'));
  const looked = { key: 'text', match: { text: ' 7' } };
  const tooLong = refused(/more than 0\.3 s, the longest time of a call/);
  await assert.rejects(count({ must: looked }), tooLong);
  await assert.rejects(
    store.query('alice', 'docs', [near([1, 0], { filter: readFilter({ must: looked }, '') })]),
    tooLong,
  );
  await assert.rejects(
    store.write('alice', 'docs', [{ kind: 'delete', which: { filter: readFilter({ must: looked }, '') } }]),
    tooLong,
  );
  // Each call of one commit has its time for itself: they read 50 points each.
  const removed = [10, 11, 12, 13, 14, 15, 16, 17].map((id) => {
    const must = [
      { key: 'text', match: { text: ` ${id}` } },
      { key: 'id', range: { lt: 50 } },
    ];
    return store.write('alice', 'docs', [{ kind: 'delete', which: { filter: readFilter({ must }, '') } }]);
  });
  await Promise.all(removed);
  assert.equal(await store.count('alice', 'docs', null), 392);
  assert.equal(await count({ must: { key: 'id', range: { lt: 200 } } }), 192);
  assert.equal(await count({ must: [looked, { key: 'id', range: { lt: 50 } }] }), 1);
});
