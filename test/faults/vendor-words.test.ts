import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { callerIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';

const secret = 'gsk_upstream-secret-0123456789';
/** As Groq reports a malformed call. The model's own words may be long, and hold what looks like anything. */
const failedGeneration = `<function=look{"at": "https://example.com/a", "key": "${secret}", "why": "${'because '.repeat(100)}"`;
const toolUseFailed = {
  message: 'Failed to call a function. Please adjust your prompt.',
  type: 'invalid_request_error',
  code: 'tool_use_failed',
  failed_generation: failedGeneration,
  status_code: 400,
};
const heard = failedGeneration.replace(secret, '[redacted]');
/** As OpenRouter reports the findings of its moderation, and the other providers that it asked. */
const flagged = {
  message: 'Your input was flagged',
  code: 403,
  metadata: { reasons: ['violence'], raw: `asked https://10.0.0.7:8080/v1 with ${secret}` },
};

const limited = { message: 'Slow down', code: 429, metadata: { provider_name: 'Acme', raw: `spent ${secret}` } };

const sse = (...datas: readonly object[]) => datas.map((data) => `data: ${JSON.stringify(data)}\n\n`).join('');
const text = (content: string) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }],
});

const stream = (body: string) => ({ status: 200, type: 'text/event-stream', body });
const places = {
  refused: { status: 400, type: 'application/json', body: JSON.stringify({ error: toolUseFailed }) },
  inside: { status: 200, type: 'application/json', body: JSON.stringify({ error: toolUseFailed }) },
  before: stream(sse({ error: toolUseFailed })),
  after: stream(sse(text('Let me look.'), { error: toolUseFailed })),
  flagged: { status: 403, type: 'application/json', body: JSON.stringify({ error: flagged }) },
  // As proxies in front of vLLM report it, and as Google names a place.
  queued: {
    status: 503,
    type: 'application/json',
    body: JSON.stringify({ error: { message: '[503] Queue is full.' } }),
  },
  placed: {
    status: 400,
    type: 'application/json',
    body: JSON.stringify({ error: { message: 'Bad messages[12] of [fd00::1]:80' } }),
  },
  crowded: stream(
    sse(text('Let me look.'), {
      error: { message: 'Busy', code: 'server_is_overloaded', status_code: 503, shard: 7 },
    }),
  ),
  // As OpenRouter ends an answer at which its provider has had enough.
  limited: stream(sse(text('Let me look.'), { ...text(''), error: limited })),
  overloaded: stream(
    sse({ type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 1 } } }) +
      sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Let me look.' } }) +
      sse({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded', details: { shard: 7 } } }),
  ),
};

const types: Readonly<Record<string, string>> = {
  flagged: 'openrouter',
  limited: 'openrouter',
  overloaded: 'anthropic',
};

async function setup(t: TestContext) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const answer = places[request.url!.split('/')[1] as keyof typeof places];
      if (answer === undefined) return response.writeHead(404).end();
      response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body);
    });
  });
  const url = await listening(t, server);
  const provider = (place: string) => ({
    type: types[place] ?? 'groq',
    base_url: `${url}/${place}/v1`,
    api_key: secret,
  });
  const names = Object.keys(places);
  return startGateway(t, {
    providers: Object.fromEntries(names.map((name) => [name, provider(name)])),
    models: Object.fromEntries(names.map((name) => [name, { targets: [`${name}/m`] }])),
  });
}

/** Members of the error that a body, or a stream's last frame, tells; Google's stand among its metadata. */
function errorIn(said: string): JsonObject {
  const datas = said.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []));
  const body = JSON.parse(datas.findLast((data) => data.includes('failed_generation')) ?? said) as {
    error?: JsonObject & { details?: { metadata?: JsonObject }[] };
    response?: { error: JsonObject };
  };
  const error = body.response?.error ?? body.error!;
  return { ...error, ...(body.error?.details?.[0]?.metadata ?? {}) };
}

test("F69 an error of a provider's own keeps its status, code and members in every format, before content and after it", async (t) => {
  const gateway = await setup(t);
  for (const caller of callerIds) {
    const format = callerFormats[caller];
    const ask = (model: string, delivery: 'whole' | 'stream') =>
      gateway.fetch(format.path(model, delivery), { json: format.body(model, { say: 'Hi', maxTokens: 9 }, delivery) });
    for (const [place, delivery] of [
      ['refused', 'whole'],
      ['inside', 'whole'],
      ['refused', 'stream'],
      ['before', 'stream'],
      ['after', 'stream'],
    ] as const) {
      const response = await ask(place, delivery);
      const said = await response.text();
      assert.equal(response.status, place === 'after' ? 200 : 400, said);
      const { code, failed_generation } = errorIn(said);
      assert.deepEqual({ code, failed_generation }, { code: 'tool_use_failed', failed_generation: heard }, caller);
      assert.equal((await explained(gateway, response)).class, 'upstream-refused');
      assert.ok(!said.includes(secret));
    }
    const response = await ask('flagged', 'whole');
    const said = await response.text();
    assert.equal(response.status, 403);
    assert.ok(said.includes('violence') && !said.includes(secret) && !said.includes('10.0.0.7'), said);
  }
});

test('a number in brackets in words of a provider reaches the caller, and an address does not', async (t) => {
  const gateway = await setup(t);
  const json = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hi' }] });
  for (const [model, status, words] of [
    ['placed', 400, 'Bad messages[12] of [address]'],
    ['queued', 502, '[503] Queue is full.'],
  ] as const) {
    const response = await gateway.fetch('/v1/chat/completions', { json: json(model) });
    assert.equal(response.status, status);
    assert.ok(((await response.json()) as { error: { message: string } }).error.message.includes(words));
  }
});

test('F69 an error that breaks an answer off keeps its status, type and members in every format', async (t) => {
  // How each format tells them: [limited, overloaded, crowded]. At other words Claude Code and Codex would give up.
  const told = {
    'openai-chat': [
      { type: 'rate_limit_error', code: 429 },
      { type: 'overloaded_error', code: 529 },
      { type: 'overloaded_error', code: 'server_is_overloaded' },
    ],
    'anthropic-messages': [
      { type: 'api_error', code: 429 },
      { type: 'overloaded_error', code: 529 },
      { type: 'overloaded_error', code: 'server_is_overloaded' },
    ],
    'openai-responses': [{ code: 'rate_limit_exceeded' }, { code: 'overloaded_error' }, { code: 'server_error' }],
    gemini: [
      { code: 429, status: 'RESOURCE_EXHAUSTED' },
      { code: 529, status: 'UNAVAILABLE' },
      { code: 503, status: 'UNAVAILABLE' },
    ],
  } as const;
  for (const caller of callerIds) {
    // Of its own: a target rests after a 429.
    const gateway = await setup(t);
    const format = callerFormats[caller];
    for (const [at, model] of (['limited', 'overloaded', 'crowded'] as const).entries()) {
      const json = format.body(model, { say: 'Hi', maxTokens: 9 }, 'stream');
      const response = await gateway.fetch(format.path(model, 'stream'), { json });
      const said = await response.text();
      assert.ok(said.includes('Let me look.') && said.includes('premature end') && !said.includes(secret), said);
      const last = said.split('\n').findLast((line) => line.startsWith('data: {'))!;
      const body = JSON.parse(last.slice(6)) as { error?: JsonObject; response?: { error: JsonObject } };
      assert.partialDeepStrictEqual(body.response?.error ?? body.error!, told[caller][at]!);
      assert.ok(last.includes(model === 'limited' ? 'Acme' : 'shard'), last);
      assert.equal((await explained(gateway, response)).class, 'upstreams-failed');
    }
  }
});

test("F69 vendors' SDKs hand them on", async (t) => {
  const gateway = await setup(t);
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  await assert.rejects(openai.chat.completions.create({ model: 'refused', messages }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.code, 'tool_use_failed');
    assert.equal((error.error as JsonObject).failed_generation, heard);
    return true;
  });
  const chunks = await openai.chat.completions.create({ model: 'after', messages, stream: true });
  await assert.rejects(
    async () => {
      for await (const _ of chunks);
    },
    (error) => error instanceof OpenAI.APIError && error.code === 'tool_use_failed',
  );
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  await assert.rejects(anthropic.messages.create({ model: 'refused', max_tokens: 9, messages }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal((error.error as { error: JsonObject }).error.failed_generation, heard);
    return true;
  });
});
