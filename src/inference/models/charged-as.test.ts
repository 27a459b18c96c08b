import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan, TierLimits } from '../../books/metering/plan.ts';
import { chargedAs } from './charged-as.ts';

const off = { '5h': null, week: null, month: null };
const planWith = (tiers: Record<string, TierLimits>): Plan => ({
  name: 'pro',
  scope: 'account',
  models: null,
  mcp: null,
  agents: null,
  guards: [],
  rpm: null,
  tpm: null,
  concurrency: null,
  units: off,
  tokens: off,
  usdNano: off,
  calendar: [],
  tiers: new Map(Object.entries(tiers)),
  abandoned: 'tokens',
  storageBytes: null,
  notify: null,
});
const plan = planWith({
  premium: { rpm: null, units: { ...off, '5h': 100_000 } },
  rare: { rpm: null, units: { ...off, month: 10_000 } },
  fast: { rpm: 1, units: off },
});

test('one model is charged as it is', () => {
  assert.deepEqual(chargedAs([{ cost: 2, tier: 'premium' }], plan), { cost: 2, tier: 'premium' });
  assert.deepEqual(chargedAs([{ cost: 0, tier: null }], plan), { cost: 0, tier: null });
});

test('a dear model named as the second costs what it costs, and counts in its tier', () => {
  assert.deepEqual(
    chargedAs(
      [
        { cost: 1, tier: null },
        { cost: 5, tier: 'premium' },
      ],
      plan,
    ),
    { cost: 5, tier: 'premium' },
  );
});

test('the order in which models are named does not matter', () => {
  const named = [
    { cost: 1, tier: 'premium' },
    { cost: 1, tier: 'rare' },
    { cost: 1, tier: 'fast' },
    { cost: 1, tier: 'unlimited' },
  ] as const;
  for (const first of named) {
    const others = named.filter((other) => other !== first);
    assert.equal(chargedAs([first, ...others], plan).tier, 'rare');
  }
});
