import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Failure } from '../kernel/failure.ts';
import { BodyPace, bodyParts, createBodyRoom } from './read-body.ts';

const kb = 1024;
const mb = 1024 * kb;

for (const { what, declaredBytes, sizes } of [
  { what: 'small', declaredBytes: 100, sizes: [100] },
  { what: 'of no declared length', declaredBytes: null, sizes: [64 * kb, 3 * mb, 1] },
  { what: 'that ends just after its memory is there', declaredBytes: mb + 2, sizes: [mb, 2] },
  { what: 'whose small chunks come first', declaredBytes: 8 * mb, sizes: [...same(kb, mb / kb), ...same(mb, 7)] },
  { what: 'whose large chunks come first', declaredBytes: 9 * mb, sizes: [...same(mb, 8), ...same(kb, mb / kb)] },
  { what: 'that was cut', declaredBytes: 8 * mb, sizes: [mb, 64 * kb, 64 * kb] },
]) {
  test(`a body ${what} is whole, in the order in which it came`, () => {
    const bytes = randomBytes(sizes.reduce((sum, size) => sum + size, 0));
    const parts = bodyParts(declaredBytes);
    for (const chunk of chunksOf(bytes, sizes)) parts.add(chunk);
    assert.ok(parts.whole().equals(bytes));
  });
}

test('memory that was given stays the giver\u2019s', () => {
  const given = Buffer.alloc(2 * mb);
  const parts = bodyParts(given.length, () => given);
  for (const chunk of chunksOf(randomBytes(given.length), [mb, mb])) parts.add(chunk);
  parts.giveBack();
  assert.equal(given.length, 2 * mb);
});

for (const { what, limitBytes, wholeMin } of [
  { what: 'ten minutes', limitBytes: 10 * mb, wholeMin: 10 },
  { what: 'as long as the largest takes at 64 KB/s', limitBytes: 64 * kb * 60 * 25, wholeMin: 25 },
]) {
  test(`a body may take ${what}, and is refused once`, (t) => {
    const { came, pass, refusals } = paced(t, limitBytes);
    for (let minutes = 0; minutes < wholeMin - 1; minutes += 0.5) {
      came(64 * kb);
      pass(30_000);
    }
    came(64 * kb);
    pass(59_000);
    assert.deepEqual(refusals(), []);
    came(64 * kb);
    pass(1_001);
    const message = `The request body took longer than ${wholeMin} min to arrive.`;
    assert.deepEqual(refusals(), [{ kind: 'request-timeout', message }]);
    pass(3_600_000);
    assert.equal(refusals().length, 1);
  });
}

test('a body that brings less than 64 KB in a minute is refused once; one that is there is not', (t) => {
  const { came, pass, refusals, pace } = paced(t, 10 * mb);
  came(64 * kb - 1);
  pass(30_000);
  came(1);
  pass(59_999);
  assert.deepEqual(refusals(), [], 'the minute begins anew with each 64 KB');
  came(64 * kb - 1);
  pass(1);
  assert.match(JSON.stringify(refusals()), /less than 64 KB in 60 s/);
  pass(3_600_000);
  assert.equal(refusals().length, 1);
  pace.end();

  const there = paced(t, 10 * mb);
  there.came(64 * kb);
  there.pace.end();
  there.pass(3_600_000);
  assert.deepEqual(there.refusals(), []);
});

/** A body of which no more comes than the test says, over a clock that stands still. */
function paced(t: TestContext, limitBytes: number) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] });
  const refused: Failure[] = [];
  const pace = new BodyPace({ complete: false }, limitBytes, (failure) => refused.push(failure));
  t.mock.timers.tick(0);
  return {
    pace,
    came: (bytes: number) => pace.came(bytes),
    pass: (ms: number) => t.mock.timers.tick(ms),
    refusals: () => refused,
  };
}

for (const { memory, processes, roomMb, accountMb } of [
  { memory: Number.POSITIVE_INFINITY, processes: 1, roomMb: 512, accountMb: 256 },
  { memory: 2 ** 64, processes: 1, roomMb: 512, accountMb: 256 },
  { memory: 1_024 * mb, processes: 1, roomMb: 128, accountMb: 64 },
  { memory: 1_024 * mb, processes: 2, roomMb: 64, accountMb: 32 },
  { memory: 496 * mb, processes: 1, roomMb: 40, accountMb: 32 },
  // The largest body.
  { memory: 256 * mb, processes: 2, roomMb: 32, accountMb: 32 },
]) {
  test(`bodies of ${processes} processes have ${roomMb} MB of a container of ${memory / mb} MB, and more are refused`, () => {
    const server = { body_memory: 512 * mb, body_limit: 32 * mb };
    const room = createBodyRoom({ current: { config: { server } } }, null, processes, memory);
    const one = room.hold('a');
    assert.equal(one.take(accountMb * mb), null);
    assert.notEqual(one.take(1), null);
    assert.equal(room.hold('b').take((roomMb - accountMb) * mb), null);
    assert.notEqual(room.hold('c').take(1), null);
  });
}

function same(size: number, count: number): number[] {
  return new Array<number>(count).fill(size);
}

/** Chunks as a socket gives them: each has separate memory. */
function* chunksOf(bytes: Buffer, sizes: readonly number[]): Iterable<Buffer> {
  let at = 0;
  for (const size of sizes) {
    const chunk = Buffer.allocUnsafeSlow(size);
    bytes.copy(chunk, 0, at, at + size);
    at += size;
    yield chunk;
  }
}
