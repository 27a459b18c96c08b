import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from '../../config/schema.ts';
import type { CostLine } from './admission.ts';
import { costMilliOf } from './settlement.ts';

const standard = configSchema.parse({}).costs;

test('design §11, api.md §8.3: every line costs 1, a vector call 0.05, and a kept answer nothing', () => {
  const others: Partial<Record<CostLine, number>> = { vectors: 50, cached: 0 };
  for (const line of Object.keys(standard) as CostLine[])
    assert.equal(costMilliOf(standard, line), others[line] ?? 1_000, String(line));
});

test("the file's costs apply, and a model's own cost multiplies", () => {
  const { costs } = configSchema.parse({ costs: { chat: 2 } });
  assert.equal(costMilliOf(costs, 'chat', 1.5), 3_000);
  assert.equal(costMilliOf(costs, 'chat', 0), 0);
  assert.equal(costMilliOf(costs, 1), 1_000);
});

test('an image call costs once an image, a crawl once a page, and no cost leaves the whole numbers', () => {
  assert.equal(costMilliOf(standard, 'image', 1, 4), 4_000);
  const { costs } = configSchema.parse({ costs: { image: 10_000 } });
  assert.ok(Number.isSafeInteger(costMilliOf(costs, 'image', 10_000, 10) * 1_000));
  for (const units of [0.05, 0.29, 1.005]) {
    const { costs: odd } = configSchema.parse({ costs: { vectors: units } });
    assert.equal(costMilliOf(odd, 'vectors'), Math.round(units * 1_000), String(units));
  }
});
