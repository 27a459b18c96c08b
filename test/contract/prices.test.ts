import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { calcPrice } from '@pydantic/genai-prices';
import { checkConfigText } from '../../src/config/check.ts';
import { budgetedIn, unpricedTargets } from '../../src/inference/models/unpriced.ts';
import { previewSnapshot } from '../../src/main/preview.ts';
import { listening } from '../listening.ts';
import { adminKey, startGateway } from '../start-gateway.ts';

/* USD of requests without a configured price: from the price list. */

/** Usage as each provider tells it next. */
let told: Record<string, unknown> = {};
/** The price list that is published at `/data.json`. */
let published = '';
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const isStream = request.url!.startsWith('/sse/');
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
    response.end(isStream ? streamed() : answerAt(request.url!));
  });
});
const base = await listening({ after }, server);

function streamed(): string {
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...members })}\n\n`;
  const delta = { role: 'assistant', content: 'Hello' };
  const answer = chunk({ choices: [{ index: 0, delta, finish_reason: 'stop' }] });
  return `${answer}${chunk({ choices: [], usage: told })}data: [DONE]\n\n`;
}

function answerAt(url: string): string {
  if (url === '/data.json') return published;
  if (url.includes('/messages'))
    return JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      usage: told,
    });
  if (url.includes(':generateContent'))
    return JSON.stringify({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
      usageMetadata: told,
    });
  if (url.endsWith('/converse')) {
    const { serviceTier, ...usage } = told;
    return JSON.stringify({
      output: { message: { role: 'assistant', content: [{ text: 'Hello' }] } },
      stopReason: 'end_turn',
      usage,
      ...(serviceTier !== undefined && { serviceTier }),
    });
  }
  if (url.includes('/responses'))
    return JSON.stringify({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
      ...told,
    });
  if (url.includes('/rerank'))
    return JSON.stringify({ id: 'r', results: [{ index: 0, relevance_score: 0.9 }], usage: told });
  if (url.includes('/images'))
    return JSON.stringify({ created: 1, data: [{ url: 'https://example.org/a.png' }], usage: told });
  if (url.includes('/audio/transcriptions')) return JSON.stringify({ text: 'Hello', usage: told });
  return JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: told,
  });
}

const provider = (type: string, path = '/v1') => ({ type, base_url: base + path, api_key: 'k' });
const over = (name: string, model: string) => ({ targets: [{ provider: name, model, stream: false }] });
const reporting = ['openrouter', 'perplexity', 'deepinfra', 'xai'];
const tiered = { input: 1_000, served_as: { flex: 0.5, priority: 2 } };
const kept = { cache_write: 10, cache_write_1h: 100 };
const config = {
  providers: {
    openai: { ...provider('openai'), prices: 'openai' },
    claude: { ...provider('anthropic'), prices: 'anthropic' },
    google: { ...provider('gemini', ''), prices: 'google' },
    own: provider('openai'),
    ...Object.fromEntries(reporting.map((type) => [type, provider(type)])),
    'openrouter-sse': provider('openrouter', '/sse'),
    'openrouter-listed': { ...provider('openrouter'), prices: 'openrouter' },
    responses: { ...provider('openai'), dialects: ['openai-responses'] },
    'xai-responses': { ...provider('xai'), dialects: ['openai-responses'] },
    'openrouter-messages': { ...provider('openrouter'), dialects: ['anthropic-messages'] },
    aws: { ...provider('bedrock', ''), region: 'us-east-1' },
    mistral: provider('mistral'),
  },
  models: {
    'tiers-of-google': { targets: [{ provider: 'google', model: 'm', stream: false, price: tiered }] },
    'tiers-of-mistral': { targets: [{ provider: 'mistral', model: 'm', stream: false, price: tiered }] },
    'tiers-of-aws': { targets: [{ provider: 'aws', model: 'm', stream: false, price: tiered }] },
    ...Object.fromEntries(reporting.map((type) => [`by-${type}`, over(type, 'm')])),
    listed: over('openrouter-listed', 'openai/gpt-4o'),
    'by-xai-responses': over('xai-responses', 'm'),
    'by-openrouter-messages': over('openrouter-messages', 'm'),
    ranking: { type: 'rerank', ...over('openrouter', 'm') },
    'by-sse': { targets: [{ provider: 'openrouter-sse', model: 'm' }] },
    'price-of-openrouter': {
      targets: [{ provider: 'openrouter', model: 'm', stream: false, price: { input: 1_000 } }],
    },
    pictures: { targets: [{ provider: 'own', model: 'm', price: { input: 1_000, image_input: 10_000 } }] },
    chat: over('openai', 'gpt-4o'),
    sound: over('openai', 'gpt-audio'),
    claude: over('claude', 'claude-sonnet-4-5'),
    gemini: over('google', 'gemini-2.5-pro'),
    whisper: { type: 'transcription', ...over('openai', 'whisper-1') },
    own: over('own', 'my-model'),
    kept: { targets: [{ provider: 'aws', model: 'm', stream: false, price: kept }] },
    'kept-of-chats': { targets: [{ provider: 'own', model: 'm', stream: false, price: kept }] },
    'kept-by-openai': { targets: [{ provider: 'responses', model: 'm', stream: false, price: kept }] },
    searching: {
      targets: [{ provider: 'responses', model: 'm', stream: false, price: { input: 1, web_search: 0.01 } }],
    },
    drawing: {
      targets: [
        { provider: 'responses', model: 'm', stream: false, price: { input: 1, output: 10, image_output: 40 } },
      ],
    },
    stated: { targets: [{ provider: 'openai', model: 'gpt-4o', stream: false, price: { input: 100 } }] },
  },
  plans: { default: { windows: 'off', rpm: 'off', budget: { month: 1_000 } } },
};
const gateway = await startGateway({ after: after as TestContext['after'] }, config);

const hello = { messages: [{ role: 'user', content: 'Hello' }] };

async function costOf(model: string, usage: Record<string, unknown>, body: object = hello): Promise<(number | null)[]> {
  told = usage;
  const answer = await gateway.fetch('/v1/chat/completions', { json: { model, ...body } });
  assert.equal(answer.status, 200, await answer.text());
  const id = answer.headers.get('x-culvert-request-id');
  const kept = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as { cost_usd: number | null };
  const header = answer.headers.get('x-culvert-cost-usd');
  return [header === null ? null : Number(header), kept.cost_usd];
}

test('a request has its USD with no price written: in its header, its record, the usage and the budget', async () => {
  const [header, kept] = await costOf('chat', { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 });
  const theirs = calcPrice({ input_tokens: 1_000, output_tokens: 100 }, 'gpt-4o', { providerId: 'openai' });
  assert.equal(kept, theirs!.total_price);
  assert.equal(header, kept);
  const usage = (await (await gateway.fetch('/v1/usage')).json()) as { budget: { month: { used: number } } };
  assert.equal(usage.budget.month.used, kept);
});

test('cached reads, writes of five minutes and an hour, searches, sound and long input are told and charged', async () => {
  const [, claude] = await costOf('claude', {
    input_tokens: 100,
    cache_read_input_tokens: 2_000,
    cache_creation_input_tokens: 900,
    cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 400 },
    server_tool_use: { web_search_requests: 2 },
    output_tokens: 50,
  });
  const asTheyCount = {
    input_tokens: 3_000,
    cache_read_tokens: 2_000,
    cache_write_tokens: 900,
    cache_write_1h_tokens: 400,
    web_searches: 2,
    output_tokens: 50,
  };
  const theirs = calcPrice(asTheyCount, 'claude-sonnet-4-5', { providerId: 'anthropic' })!;
  assert.ok(Math.abs(claude! - theirs.total_price) < 1e-9);

  const [, sound] = await costOf('sound', {
    prompt_tokens: 500,
    completion_tokens: 300,
    prompt_tokens_details: { audio_tokens: 400 },
    completion_tokens_details: { audio_tokens: 250 },
  });
  const heard = { input_tokens: 500, input_audio_tokens: 400, output_tokens: 300, output_audio_tokens: 250 };
  assert.ok(Math.abs(sound! - calcPrice(heard, 'gpt-audio', { providerId: 'openai' })!.total_price) < 1e-9);

  const long = (input: number) => ({
    promptTokenCount: input,
    candidatesTokenCount: 1_000,
    totalTokenCount: input + 1_000,
  });
  for (const input of [200_000, 200_001]) {
    const [, gemini] = await costOf('gemini', long(input));
    const usage = { input_tokens: input, output_tokens: 1_000 };
    const expected = calcPrice(usage, 'gemini-2.5-pro', { providerId: 'google' })!.total_price;
    assert.ok(Math.abs(gemini! - expected) < 1e-9, String(input));
  }
});

test('writes to the cache for an hour over Bedrock, and for 12 over OpenAI, have a price of their own', async () => {
  const cacheDetails = [
    { ttl: '1h', inputTokens: 400 },
    { ttl: '5m', inputTokens: 500 },
  ];
  const [, cost] = await costOf('kept', {
    inputTokens: 100,
    outputTokens: 5,
    cacheWriteInputTokens: 900,
    cacheDetails,
  });
  assert.equal(cost, (500 * 10 + 400 * 100) / 1e6);
  const cache_write_tokens_details = { ttl_12h_tokens: 400, ttl_30m_tokens: 500 };
  const input_tokens_details = { cached_tokens: 0, cache_write_tokens: 900, cache_write_tokens_details };
  const usage = { input_tokens: 1_000, output_tokens: 5, total_tokens: 1_005, input_tokens_details };
  assert.deepEqual(await costOf('kept-by-openai', { usage }), [cost, cost]);
});

test('tiers of Google, of Bedrock and of Mistral are charged, and pictures where they have a price', async () => {
  const google = { promptTokenCount: 1_000, candidatesTokenCount: 0, totalTokenCount: 1_000 };
  for (const [told, usd] of [
    [{}, 1],
    [{ trafficType: 'ON_DEMAND' }, 1],
    [{ trafficType: 'ON_DEMAND_FLEX' }, 0.5],
    [{ serviceTier: 'priority' }, 2],
  ] as const)
    assert.deepEqual(await costOf('tiers-of-google', { ...google, ...told }), [usd, usd], JSON.stringify(told));
  const aws = { inputTokens: 1_000, outputTokens: 0, totalTokens: 1_000 };
  assert.deepEqual(await costOf('tiers-of-aws', { ...aws, serviceTier: { type: 'flex' } }), [0.5, 0.5]);
  assert.deepEqual(await costOf('tiers-of-aws', { ...aws, serviceTier: { type: 'default' } }), [1, 1]);
  for (const [service_tier, usd] of Object.entries({ standard: 1, priority: 2 })) {
    const usage = { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000, service_tier };
    assert.deepEqual(await costOf('tiers-of-mistral', usage), [usd, usd]);
  }
  const seen = { prompt_tokens: 1_000, completion_tokens: 0, prompt_tokens_details: { image_tokens: 400 } };
  assert.deepEqual(await costOf('pictures', seen), [4.6, 4.6]);
});

test('the cost that a provider reports counts, unless the target has a price', async () => {
  // Two tokens of output are counted here, since the answer has words.
  const usage = { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000 };
  const cost = { total_cost: 0.0123, request_cost: 0.005 };
  for (const [model, told, usd] of [
    ['by-openrouter', { cost: 0.0123 }, 0.0123],
    ['by-openrouter', { cost: 0 }, 0],
    ['by-openrouter', { cost: 0.05, is_byok: true, cost_details: { upstream_inference_cost: 1 } }, 1.05],
    ['by-openrouter', { cost: 0.05, is_byok: true, cost_details: { upstream_inference_cost: null } }, null],
    ['by-openrouter', { cost: 0.5, is_byok: false, cost_details: { upstream_inference_cost: 0.5 } }, 0.5],
    ['listed', { cost: 0.0123 }, 0.0123],
    ['listed', { cost: 'much' }, 0.002_52],
    ['price-of-openrouter', { cost: 0.0123 }, 1],
    ['by-perplexity', { cost }, 0.0123],
    ['by-deepinfra', { estimated_cost: 0.0123 }, 0.0123],
    ['by-xai', { cost_in_usd_ticks: 123_000_000 }, 0.0123],
    ['own', { cost: 0.0123 }, null],
    // Our word for it is no word of theirs.
    ['own', { reported_usd: 99_999 }, null],
    ['by-openrouter', { reported_usd: 0, cost: 0.0123 }, 0.0123],
    ['listed', { reported_usd: 0 }, 0.002_52],
  ] as const)
    assert.deepEqual(await costOf(model, { ...usage, ...told }), [usd, usd], `${model} ${JSON.stringify(told)}`);
  for (const path of ['/v1/chat/completions', '/v1/messages']) {
    told = { ...usage, cost: 0.0123 };
    const answer = await gateway.fetch(path, { json: { model: 'by-sse', stream: true, max_tokens: 9, ...hello } });
    await answer.text();
    const kept = await gateway.fetch(`/v1/requests/${answer.headers.get('x-culvert-request-id')}`);
    assert.equal(((await kept.json()) as { cost_usd: number }).cost_usd, 0.0123, path);
  }
});

test('the cost that a provider reports counts in each format, and for texts that are continued or ranked', async () => {
  const cost = 0.0123;
  const response = { usage: { input_tokens: 9, output_tokens: 5, total_tokens: 14, cost_in_usd_ticks: 123_000_000 } };
  const message = { input_tokens: 9, output_tokens: 5, cost, is_byok: false };
  for (const [path, model, usage, body] of [
    ['/v1/responses', 'by-xai-responses', response, { input: 'Hello', store: false }],
    ['/v1/chat/completions', 'by-xai-responses', response, hello],
    ['/v1/messages', 'by-openrouter-messages', message, { ...hello, max_tokens: 9 }],
    ['/v1/chat/completions', 'by-openrouter-messages', message, hello],
    ['/v1/completions', 'by-openrouter', { prompt_tokens: 9, completion_tokens: 5, cost }, { prompt: 'Hello' }],
    ['/v1/rerank', 'ranking', { search_units: 1, cost }, { query: 'Hello', documents: ['Hello'] }],
    ['/v1/rerank', 'ranking', { total_tokens: 9, cost }, { query: 'Hello', documents: ['Hello'] }],
  ] as const) {
    told = usage;
    const answer = await gateway.fetch(path, { json: { model, ...body } });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(Number(answer.headers.get('x-culvert-cost-usd')), cost, `${path} ${model}`);
  }
});

test('what Qwen and LiteLLM write to a cache is charged as written', async () => {
  const counts = { prompt_tokens: 1_000, completion_tokens: 5, total_tokens: 1_005 };
  const qwen = { cached_tokens: 0, cache_creation_input_tokens: 900, cache_type: 'ephemeral' };
  const cache_creation_token_details = { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 400 };
  const litellm = { cached_tokens: 0, cache_creation_tokens: 900, cache_creation_token_details };
  for (const [usage, usd] of [
    [{ ...counts, prompt_tokens_details: qwen }, 0.009],
    [{ ...counts, prompt_tokens_details: litellm, cache_creation_input_tokens: 900 }, 0.045],
  ] as const)
    assert.deepEqual(await costOf('kept-of-chats', usage), [usd, usd]);
});

test('searches of OpenAI are charged, in its own format and in others', async () => {
  const usage = {
    usage: { input_tokens: 1_000, output_tokens: 10, total_tokens: 1_010 },
    tool_usage: { web_search: { num_requests: 3 } },
  };
  const [, converted] = await costOf('searching', usage);
  const json = { model: 'searching', input: 'Hello', store: false };
  const native = await gateway.fetch('/v1/responses', { json });
  assert.equal(native.status, 200, await native.text());
  assert.deepEqual([converted, Number(native.headers.get('x-culvert-cost-usd'))], [0.031, 0.031]);
});

test("pictures that OpenAI's tool draws are charged, at the price of pictures where the target states one", async () => {
  const usage = {
    usage: { input_tokens: 1_000, output_tokens: 10, total_tokens: 1_010 },
    tool_usage: { image_gen: { input_tokens: 50, output_tokens: 1_000, total_tokens: 1_050 } },
  };
  const json = { model: 'drawing', input: 'Hello', store: false };
  const [, converted] = await costOf('drawing', usage);
  const native = await gateway.fetch('/v1/responses', { json });
  assert.equal(native.status, 200, await native.text());
  // 1,050 tokens at 1 USD a million, 10 at 10, 1,000 at 40.
  assert.deepEqual([converted, Number(native.headers.get('x-culvert-cost-usd'))], [0.04115, 0.04115]);
  const svg_usage = { model: 'gpt-6', input_tokens: 100, output_tokens: 200, reasoning_tokens: 50, total_tokens: 300 };
  const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA', svg_usage };
  const text = { type: 'output_text', text: 'Hi', annotations: [] };
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] };
  const [, written] = await costOf('drawing', { ...usage, output: [message, image] });
  const again = await gateway.fetch('/v1/responses', { json });
  assert.equal(again.status, 200, await again.text());
  // 100 more at 1, 200 at 10.
  assert.deepEqual([written, Number(again.headers.get('x-culvert-cost-usd'))], [0.04325, 0.04325]);
});

test('several choices of one request are charged together, and the header says so', async () => {
  const usage = { promptTokenCount: 1_000, candidatesTokenCount: 10, totalTokenCount: 1_010 };
  const [header, kept] = await costOf('gemini', usage, { ...hello, n: 2 });
  const one = calcPrice({ input_tokens: 1_000, output_tokens: 10 }, 'gemini-2.5-pro', { providerId: 'google' })!;
  assert.ok(Math.abs(kept! - 2 * one.total_price) < 2e-9);
  assert.equal(header, kept);
});

test('what a target states is its price, and a server of your own has none', async () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
  assert.deepEqual(await costOf('stated', usage), [0.1, 0.1]);
  assert.deepEqual(await costOf('own', usage), [null, null]);
});

test('sound is charged by the minute', async () => {
  told = { type: 'duration', seconds: 90 };
  const form = new FormData();
  form.set('model', 'whisper');
  form.set('file', new File([Buffer.from('RIFF\0\0\0\0WAVE')], 'a.wav'));
  const answer = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.equal(answer.headers.get('x-culvert-cost-usd'), '0.009');
});

interface Entry {
  id: string;
  pricing: Record<string, unknown> | null;
  context_length: number | null;
  context_window: number | null;
  top_provider: unknown;
  architecture: unknown;
}

test('/v1/models says what a model costs and holds, by our names and by OpenRouter’s', async () => {
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: Entry[] };
  const entry = (id: string) => data.find((model) => model.id === id)!;
  const { input, output, cached_input, prompt, completion, input_cache_read } = entry('chat').pricing!;
  assert.deepEqual([input, output, cached_input], [2.5, 10, 1.25]);
  assert.deepEqual([prompt, completion, input_cache_read], ['0.0000025', '0.00001', '0.00000125']);
  assert.deepEqual([entry('chat').context_length, entry('chat').context_window], [128_000, 128_000]);
  assert.deepEqual(entry('chat').top_provider, {
    context_length: 128_000,
    max_completion_tokens: 16_384,
    is_moderated: false,
  });
  assert.deepEqual(entry('chat').architecture, { input_modalities: ['text', 'image'], output_modalities: ['text'] });
  assert.deepEqual((entry('gemini').pricing!.above as { input_tokens: number }[])[0]?.input_tokens, 200_000);
  assert.equal(entry('own').pricing, null);
});

test('a price that is set at run time holds from the next request on, and none before is charged again', async () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000 };
  const admin = async (method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const answer = await fetch(`${gateway.url}/admin/v1${path}`, { method, headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, await answer.text());
  };
  const target = (price?: object) => ({ provider: 'openai', model: 'gpt-4o', stream: false, ...(price && { price }) });
  await admin('POST', '/models', { id: 'changing', targets: [target()] });
  assert.deepEqual(await costOf('changing', usage), [0.002_52, 0.002_52]);
  const before = await spent();
  await admin('PATCH', '/models/changing', { targets: [target({ input: 50 })] });
  assert.equal(await spent(), before);
  assert.deepEqual(await costOf('changing', usage), [0.05, 0.05]);
  assert.ok(Math.abs((await spent()) - before - 0.05) < 1e-9);
});

async function spent(): Promise<number> {
  const usage = (await (await gateway.fetch('/v1/usage')).json()) as { budget: { month: { used: number } } };
  return usage.budget.month.used;
}

test('a budget in USD refuses with no price written', async (t) => {
  const poor = await startGateway(t, {
    ...config,
    plans: { default: { ...config.plans.default, budget: { month: 0.001 } } },
  });
  told = { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000 };
  const ask = () => poor.fetch('/v1/chat/completions', { json: { model: 'chat', ...hello } });
  assert.equal((await ask()).status, 200);
  const refused = await ask();
  assert.equal(refused.status, 429, await refused.text());
});

test('the newest list is taken over where the configuration allows it, and kept for the next start', async (t) => {
  const prices = { input_mtok: 77, output_mtok: 0 };
  const own = { id: 'openai', name: 'OpenAI', api_pattern: 'https://api\\.openai\\.com' };
  const listed = (match: object) => JSON.stringify([{ ...own, models: [{ id: 'gpt-4o', match, prices }] }]);
  published = listed({ equals: 'gpt-4o' });
  const updated = await startGateway(t, { ...config, prices: { update: true, url: `${base}/data.json` } });
  const inputPrice = async () => {
    const { data } = (await (await updated.fetch('/v1/models')).json()) as { data: Entry[] };
    return data.find(({ id }) => id === 'chat')!.pricing?.input;
  };
  while ((await inputPrice()) !== 77) await new Promise((resolve) => setTimeout(resolve, 10));
  await updated.reload({ ...config, prices: { update: false } });
  assert.equal(await inputPrice(), 2.5);
  await updated.reload({ ...config, prices: { update: true, url: `${base}/data.json` } });
  assert.equal(await inputPrice(), 77);
  await updated.reload(config);
});

test('culvert check names the models of services for which nobody has a price', async () => {
  const text = `
providers:
  openai: { type: openai, api_key: k }
  home: { type: ollama }
models:
  known: { targets: [openai/gpt-4o] }
  unknown: { targets: [openai/my-finetune] }
  stated: { targets: [{ provider: openai, model: other, price: { input: 1 } }] }
  local: { targets: [home/llama] }
storage: { data_dir: /nonexistent/culvert }
autodetect: off
`;
  const checked = checkConfigText(text, 'culvert.yaml', {});
  assert.ok(checked.ok);
  const { snapshot } = await previewSnapshot(checked.config, {});
  assert.deepEqual(unpricedTargets(snapshot, budgetedIn(checked.config)), ['openai/my-finetune']);
  // What runs at home may cost nothing, until a budget should count it.
  const teams = {
    all: { ...checked.config, accounts: { acme: { budgets: [{ by: 'user', usd: 5, calendar: 'day' }] } } },
    local: { ...checked.config, plans: { team: { budget: { month: 5 }, models: ['loc*'] } } },
    other: { ...checked.config, plans: { team: { calendar_budget: { month: 5 }, models: ['known'] } } },
    of: { ...checked.config, accounts: { acme: { budgets: [{ model: 'known', usd: 5, calendar: 'day' }] } } },
    plan: {
      ...checked.config,
      plans: { team: { models: ['known'] } },
      accounts: { acme: { plan: 'team', budgets: [{ by: 'user', usd: 5, calendar: 'day' }] } },
      keys: [{ account: 'acme', limits: { budget: { month: 5 } } }],
    },
    units: { ...checked.config, plans: { team: { windows: { month: 5 }, budget: { month: 'off' } } } },
  };
  const named = Object.values(teams).map((config) => unpricedTargets(snapshot, budgetedIn(config as never)));
  const both = ['openai/my-finetune', 'home/llama'];
  assert.deepEqual(named, [both, both, ...Array(4).fill([both[0]])]);
});

test('a model that prefers the cheapest asks it, and the explanation says why', async (t) => {
  const target = (name: string, model: string) => ({ provider: name, model, stream: false });
  const targets = [target('openai', 'gpt-4o'), target('openai', 'gpt-4o-mini'), target('openai', 'gpt-4-turbo')];
  const thrifty = await startGateway(t, { ...config, models: { smart: { prefer: 'cheapest', targets } } });
  told = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
  for (let i = 0; i < 5; i++) {
    const answer = await thrifty.fetch('/v1/chat/completions', { json: { model: 'smart', ...hello } });
    await answer.text();
    assert.equal(answer.headers.get('x-culvert-model'), 'gpt-4o-mini');
  }
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ body: { model: 'smart', ...hello } });
  const explained = await fetch(`${thrifty.url}/admin/v1/explain`, { method: 'POST', headers, body });
  const { candidates } = (await explained.json()) as { candidates: { target: string; verdict: string }[] };
  const verdict = candidates.find((one) => one.target === 'openai/gpt-4o-mini')?.verdict;
  assert.match(verdict ?? '', /^ready: picked, cheapest: about 0\.0003\d* USD$/);
});
