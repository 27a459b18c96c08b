import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { adminKey, answerKept, startGateway } from '../start-gateway.ts';
import * as rich from './rich-answers.ts';

/* A caller behind a guard gets the answer of the provider, but for the words that the guard masks. */

const why = `It may not write to ${rich.made}.`;
const refusal = {
  ...rich.anthropicMessage,
  content: [],
  stop_reason: 'refusal',
  stop_details: { type: 'refusal', category: 'bio', explanation: why },
};

/** Lists and pages that come in the midst of a value. */
const pagesOf = { urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://a.example/' }] } };
const [head, rest] = [rich.made.slice(0, 9), `${rich.made.slice(9)} today.`];
const halves = {
  chat: [
    { choices: [{ index: 0, delta: { content: `To ${head}` } }], citations: ['https://a.example/'] },
    { choices: [{ index: 0, delta: { content: rest } }], citations: ['https://b.example/'] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ],
  gemini: [
    { candidates: [{ content: { parts: [{ text: `To ${head}` }] }, ...pagesOf }] },
    { candidates: [{ content: { parts: [{ text: rest }] }, finishReason: 'STOP' }] },
  ],
};
const silent = { role: 'assistant', content: '' };
const choices = [{ index: 0, message: silent, finish_reason: 'stop' }];
const empty = { ...rich.completion, choices, citations: [], usage: undefined };

let lastBody = '';
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  lastBody = body || lastBody;
  const url = request.url ?? '';
  if (request.method !== 'POST') return void response.writeHead(404).end();
  const [whole, events] = url.endsWith('/responses')
    ? [rich.response, rich.responseEvents()]
    : url.endsWith('/messages')
      ? [body.includes('Refuse') ? refusal : rich.anthropicMessage, rich.anthropicEvents()]
      : url.includes('enerateContent')
        ? body.includes('Halves')
          ? [{ candidates: [{ ...halves.gemini[1]!.candidates[0], ...pagesOf }] }, halves.gemini]
          : [rich.candidate, [rich.candidate]]
        : body.includes('Halves')
          ? [empty, halves.chat]
          : body.includes('Sources')
            ? [
                { ...rich.completion, ...rich.lists },
                rich.completionChunks().map((chunk) => ({ ...chunk, ...rich.lists })),
              ]
            : [rich.completion, rich.completionChunks()];
  const streams = body.includes('"stream":true') || url.includes('stream');
  response.setHeader('content-type', streams ? 'text/event-stream' : 'application/json');
  if (!streams) return void response.end(JSON.stringify(whole));
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end(url.endsWith('/completions') ? 'data: [DONE]\n\n' : '');
});
const origin = await listening({ after: after as never }, upstream);
const api_key = 'test';
const targets = { openai: 'openai/m', responses: 'responses/m', claude: 'claude/m', gemini: 'gemini/m' };
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    openai: { type: 'openai', base_url: `${origin}/v1`, api_key },
    responses: { type: 'openai', base_url: `${origin}/v1`, api_key, dialects: ['openai-responses'] },
    claude: { type: 'anthropic', base_url: `${origin}/v1`, api_key },
    gemini: { type: 'gemini', base_url: `${origin}/v1beta`, api_key },
  },
  guards: { pii: { check: 'personal-data', kinds: ['email'], action: 'mask', on_error: 'allow' } },
  models: Object.fromEntries(
    Object.entries(targets).flatMap(([name, target]) => [
      [`${name}-plain`, { targets: [target] }],
      [`${name}-masked`, { targets: [target], guards: ['pii'] }],
      [`${name}-kept`, { targets: [target], guards: ['pii'], cache: { ttl: '1h' } }],
    ]),
  ),
});

const messages = [{ role: 'user', content: 'Hi' }];
const tool = { name: 'f', input_schema: { type: 'object' } };
const requests: Record<string, (model: string, stream: boolean) => [path: string, json: object]> = {
  responses: (model, stream) => [
    '/v1/responses',
    {
      model: `responses-${model}`,
      stream,
      store: false,
      input: 'Hi',
      tools: [{ type: 'function', name: 'f', parameters: {} }],
    },
  ],
  messages: (model, stream) => [
    '/v1/messages',
    { model: `claude-${model}`, stream, max_tokens: 99, messages, tools: [tool] },
  ],
  chat: (model, stream) => [
    '/v1/chat/completions',
    { model: `openai-${model}`, stream, messages, ...(stream && { stream_options: { include_usage: true } }) },
  ],
  gemini: (model, stream) => [
    `/v1beta/models/gemini-${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  ],
};

/** Ids of a converted response and of its items are this server's, and Messages name the model that was asked for. */
const ofServer = /"(id|model)":"(?:(?:resp|msg|rs|fc)_|claude-)[\w-]+"/g;

async function events(format: string, model: string, stream: boolean): Promise<JsonObject[]> {
  const [path, json] = requests[format]!(model, stream);
  const reply = await gateway.fetch(path, { method: 'POST', json });
  const body = await reply.text();
  assert.equal(reply.status, 200, body);
  assert.equal(reply.headers.get('x-culvert-guard') !== null, model === 'masked');
  const same = body.replaceAll(rich.made, '<EMAIL_1>').replaceAll(ofServer, '"$1":""');
  const lines = stream ? [...same.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => data!) : [same];
  return lines.map((line) => JSON.parse(line) as JsonObject);
}

/** The answer that a client puts together of events, as far as guards may change its pieces. */
function gathered(format: string, all: readonly JsonObject[]): unknown {
  const of = (type: string) => all.filter((event) => event.type === type);
  if (format === 'responses') return responseOf(all.at(-1)?.response as JsonObject);
  if (format === 'messages') {
    const deltas = of('content_block_delta').map(({ delta }) => delta as JsonObject);
    const citations = deltas.filter(({ type }) => type === 'citations_delta');
    const text = deltas.map((delta) => delta.text ?? '').join('');
    const counts = of('message_start').map(({ message }) => (message as JsonObject).usage as JsonObject);
    const input = counts.map(({ input_tokens, cache_read_input_tokens }) => [input_tokens, cache_read_input_tokens]);
    return {
      input,
      citations,
      text,
      calls: of('content_block_start').slice(1),
      end: of('message_delta'),
    };
  }
  if (format === 'gemini')
    return all.map(({ candidates, ...last }) => [(candidates as JsonObject[])[0]?.finishMessage, last]).at(-1);
  const choices = all.map((chunk) => (chunk.choices as JsonObject[])[0]);
  const text = choices.map((choice) => (choice?.delta as JsonObject | undefined)?.content ?? '').join('');
  const { choices: _, ...last } = all.at(-1)!;
  return {
    text,
    heads: all.map((chunk) => [chunk.service_tier, chunk.system_fingerprint]).at(0),
    last,
    finish: choices.at(-2),
  };
}

function responseOf({ completed_at, store, metadata, ...response }: JsonObject): JsonObject {
  const known = Object.keys(rich.response);
  return Object.fromEntries(Object.entries(response).filter(([name]) => known.includes(name)));
}

for (const format of Object.keys(requests)) {
  test(`a guard leaves a whole answer of ${format} as it is, but for masked words`, async () => {
    const [plain] = await events(format, 'plain', false);
    const [masked] = await events(format, 'masked', false);
    if (format === 'responses') assert.deepEqual(responseOf(masked!), responseOf(plain!));
    else assert.deepEqual(masked, plain);
  });

  test(`a guard leaves a streamed answer of ${format} as it is, but for masked words`, async () => {
    const plain = gathered(format, await events(format, 'plain', true));
    const masked = gathered(format, await events(format, 'masked', true));
    assert.deepEqual(masked, plain);
  });
}

for (const stream of [false, true]) {
  test(`lists of an answer in addition to its choices pass a guard: ${stream ? 'streamed' : 'whole'}`, async () => {
    const json = { stream, messages: [{ role: 'user', content: `Sources ${stream}` }] };
    for (const model of ['openai-masked', 'openai-kept', 'openai-kept']) {
      const body = await (await gateway.fetch('/v1/chat/completions', { json: { model, ...json } })).text();
      const chunks = stream ? Array.from(body.matchAll(/^data: (\{.*)$/gm), ([, data]) => data!) : [body];
      const found = chunks.map((chunk) => JSON.parse(chunk) as JsonObject).filter((chunk) => 'citations' in chunk);
      const lists = found.map(({ citations, search_results }) => ({ citations, search_results }));
      assert.deepEqual(lists, [JSON.parse(JSON.stringify(rich.lists).replaceAll(rich.made, '<EMAIL_1>'))]);
    }
    const again = await gateway.fetch('/v1/chat/completions', { json: { model: 'openai-kept', ...json } });
    assert.match(again.headers.get('x-culvert-cache') ?? '', /^hit/, await again.text());
  });
}

for (const model of ['openai', 'gemini']) {
  test(`a value is found though lists of ${model} come in its midst`, async () => {
    const json = { model: `${model}-masked`, stream: true, messages: [{ role: 'user', content: 'Halves' }] };
    const body = await (await gateway.fetch('/v1/chat/completions', { json })).text();
    const text = Array.from(body.matchAll(/"content":"([^"]*)"/g), ([, piece]) => piece).join('');
    assert.equal(text, 'To <EMAIL_1> today.');
    assert.match(body, model === 'openai' ? /a\.example.*b\.example/s : /x-culvert-dropped: urlContextMetadata/);
  });
}

test('an answer without a word is none behind a guard, though it has lists', async () => {
  for (const model of ['openai-plain', 'openai-masked']) {
    const json = { model, messages: [{ role: 'user', content: 'Halves' }] };
    const reply = await gateway.fetch('/v1/chat/completions', { json });
    assert.match(`${reply.status} ${await reply.text()}`, /^502 .*the answer is empty/, model);
  }
});

test('a cache keeps an answer that lost a member, and a hit names it, too', async () => {
  const json = { model: 'gemini-kept', messages: [{ role: 'user', content: 'Halves' }] };
  for (const cache of [/^miss/, /^hit/]) {
    const sinceMs = Date.now();
    const reply = await gateway.fetch('/v1/chat/completions', { json });
    assert.match(reply.headers.get('x-culvert-cache') ?? '', cache, await reply.text());
    assert.equal(reply.headers.get('x-culvert-dropped'), 'urlContextMetadata');
    await answerKept(gateway, sinceMs);
  }
});

test('a text among the further members of an answer is masked or left out', async () => {
  const json = { model: 'claude-masked', max_tokens: 99, messages: [{ role: 'user', content: 'Refuse' }] };
  const reply = await gateway.fetch('/v1/messages', { method: 'POST', json });
  const body = await reply.text();
  assert.equal(reply.status, 200, body);
  assert.ok(!body.includes(rich.made), body);
  assert.deepEqual((JSON.parse(body) as JsonObject).stop_details, { type: 'refusal', category: 'bio' });
});

test('a response repeats metadata as the caller wrote it, and its provider gets words', async () => {
  const json = { model: 'responses-masked', store: false, input: 'Hi', metadata: { for: 'jo@example.org' } };
  const answer = (await (await gateway.fetch('/v1/responses', { json })).json()) as JsonObject;
  assert.deepEqual(answer.metadata, { for: 'jo@example.org' });
  assert.match(lastBody, /"metadata":\{"for":"<EMAIL_1>"\}/);
});

test('budgets count by the end user and the tag that the caller names, and its provider gets a word', async () => {
  for (const user of ['jo@example.org', 'al@example.org']) {
    const json = { model: 'openai-masked', messages, user, metadata: { tag: user } };
    const response = await gateway.fetch('/v1/chat/completions', { json });
    const id = response.headers.get('x-culvert-request-id');
    assert.match(lastBody, /"user":"<EMAIL_1>"/);
    const headers = { authorization: `Bearer ${adminKey}` };
    const record = await fetch(`${gateway.url}/admin/v1/requests/${id}`, { headers });
    const { user: counted, tag } = (await record.json()) as JsonObject;
    assert.deepEqual({ counted, tag }, { counted: user, tag: user });
  }
});
