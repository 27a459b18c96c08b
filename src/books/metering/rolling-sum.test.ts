import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RollingSum } from './rolling-sum.ts';
import { bucketAt, bucketLeavesAtMs, type Span, spans } from './window.ts';

const hourMs = 3_600_000;
const { week, month } = spans;

/** The same by remembering everything. */
function rememberAll(span: Span) {
  let counted: { bucket: number; amount: number }[] = [];
  const live = (nowMs: number) =>
    counted.filter(({ bucket, amount }) => amount > 0 && nowMs < bucketLeavesAtMs(span, bucket));
  return {
    add: (atMs: number, amount: number) => counted.push({ bucket: bucketAt(span, atMs), amount }),
    remove(countedMs: number, amount: number) {
      let left = amount;
      counted = counted.map((one) => {
        if (one.bucket !== bucketAt(span, countedMs)) return one;
        const taken = Math.min(left, one.amount);
        left -= taken;
        return { ...one, amount: one.amount - taken };
      });
    },
    used: (nowMs: number) => live(nowMs).reduce((sum, { amount }) => sum + amount, 0),
    leavesAtMs: (nowMs: number) =>
      live(nowMs)
        .map(({ bucket }) => bucketLeavesAtMs(span, bucket))
        .sort((a, b) => a - b)[0] ?? null,
    freeAtMs(nowMs: number, amount: number) {
      const now = live(nowMs);
      const used = now.reduce((sum, one) => sum + one.amount, 0);
      const instants = now.map(({ bucket }) => bucketLeavesAtMs(span, bucket)).sort((a, b) => a - b);
      return instants.find((atMs) => used - this.used(atMs) >= amount) ?? null;
    },
  };
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), amount: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('remove' as const),
      which: fc.nat(40),
      amount: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.oneof(fc.nat(3 * hourMs), fc.nat(200 * hourMs), fc.constantFrom(hourMs, 168 * hourMs, 169 * hourMs)),
    }),
  },
);

test('a week and a month over the same buckets are what remembering everything says', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const sum = new RollingSum(month, week);
      const models = [week, month].map((span) => ({ span, model: rememberAll(span) }));
      const added: number[] = [];
      let nowMs = 1_750_000_000_000;
      for (const one of steps) {
        if (one.do === 'pass') nowMs += one.ms;
        else if (one.do === 'add') {
          sum.add(nowMs, one.amount);
          for (const { model } of models) model.add(nowMs, one.amount);
          added.push(nowMs);
        } else if (added.length > 0) {
          const atMs = added[one.which % added.length]!;
          sum.remove(nowMs, atMs, one.amount);
          for (const { model, span } of models)
            if (nowMs < bucketLeavesAtMs(month, bucketAt(span, atMs))) model.remove(atMs, one.amount);
        }
        for (const { span, model } of models) {
          assert.equal(sum.usedAt(nowMs, span), model.used(nowMs), span.name);
          const state = { used: 0, leavesAtMs: null };
          sum.writeState(state, nowMs, span, 0);
          assert.deepEqual(state, { used: model.used(nowMs), leavesAtMs: model.leavesAtMs(nowMs) }, span.name);
          for (const amount of [1, 7, 30])
            assert.equal(sum.freeAtMs(nowMs, span, amount), model.freeAtMs(nowMs, amount), `${span.name} ${amount}`);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('what an earlier run counted is as if it were counted here, but for what is dead or yet to come', () => {
  const nowMs = 5_000 * hourMs;
  const sum = new RollingSum(month, week);
  for (const [bucket, amount] of [
    [5_000 - 721, 1],
    [5_000 - 720, 1],
    [5_000 - 720, 1],
    [5_000 - 169, 3],
    [5_000 - 169, 1],
    [5_000 - 168, 8],
    [5_000, 16],
    [5_000, 32],
    [5_001, 64],
  ] as const)
    sum.seed(nowMs, bucket, amount);
  assert.equal(sum.usedAt(nowMs, month), 2 + 4 + 8 + 16 + 32);
  assert.equal(sum.usedAt(nowMs, week), 8 + 16 + 32);
  sum.remove(nowMs, (5_000 - 169) * hourMs, 4);
  assert.equal(sum.usedAt(nowMs, month), 2 + 8 + 16 + 32);
  assert.equal(sum.usedAt(nowMs, week), 8 + 16 + 32);
  assert.equal(sum.usedAt(nowMs + hourMs, month), 8 + 16 + 32);
});

test('an amount that is no number is nothing', () => {
  const sum = new RollingSum(spans.minute);
  sum.add(1_000, Number.NaN);
  sum.add(1_000, 3);
  assert.equal(sum.usedAt(1_000, spans.minute), 3);
});
