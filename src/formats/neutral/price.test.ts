import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cacheSavedUsd, createPrice, priceShare, type Rates, ratesAt, usdOf } from './price.ts';

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };
const priceOf = (rates: Rates) => createPrice([{ rates }]);
const atMs = Date.UTC(2026, 0, 1, 12);

test('cached input has its own price, an unknown price is null, and no binary dust is left', () => {
  const rates = { input: 2.5, output: 10, cachedInput: 0.25 };
  assert.equal(usdOf({ inputTokens: 1_000_000, outputTokens: 0 }, priceOf(rates), atMs), 2.5);
  const usage = { inputTokens: 100, outputTokens: 50, cachedInputTokens: 40 };
  assert.equal(usdOf(usage, priceOf(rates), atMs), 0.00066);
  const { cachedInput: _, ...uncached } = rates;
  assert.equal(usdOf({ ...usage, outputTokens: 0 }, priceOf(uncached), atMs), 0.00025);
  assert.equal(usdOf({ inputTokens: 5, outputTokens: 5 }, null, atMs), null);
});

test('writes to a cache cost what they are kept for, and a part without a price costs what the whole does', () => {
  const usage = { ...million, cacheWriteTokens: 600_000, cacheWrite1hTokens: 100_000, reasoningTokens: 500_000 };
  assert.equal(usdOf(usage, priceOf({ input: 3, output: 15 }), atMs), 18);
  const price = priceOf({ input: 3, output: 15, cacheWrite: 3.75, cacheWrite1h: 6, reasoning: 20 });
  assert.equal(usdOf(usage, price, atMs), 0.4 * 3 + 0.5 * 3.75 + 0.1 * 6 + 0.5 * 15 + 0.5 * 20);
});

test('sound that was read from a cache is part of both, and is charged once', () => {
  const usage = { ...million, cachedInputTokens: 500_000, audioInputTokens: 400_000, cachedAudioInputTokens: 100_000 };
  const price = priceOf({ input: 1, cachedInput: 0.1, audioInput: 10, cachedAudioInput: 2 });
  assert.equal(usdOf(usage, price, atMs), 3.44);
});

test('pictures, minutes, characters, searches and requests are charged by the piece', () => {
  const usage = { inputTokens: 0, outputTokens: 0, images: 2, audioMs: 90_000, characters: 500, webSearches: 3 };
  const price = priceOf({ image: 0.04, minute: 0.006, millionCharacters: 15, webSearch: 0.01, request: 0.005 });
  assert.equal(usdOf(usage, price, atMs), 0.08 + 0.009 + 0.0075 + 0.03 + 0.005);
});

test('a longer input is charged by its tier, all of it', () => {
  const tiers = [
    { aboveInputTokens: 500_000, rates: { input: 4 } },
    { aboveInputTokens: 200_000, rates: { input: 2, output: 3 } },
  ];
  const price = createPrice([{ rates: { input: 1, output: 1 }, tiers }]);
  const usd = (inputTokens: number) => usdOf({ inputTokens, outputTokens: 1_000_000 }, price, atMs);
  assert.deepEqual([usd(200_000), usd(200_001), usd(1_000_000)], [1.2, 3.400002, 7]);
});

test('prices of a time of day and from a day on hold then, over midnight too', () => {
  const price = createPrice([
    { rates: { input: 3 }, hold: { fromMs: Date.UTC(2026, 1, 1) } },
    { rates: { input: 2 }, hold: { fromSecond: 16.5 * 3_600, untilSecond: 1_800 } },
    { rates: { input: 1 } },
  ]);
  const usd = (...at: [number, number, number, number, number]) =>
    usdOf({ inputTokens: 1_000_000, outputTokens: 0 }, price, Date.UTC(...at));
  assert.equal(usd(2026, 0, 5, 16, 29), 1);
  assert.deepEqual([usd(2026, 0, 5, 16, 30), usd(2026, 0, 5, 23, 59), usd(2026, 0, 6, 0, 29)], [2, 2, 2]);
  assert.equal(usd(2026, 0, 6, 0, 30), 1);
  assert.equal(usd(2026, 1, 1, 0, 0), 3);
});

test('an upstream whose parts are more than their whole is not paid for that', () => {
  const usage = {
    inputTokens: 100,
    outputTokens: 10,
    cachedInputTokens: 900,
    cacheWriteTokens: 900,
    reasoningTokens: 90,
  };
  const price = priceOf({ input: 10, output: 20, cachedInput: 1, cacheWrite: 12, reasoning: 30 });
  assert.equal(usdOf(usage, price, atMs), (100 * 1 + 10 * 30) / 1e6);
});

test('a cache saves what the same input would have cost, and costs where it was written and not read', () => {
  const price = priceOf({ input: 2, cachedInput: 0.5, cacheWrite: 3, cacheWrite1h: 5 });
  assert.equal(cacheSavedUsd({ ...million, cachedInputTokens: 400_000 }, price, atMs), 0.6);
  const written = { ...million, cacheWriteTokens: 100_000, cacheWrite1hTokens: 50_000, reportedUsdNano: 7 };
  assert.equal(cacheSavedUsd(written, price, atMs), -0.2);
  assert.equal(cacheSavedUsd(million, price, atMs), 0);
  assert.equal(cacheSavedUsd(million, null, atMs), null);
});

test('a share of a price is the share of each rate, at each time and length of input', () => {
  const hold = { fromMs: atMs };
  const tiers = [{ aboveInputTokens: 500, rates: { input: 8 } }];
  const whole = createPrice([{ hold, rates: { input: 4, output: 6 }, tiers }, { rates: { input: 2 } }]);
  const half = priceShare(whole, 0.5);
  const parts = (at: number) => {
    const { hold: from, rates, tiers: above } = ratesAt(half, at);
    return { from, rates, above };
  };
  assert.deepEqual(parts(atMs), {
    from: hold,
    rates: { input: 2, output: 3 },
    above: [{ aboveInputTokens: 500, rates: { input: 4 } }],
  });
  assert.deepEqual(parts(atMs - 1), { from: undefined, rates: { input: 1 }, above: undefined });
  assert.equal(usdOf(million, half, atMs), 4 + 3);
});

test('the cost that a provider reports counts where its price says so, and where there is no price', () => {
  const usage = { ...million, reportedUsdNano: 5e8 };
  const reported = createPrice([{ rates: { input: 2 } }], { reported: 'counts' });
  assert.deepEqual(
    [usdOf(usage, reported, atMs), usdOf(usage, null, atMs), usdOf(usage, priceOf({ input: 2 }), atMs)],
    [0.5, 0.5, 2],
  );
});

test('what a provider says of its service multiplies tokens, and nothing else; sound has a least length', () => {
  const price = createPrice([{ rates: { input: 2, request: 1, minute: 6 } }], {
    servedAs: { priority: 2, far: 1.5 },
    audioMsMin: 10_000,
  });
  const usd = (servedAs: string[], audioMs = 0) => usdOf({ ...million, servedAs, audioMs }, price, atMs);
  assert.deepEqual([usd(['priority']), usd(['priority', 'far']), usd(['toString', 'unknown'])], [5, 7, 3]);
  assert.deepEqual([usd([], 1), usd([], 20_000)], [4, 5]);
});
