import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from '../config/schema.ts';
import { costMilliOf, type Endpoint } from './cost.ts';

const standard = configSchema.parse({}).costs;

const table: [units: number, ...endpoints: Endpoint[]][] = [
  [1, 'chat', 'messages', 'responses', 'embeddings', 'speech', 'transcription', 'image', 'search', 'scrape'],
  [1, 'crawl-page', 'completions', 'rerank', 'map', 'image-edit', 'translation'],
  [0.05, 'vectors'],
  [0, 'models', 'usage', 'count-tokens', 'moderations', 'crawl-status'],
];
for (const [units, ...endpoints] of table) {
  test(`design §11, api.md §8.3: ${endpoints.join(', ')} cost ${units}`, () => {
    for (const endpoint of endpoints) assert.equal(costMilliOf(standard, endpoint), units * 1_000, endpoint);
  });
}

test("the file's costs apply, siblings follow theirs, and a model's own cost multiplies", () => {
  const { costs } = configSchema.parse({ costs: { chat: 2, transcription: 0.5, image: 3 } });
  assert.equal(costMilliOf(costs, 'completions'), 2_000);
  assert.equal(costMilliOf(costs, 'translation'), 500);
  assert.equal(costMilliOf(costs, 'image-edit'), 3_000);
  assert.equal(costMilliOf(costs, 'chat', 1.5), 3_000);
  assert.equal(costMilliOf(costs, 'chat', 0), 0);
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
