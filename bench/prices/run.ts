/**
 * CPU of the USD of one request, warm: usages of conversations over models of the price list.
 * `npm run bench -- prices` writes ns a request into bench/results.md.
 */

import { type Price, usdOf } from '../../src/formats/neutral/price.ts';
import { installedPrices } from '../../src/inference/models/price-list.ts';
import { finish } from '../results.ts';
import { judged, print, type Row } from '../rows.ts';

const rounds = 5;
const requests = 1_000_000;

const prices = await installedPrices();
const models: Record<string, readonly [provider: string, model: string]> = {
  'two rates': ['openai', 'gpt-4-turbo'],
  'cached input': ['openai', 'gpt-4o'],
  'caches and an hour': ['anthropic', 'claude-sonnet-4-5'],
  'tiers by length': ['google', 'gemini-2.5-pro'],
  'time of day': ['deepseek', 'deepseek-chat'],
};
const usages = [
  { inputTokens: 900, outputTokens: 120 },
  { inputTokens: 12_000, outputTokens: 800, cachedInputTokens: 9_000, cacheWriteTokens: 2_000, reasoningTokens: 300 },
  { inputTokens: 250_000, outputTokens: 2_000, cachedInputTokens: 200_000 },
];
const atMs = Date.UTC(2026, 0, 1, 12);

function sumOver(price: Price): number {
  let sum = 0;
  for (let i = 0; i < requests; i++) sum += usdOf(usages[i % usages.length]!, price, atMs + i)!;
  return sum;
}

const rows: Row[] = [];
for (const [name, [provider, model]] of Object.entries(models)) {
  const price = prices.find(provider, model)?.price;
  if (price == null) throw new Error(`${provider}/${model} has no price`);
  sumOver(price);
  const ns: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startNs = process.hrtime.bigint();
    sumOver(price);
    ns.push(Number(process.hrtime.bigint() - startNs) / requests);
  }
  rows.push(judged(name, ns, { atMost: 1_000, unit: ' ns', digits: 0 }));
}
print(rows);
finish({
  subject: 'prices',
  command: 'npm run bench -- prices',
  how: 'The USD of one request by a price that was looked up before, in one thread.',
  rows,
});
