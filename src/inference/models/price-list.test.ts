import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calcPrice, waitForUpdate } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { usdOf } from '../../formats/neutral/price.ts';
import type { Usage } from '../../formats/neutral/usage.ts';
import { catalog } from '../../formats/providers/catalog.ts';
import { installedPrices, takePrices } from './price-list.ts';

const prices = await installedPrices();
const providers = (await waitForUpdate())!;
const models = providers.flatMap((provider) => provider.models.map(({ id }) => [provider.id, id] as const));

/** Usage as the library counts it. */
function libraryUsage(usage: Counts) {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    cache_write_1h_tokens: usage.cacheWrite1hTokens,
    output_reasoning_tokens: usage.reasoningTokens,
    input_audio_tokens: usage.audioInputTokens,
    cache_audio_read_tokens: usage.cachedAudioInputTokens,
    output_audio_tokens: usage.audioOutputTokens,
    input_image_tokens: usage.imageInputTokens,
    cache_image_read_tokens: usage.cachedImageInputTokens,
    output_image_tokens: usage.imageOutputTokens,
    input_characters: usage.characters,
    audio_seconds: usage.audioMs / 1_000,
    input_audio_seconds: usage.audioMs / 1_000,
    web_searches: usage.webSearches,
    // Of what the neutral form does not count.
    cache_video_read_tokens: 0,
    input_video_tokens: 0,
    output_video_tokens: 0,
    output_citation_tokens: 0,
  };
}

const tokens = fc.oneof(fc.nat(300), fc.nat(400_000));
/** Counts whose parts fit into their wholes: some plain, some read from the cache and so on. */
type Counts = Required<Omit<Usage, 'servedAs' | 'reportedUsdNano' | 'totalTokens'>>;

const usages = fc
  .record({
    plain: tokens,
    read: tokens,
    written: tokens,
    hour: tokens,
    sound: tokens,
    readSound: tokens,
    seen: tokens,
    readSeen: tokens,
    said: tokens,
    thought: tokens,
    spoken: tokens,
    drawn: tokens,
    characters: tokens,
    audioMs: fc.oneof(fc.nat(20_000), fc.nat(7_200_000)),
    webSearches: fc.nat(20),
  })
  .map(
    (some): Counts => ({
      inputTokens:
        some.plain + some.read + some.written + some.hour + some.sound + some.readSound + some.seen + some.readSeen,
      cachedInputTokens: some.read + some.readSound + some.readSeen,
      cacheWriteTokens: some.written + some.hour,
      cacheWrite1hTokens: some.hour,
      audioInputTokens: some.sound + some.readSound,
      cachedAudioInputTokens: some.readSound,
      imageInputTokens: some.seen + some.readSeen,
      cachedImageInputTokens: some.readSeen,
      outputTokens: some.said + some.thought + some.spoken + some.drawn,
      reasoningTokens: some.thought,
      audioOutputTokens: some.spoken,
      imageOutputTokens: some.drawn,
      characters: some.characters,
      audioMs: some.audioMs,
      images: 0,
      videoSeconds: 0,
      searchUnits: 0,
      webSearches: some.webSearches,
      webFetches: 0,
    }),
  );
const instants = fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2027, 0) });

test("every model's sums are the library's own, to the nano-dollar, at any time", () => {
  assert.ok(models.length > 1_000);
  for (const [provider, model] of models) {
    const price = prices.find(provider, model)?.price ?? null;
    fc.assert(
      fc.property(usages, instants, (usage, atMs) => {
        const theirs = calcPrice(libraryUsage(usage), model, { providerId: provider, timestamp: new Date(atMs) });
        if (price === null) return assert.equal(theirs?.total_price ?? 0, 0);
        const ours = usdOf(usage, price, atMs)!;
        // Half a nano-dollar is what rounding may take, and the sum is large where binary dust adds to it.
        const bound = 0.5e-9 + Math.abs(ours) * 1e-14;
        assert.ok(
          Math.abs(ours - theirs!.total_price) <= bound,
          `${provider}/${model}: ${ours}, ${theirs!.total_price}`,
        );
      }),
      { numRuns: 8 },
    );
  }
});

test('what provider types are called in the list is in it, and is what their address says', () => {
  for (const { id, prices: named, baseUrl } of catalog) {
    if (named === undefined) continue;
    assert.ok(
      providers.some((provider) => provider.id === named),
      `${id}: ${named}`,
    );
    if (baseUrl !== null) assert.ok([named, null].includes(prices.providerAt(baseUrl)), `${id} at ${baseUrl}`);
  }
  assert.equal(prices.providerAt('https://api.groq.com/openai/v1'), 'groq');
  assert.equal(prices.providerAt('http://127.0.0.1:9/v1'), null);
});

test('what has no price says so, and what is free is free', () => {
  assert.equal(prices.find('openai', 'no-such-model'), null);
  const free = models.find(([provider, model]) => provider === 'openrouter' && model.endsWith(':free'))!;
  assert.equal(usdOf({ inputTokens: 1e6, outputTokens: 1e6 }, prices.find(...free)!.price, 0), 0);
});

test('another list is taken over, one in no such format is not, and the installed one can be had again', async () => {
  const before = prices.find('openai', 'gpt-4o');
  const own = {
    id: 'openai',
    name: 'OpenAI',
    api_pattern: 'https://api\\.openai\\.com',
    models: [{ id: 'gpt-4o', match: { equals: 'gpt-4o' }, prices: { input_mtok: 7 } }],
  };
  const newer = await takePrices([own]);
  assert.equal(usdOf({ inputTokens: 1e6, outputTokens: 0 }, newer.find('openai', 'gpt-4o')!.price, 0), 7);
  for (const wrong of [null, {}, [], 'text', [{ id: 'openai' }]])
    await assert.rejects(takePrices(wrong), String(wrong));
  assert.equal(newer.find('openai', 'gpt-4.1'), null);
  const again = await installedPrices();
  assert.deepEqual(again.find('openai', 'gpt-4o'), before);
});

test('names that callers make up below a pattern do not stay for ever', () => {
  const before = prices.find('openai', 'gpt-4o');
  assert.ok(before !== null);
  assert.equal(prices.find('openai', 'gpt-4o'), before);
  for (let count = 0; count < 20_000; count++) assert.equal(prices.find('nobody', `made-up-${count}`), null);
  const after = prices.find('openai', 'gpt-4o');
  assert.notEqual(after, before);
  assert.deepEqual(after, before);
});
