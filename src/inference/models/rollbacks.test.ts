import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import type {
  Experiment,
  ExperimentBook,
  ResultsQuery,
  VariantState,
} from '../../books/metering/experiments/experiment-book.ts';
import { createRollbacks, KnownOut } from './rollbacks.ts';
import type { Snapshot } from './snapshot.ts';

const day = 86_400_000;

/** The book of one model whose variants began at different times, and fail more often than the first one. */
function worldOf(states: VariantState[]) {
  const clock = fakeClock();
  const queries: ResultsQuery[] = [];
  const logged: object[] = [];
  const book: Partial<ExperimentBook> = {
    states: async () => states.map((state) => ({ ...state })),
    async results(query) {
      queries.push(query);
      const times = states.map(({ variant }, at) => ({
        variant,
        firstTokenMs: 100,
        requests: 1_000,
        errors: at === 0 ? 0 : 500,
        faults: at === 0 ? 0 : 500,
        costUsd: 0,
        by: null,
      }));
      return { times, ratings: [] };
    },
    async takeOut(_: Experiment, variant: string, out) {
      const state = states.find((one) => one.variant === variant);
      if (state === undefined || state.out !== null) return false;
      state.out = out;
      return true;
    },
  };
  const all = states.map(({ variant }) => ({ alias: { variant } }));
  const models = { all: () => [{ id: 'smart', variants: { shape: 's', all } }] };
  const out = new KnownOut();
  const rollbacks = createRollbacks({
    snapshots: { current: { varies: true, models } as unknown as Snapshot },
    book: book as ExperimentBook,
    out,
    metrics: { gauges() {} },
    clock,
    log: { warn: (facts) => logged.push(facts) },
    onTrouble: assert.fail,
  });
  return { clock, queries, logged, out, rollbacks };
}

test('each variant is compared from when it began, within the span of the look', async () => {
  const nowMs = fakeClock().wallMs();
  const state = (variant: string, agoMs: number): VariantState => ({ variant, sinceMs: nowMs - agoMs, out: null });
  const { queries, rollbacks, out, logged } = worldOf([
    state('first', day / 2),
    state('older', 3 * day),
    state('late', 60_000),
    { ...state('gone', day / 4), out: { atMs: nowMs - 1, reason: 'slow' } },
  ]);
  await rollbacks.look('day');
  assert.deepEqual(
    queries.map(({ alias, fromMs, toMs }) => [alias, nowMs - fromMs, toMs - nowMs]),
    [
      ['smart', day / 2, 1],
      ['smart', 60_000, 1],
    ],
    'of `older` since the first one is known, of `late` since it began, of `gone` nothing',
  );
  assert.deepEqual(out.names(), ['smart/older', 'smart/late', 'smart/gone']);
  assert.equal(logged.length, 2);
  await rollbacks.look('day');
  assert.equal(queries.length, 2, 'none is left to compare');
});

test('a recent look reads the last minutes alone, and a look at nothing compares none', async () => {
  const nowMs = fakeClock().wallMs();
  const state = (variant: string): VariantState => ({ variant, sinceMs: nowMs - day, out: null });
  const { queries, rollbacks, out } = worldOf([state('first'), state('other')]);
  await rollbacks.look('nothing');
  assert.equal(queries.length, 0);
  assert.deepEqual(out.names(), []);
  await rollbacks.look('recent');
  assert.deepEqual(
    queries.map(({ fromMs }) => nowMs - fromMs),
    [15 * 60_000],
  );
  assert.deepEqual(out.names(), ['smart/other']);
});
