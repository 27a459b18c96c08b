import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as pause } from 'node:timers/promises';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { until } from '../../../../test/until.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { createStorageBook } from './storage-book.ts';
import type { StoredChange } from './storage-counts.ts';
import { createStorageHolds } from './storage-hold.ts';

test('what went since the last measure counts no more, before anybody is refused for a byte over the limit', async () => {
  const clock = fakeClock();
  let pageBytes = 900;
  const book = createStorageBook({
    allowed: () => 1_000,
    vectors: async () => 0,
    uploads: () => 0,
    measure: async () => [{ account: 'a', kind: 'pages', bytes: pageBytes }],
    room: { refusal: () => null, taken() {} },
    others: null,
    clock,
  });
  assert.equal(await book.mayKeep('a'), null);
  book.add('a', 'pages', 200);
  const refused = await book.mayKeep('a');
  assert.ok(refused?.kind === 'quota-exceeded' && refused.used === 1_100, 'what came counts at once');
  pageBytes = 0;
  assert.notEqual(await book.mayKeep('a'), null, 'it is not measured at every refusal');
  clock.advance(5_001);
  assert.equal(await book.mayKeep('a'), null);
  const write = async () => true;
  assert.equal(await book.keep('a', 'pages', 1_000, write), true, 'up to the last byte');
  await assert.rejects(book.keep('a', 'pages', 1, write), { name: 'FailureError' });
});

test('bytes that come slowly find the room that others have made by deletions; without a limit nobody is asked', async () => {
  const clock = fakeClock();
  let measures = 0;
  let pageBytes = 900;
  const book = createStorageBook({
    allowed: (account) => (account === 'a' ? 1_000 : null),
    vectors: async () => 0,
    uploads: () => 0,
    async measure() {
      measures += 1;
      await pause();
      return [{ account: 'a', kind: 'pages', bytes: pageBytes }];
    },
    room: { refusal: () => null, taken() {} },
    others: null,
    clock,
  });
  assert.equal(await book.mayKeep('a'), null);
  pageBytes = 0;
  clock.advance(5_001);
  const free = await book.hold('b');
  assert.ok('grow' in free);
  assert.equal(free.grow(1e12), null);
  assert.equal(measures, 1);
  const hold = await book.hold('a');
  assert.ok('grow' in hold);
  assert.equal(hold.grow(1_000), null);
  assert.notEqual(hold.grow(1), null);
});

test('changes of other processes count at once, and only once where a measure has them', async () => {
  const clock = fakeClock();
  let stored = 0;
  let take: (changes: readonly StoredChange[]) => void = () => {};
  const sent: StoredChange[] = [];
  const book = createStorageBook({
    allowed: () => 1_000,
    vectors: async () => null,
    uploads: () => 0,
    measure: async () => [{ account: 'a', kind: 'files', bytes: stored }],
    room: { refusal: () => null, taken() {} },
    others: {
      elsewhere: { held: (name) => (name === 'storage of b' ? 1_000 : 0), report() {} },
      shareStored(taking) {
        take = taking;
        return (changes) => sent.push(...changes);
      },
    },
    clock,
  });
  stored = 600;
  const before = { account: 'a', kind: 'files', bytes: 600, atMs: clock.wallMs() } as const;
  clock.advance(1);
  assert.equal((await book.usage('a')).usedBytes, 600);
  take([before]);
  assert.equal((await book.usage('a')).usedBytes, 600, 'the measure has it already');
  take([{ ...before, bytes: 300, atMs: clock.wallMs() }]);
  assert.equal((await book.usage('a')).usedBytes, 900);
  await assert.rejects(
    book.keep('a', 'files', 200, async () => {}),
    /Storage limit reached/,
  );
  assert.notEqual(await book.mayKeep('b'), null, 'what arrives at another process counts');
  await book.keep('a', 'files', 50, async () => {});
  book.add('a', 'files', -20);
  await until('others learn of it', async () => sent.length === 2);
  assert.deepEqual(
    sent.map(({ bytes }) => bytes),
    [50, -20],
  );
});

test('work whose bytes are known at its end holds what it expects, and another one finds no room beside it', () => {
  const holds = createStorageHolds(() => 100, null);
  const full = (bytes: number): Failure | null => (bytes > 100 ? { kind: 'overloaded', message: `${bytes}` } : null);
  const [one, other] = [holds.open('a', full), holds.open('a', full)];
  assert.equal(one.expect(100), null);
  assert.equal(other.expect(1)?.kind, 'overloaded');
  assert.equal(holds.bytes('a'), 100, 'the refused one holds nothing');
  one.stored(40);
  assert.equal(holds.bytes('a'), 60);
  assert.equal(other.expect(30), null);
  one.release();
  assert.equal(holds.bytes('a'), 30);
});
