import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrice } from '../../src/formats/neutral/price.ts';
import type { Random } from '../../src/kernel/random.ts';
import type { Preference } from '../../src/routing/prefer.ts';
import { queryOf, targetOf } from './routing-samples.ts';
import { type Ending, forEachSeed, simulate } from './routing-simulation.ts';

const priced = (id: string, input: number) =>
  targetOf(id, { price: createPrice([{ rates: { input, output: input } }]) });
/** The cheap one is slow, the fast one dear, and the third is between both. */
const aroundMs: Record<string, number> = { 'cheap/m': 2_000, 'fast/m': 100, 'fair/m': 400 };
const targets = [priced('cheap/m', 1), priced('fast/m', 20), priced('fair/m', 2)];
const durationMs = 120_000;

function answered(target: string, random: Random): Ending {
  const firstTokenMs = aroundMs[target]! * (0.9 + 0.2 * random.next());
  return { class: 'ok', firstTokenMs, afterMs: firstTokenMs + 50 };
}

function sharesOf(
  prefer: Preference,
  seed: number,
  requestsPerSecond: number,
): (target: string, fromMs?: number) => number {
  const run = simulate(
    {
      query: queryOf(targets, { prefer }),
      requestsPerSecond,
      durationMs,
      upstream: ({ target }, _, random) => answered(target.id, random),
    },
    seed,
  );
  return (target, fromMs = 10_000) => {
    const calls = run.calls.filter(({ atMs }) => atMs >= fromMs);
    return calls.filter((call) => call.target === target).length / calls.length;
  };
}

test('cheapest: the cheapest healthy target has all requests, however slow it is', () => {
  forEachSeed(5, (seed) => assert.equal(sharesOf('cheapest', seed, 20)('cheap/m', 0), 1));
});

test('fastest: the fastest target has most requests, and the others have a look now and then', () => {
  forEachSeed(5, (seed) => {
    const share = sharesOf('fastest', seed, 1);
    assert.ok(share('fast/m') > 0.8, `${share('fast/m')}`);
    assert.ok(share('cheap/m') < 0.1, `${share('cheap/m')}`);
  });
});

test('balanced: what is neither the cheapest nor the fastest wins by the product of both', () => {
  forEachSeed(5, (seed) => {
    const share = sharesOf('balanced', seed, 0.5);
    assert.ok(share('fair/m') > 0.75, `${share('fair/m')}`);
  });
});

test('cheapest: the next cheapest takes over while the cheapest is down, and gives back', () => {
  forEachSeed(5, (seed) => {
    const [downMs, upMs] = [20_000, 35_000];
    const run = simulate(
      {
        query: queryOf(targets, { prefer: 'cheapest' }),
        requestsPerSecond: 20,
        durationMs,
        upstream: ({ target }, sinceMs, random) =>
          target.id === 'cheap/m' && sinceMs >= downMs && sinceMs < upMs
            ? { class: 'unreachable', afterMs: 1 }
            : answered(target.id, random),
      },
      seed,
    );
    assert.ok(run.requests.every(({ result }) => result === 'ok'));
    const share = (target: string, fromMs: number, toMs: number) => {
      const calls = run.calls.filter(({ atMs, class: outcome }) => atMs >= fromMs && atMs < toMs && outcome === 'ok');
      return calls.filter((call) => call.target === target).length / calls.length;
    };
    assert.ok(share('fair/m', downMs + 1_000, upMs) > 0.95);
    assert.ok(share('cheap/m', upMs + 18_000, durationMs) > 0.95);
    assert.equal(share('fast/m', 0, durationMs), 0);
  });
});
