import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { textsOf } from '../steps/texts-of.ts';
import { questions, startModel } from './start-model.ts';
import { startService } from './start-service.ts';

/* A value hides in no boundary: of two parts of one text, or of calls whose arguments come by turns. */

type Send = (event: Record<string, unknown>) => void;

/** Parts of the next answer, each with a source where it names one. */
let parts: { text: string; source?: string; behind?: 'thinking' | 'tool_use' | 'server_tool_use' }[] = [];
/** Pieces of the arguments of two calls, which come by turns; empty: the answer is a text. */
let calls: readonly (readonly [call: number, piece: string])[] = [];

const between = {
  thinking: { type: 'thinking', thinking: 'Hm <EMAIL_1>.', signature: 'c2lnbmVk' },
  tool_use: { type: 'tool_use', id: 't', name: 'f', input: { to: '<EMAIL_1>' } },
  server_tool_use: { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: '<EMAIL_1>' } },
};

function sendMessages(send: Send): void {
  send({ type: 'message_start', message: { id: 'm', role: 'assistant', model: 'm', usage: { input_tokens: 1 } } });
  let index = -1;
  for (const { text, source, behind } of parts) {
    index += 1;
    send({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } });
    for (const [piece] of text.matchAll(/.{1,5}/gs)) {
      send({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: piece } });
    }
    const citation = { type: 'web_search_result_location', url: source, title: 'A', cited_text: 'A.' };
    if (source !== undefined)
      send({ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } });
    send({ type: 'content_block_stop', index });
    if (behind === undefined) continue;
    index += 1;
    send({ type: 'content_block_start', index, content_block: between[behind] });
    send({ type: 'content_block_stop', index });
  }
  send({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } });
  send({ type: 'message_stop' });
}

function sendResponse(send: Send): void {
  const response = { id: 'r', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] };
  send({ type: 'response.created', response });
  const item = { type: 'message', id: 'i', role: 'assistant', content: [] };
  const at = { item_id: 'i', output_index: 0 };
  send({ type: 'response.output_item.added', output_index: 0, item });
  for (const [content_index, { text }] of parts.entries()) {
    const part = { type: 'output_text', text: '', annotations: [] };
    send({ type: 'response.content_part.added', ...at, content_index, part });
    for (const [delta] of text.matchAll(/.{1,5}/gs)) {
      send({ type: 'response.output_text.delta', ...at, content_index, delta });
    }
    send({ type: 'response.content_part.done', ...at, content_index, part: { ...part, text } });
  }
  const content = parts.map(({ text }) => ({ type: 'output_text', text, annotations: [] }));
  const output = [{ ...item, content, status: 'completed' }];
  send({ type: 'response.output_item.done', output_index: 0, item: output[0] });
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
  send({ type: 'response.completed', response: { ...response, status: 'completed', output, usage } });
}

function sendCalls(send: Send): void {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    send({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason }] });
  const begun = new Set<number>();
  for (const [index, piece] of calls) {
    const head = begun.has(index) ? {} : { id: `call_${index}`, type: 'function' };
    const name = begun.has(index) ? {} : { name: 'send' };
    begun.add(index);
    chunk({ tool_calls: [{ index, ...head, function: { ...name, arguments: piece } }] });
  }
  chunk({}, 'tool_calls');
}

const upstream = createServer(async (request, response) => {
  for await (const _ of request);
  if (request.method !== 'POST') return void response.writeHead(404).end();
  response.setHeader('content-type', 'text/event-stream');
  const send: Send = (event) =>
    response.write(`${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`);
  if (request.url?.endsWith('/messages') === true) sendMessages(send);
  else if (request.url?.endsWith('/responses') === true) sendResponse(send);
  else sendCalls(send);
  response.end(request.url?.endsWith('/completions') === true ? 'data: [DONE]\n\n' : '');
});
const origin = await listening({ after: after as never }, upstream);
const service = await startService(after);
service.play = ({ body }) => {
  const { texts } = JSON.parse(body) as { texts: { text: string }[] };
  const findings = texts.flatMap(({ text }, at) =>
    Array.from(text.matchAll(/\w+\.\w+@\w+\.(?:org|net)/g), ({ 0: value, index: start }) => ({
      ...{ kind: 'email', text: at, start, end: start + value.length },
    })),
  );
  return findings.length === 0 ? { verdict: 'pass' } : { verdict: 'mask', findings };
};
const secret = 'whsec_c2VjcmV0LW9mLWEtZ3VhcmQtd2hpY2gtc2lnbnM=';
const model = await startModel(after);
const emails = { check: 'personal-data', kinds: ['email'], on: ['output'] };
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    anthropic: { type: 'anthropic', base_url: origin, api_key: 'k' },
    responses: { type: 'openai', base_url: `${origin}/v1`, api_key: 'k', dialects: ['openai-responses'] },
    chat: { type: 'openai', base_url: `${origin}/v1`, api_key: 'k' },
    asked: { type: 'openai', base_url: model.url, api_key: 'k' },
  },
  guards: {
    'masks-requests': { ...emails, on: ['input'], action: 'mask' },
    'blocks-requests': { ...emails, on: ['input'], action: 'block' },
    masks: { ...emails, action: 'mask' },
    'gives-back': { ...emails, on: ['input', 'output'], action: 'mask' },
    blocks: { ...emails, action: 'block' },
    flags: { ...emails, action: 'flag' },
    asks: { check: 'webhook', url: service.url, secret, action: 'mask', on: ['output'], deadline: '20s' },
    short: { check: 'sizes', limits: { chars: 10_000 }, action: 'block' },
  },
  models: Object.fromEntries([
    ...['masks-requests', 'blocks-requests'].map((guard) => [guard, { targets: ['asked/m'], guards: [guard] }]),
    ...['anthropic', 'responses', 'chat'].flatMap((provider) =>
      ['masks', 'gives-back', 'blocks', 'flags', 'asks'].map((guard) => [
        `${provider}-${guard}`,
        { targets: [`${provider}/m`], guards: [guard, 'short'] },
      ]),
    ),
  ]),
});

async function ask(model: string, format: string, stream: boolean) {
  const [path, json] = questions[format]!(model, 'Hello', stream);
  const response = await gateway.fetch(path, { json });
  const raw = await response.text();
  return { raw, status: response.status, text: textsOf(raw, stream), guard: response.headers.get('x-culvert-guard') };
}

for (const provider of ['anthropic', 'responses']) {
  for (const format of ['chat', 'messages', 'responses', 'gemini']) {
    for (const stream of [false, true]) {
      const of = `${provider} to ${format}, ${stream ? 'streamed' : 'whole'}`;
      test(`a value across two parts of an answer is masked and blocked: ${of}`, async () => {
        parts = [{ text: 'Please ask jo.doe@exam' }, { text: 'ple.org today.' }];
        const masked = await ask(`${provider}-masks`, format, stream);
        assert.equal(masked.status, 200, masked.raw);
        assert.match(masked.raw, /<EMAIL_1>/);
        assert.doesNotMatch(masked.raw, /jo\.do|exam|ple\.o/);
        assert.match(masked.text, / today\./);
        const asked = await ask(`${provider}-asks`, format, stream);
        assert.doesNotMatch(asked.raw, /jo\.do|exam|ple\.o/);
        const blocked = await ask(`${provider}-blocks`, format, stream);
        assert.doesNotMatch(blocked.raw, /jo\.do|exam|ple\.o/);
        const flagged = await ask(`${provider}-flags`, format, stream);
        assert.equal(flagged.status, 200, flagged.raw);
        if (!stream) assert.match(flagged.guard ?? '', /flags=flagged:1/);
      });
    }
  }
}

for (const stream of [false, true]) {
  test(`a word across two parts gives its value back in the first: ${stream ? 'streamed' : 'whole'}`, async () => {
    parts = [{ text: 'Ask <EMAIL' }, { text: '_1> today, or <NONE' }, { text: '_1>.' }];
    const question = 'Who is jo.doe@example.org?';
    const [path, json] = questions.messages!('anthropic-gives-back', question, stream);
    const raw = await (await gateway.fetch(path, { json })).text();
    const texts = Array.from(raw.matchAll(/"text":"([^"]*)"/g), ([, text]) => text);
    assert.equal(texts.join(''), 'Ask jo.doe@example.org today, or <NONE_1>.');
    assert.equal(texts.at(-1), '_1>.', 'what is no word stays in its parts');
  });
}

for (const behind of ['thinking', 'tool_use', 'server_tool_use'] as const) {
  for (const stream of [false, true]) {
    test(`a word gives its value back before a block of ${behind} in its midst: ${stream ? 'streamed' : 'whole'}`, async () => {
      parts = [{ text: 'Ask <EMAIL', behind }, { text: '_1> today <', behind }, { text: 'EMAIL_2>.' }];
      const [path, json] = questions.messages!('anthropic-gives-back', 'Who is jo.doe@example.org?', stream);
      const thinking = { type: 'enabled', budget_tokens: 1_024 };
      const reply = await gateway.fetch(path, { json: { ...json, max_tokens: 2_000, thinking } });
      const raw = await reply.text();
      const blocks = raw.matchAll(/"text":"([^"]+)"|"type":"(thinking|tool_use|server_tool_use)"/g);
      const order = Array.from(blocks, ([, text, type]) => text ?? `(${type})`).join('');
      assert.equal(order, `Ask jo.doe@example.org(${behind}) today <(${behind})EMAIL_2>.`);
    });
  }
}

for (const behind of ['thinking', 'tool_use', 'server_tool_use'] as const) {
  for (const format of ['chat', 'messages', 'responses', 'gemini']) {
    for (const stream of [false, true]) {
      test(`the rest of a value behind a block of ${behind} is masked or blocked: ${format}, ${stream ? 'streamed' : 'whole'}`, async () => {
        parts = [{ text: 'Please ask jo.doe@exam', behind }, { text: 'ple.o', behind }, { text: 'rg today.' }];
        const masked = await ask('anthropic-masks', format, stream);
        assert.equal(masked.status, 200, masked.raw);
        assert.match(masked.text, /jo\.doe@exam/);
        assert.match(masked.text, /<EMAIL_1> ?today\./);
        assert.doesNotMatch(masked.raw, /"(?:rg today)/);
        const blocked = await ask('anthropic-blocks', format, stream);
        assert.match(blocked.raw, /content_filter|refusal|SAFETY/);
        assert.doesNotMatch(blocked.raw, /rg today/);
        const flagged = await ask('anthropic-flags', format, stream);
        assert.equal(flagged.status, 200, flagged.raw);
        if (!stream) assert.match(flagged.guard ?? '', /flags=flagged:1/);
      });
    }
  }
}

for (const stream of [false, true]) {
  test(`the rest of what was a value already is masked behind a thought: ${stream ? 'streamed' : 'whole'}`, async () => {
    parts = [
      { text: 'Ask jo.doe@example.co', behind: 'thinking' },
      { text: 'm or di@example.org', behind: 'thinking' },
    ];
    parts.push({ text: ' today.' });
    const { text, raw } = await ask('anthropic-masks', 'messages', stream);
    assert.match(text, /Ask <EMAIL_1>\W*<EMAIL_2> or <EMAIL_3>\W* today\./, raw);
  });
}

test('the parts of an answer stay apart, each with its sources, and a value across them has its word in the first', async () => {
  parts = [
    { text: 'As they say, ' },
    { text: 'the sky is blue', source: 'https://a.example/' },
    { text: ' and jo.doe@exam' },
    { text: 'ple.org knows', source: 'https://b.example/' },
    { text: '.' },
  ];
  const { raw } = await ask('anthropic-masks', 'messages', false);
  const content = JSON.parse(raw).content as { text: string; citations?: { url: string }[] }[];
  assert.deepEqual(
    content.map(({ text, citations }) => [text, ...(citations ?? []).map(({ url }) => url)]),
    [
      ['As they say, '],
      ['the sky is blue', 'https://a.example/'],
      [' and <EMAIL_1>'],
      [' knows', 'https://b.example/'],
      ['.'],
    ],
  );
  const streamed = await ask('anthropic-masks', 'messages', true);
  const blocks: [text: string, ...sources: string[]][] = [];
  for (const [, data = ''] of streamed.raw.matchAll(/^data: (.*)$/gm)) {
    const event = JSON.parse(data);
    if (event.type === 'content_block_start') blocks[event.index] = [''];
    const block = blocks[event.index];
    if (event.delta?.type === 'text_delta') block![0] += event.delta.text;
    if (event.delta?.type === 'citations_delta') block!.push(event.delta.citation.url);
  }
  assert.deepEqual(
    blocks,
    content.map(({ text, citations }) => [text, ...(citations ?? []).map(({ url }) => url)]),
  );
});

for (const format of ['chat', 'messages', 'responses', 'gemini']) {
  for (const stream of [false, true]) {
    test(`a value in calls whose arguments come by turns is masked and blocked: ${format}, ${stream ? 'streamed' : 'whole'}`, async () => {
      calls = [
        [0, '{"to":"jo.doe@ex'],
        [1, '{"to":"ann.lee@'],
        [0, 'ample.org"}'],
        [1, 'example.net","n":1}'],
      ];
      const masked = await ask('chat-masks', format, stream);
      assert.equal(masked.status, 200, masked.raw);
      assert.doesNotMatch(masked.raw, /jo\.do|ann\.lee|ampl/);
      for (const word of ['<EMAIL_1>', '<EMAIL_2>']) assert.ok(masked.text.includes(word), masked.text);
      const asked = await ask('chat-asks', format, stream);
      assert.doesNotMatch(asked.raw, /jo\.do|ann\.lee|ampl/);
      const blocked = await ask('chat-blocks', format, stream);
      assert.doesNotMatch(blocked.raw, /jo\.do|ann\.lee|ampl/);
    });
  }
}

const texts = ['Please ask jo.doe@exam', 'ple.org today.'];
const inParts: Record<string, (model: string) => [path: string, json: object]> = {
  chat: (model) => [
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }] },
  ],
  messages: (model) => [
    '/v1/messages',
    { model, max_tokens: 9, messages: [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }] },
  ],
  responses: (model) => [
    '/v1/responses',
    { model, input: [{ role: 'user', content: texts.map((text) => ({ type: 'input_text', text })) }] },
  ],
  gemini: (model) => [
    `/v1beta/models/${model}:generateContent`,
    { contents: [{ role: 'user', parts: texts.map((text) => ({ text })) }] },
  ],
};

const blocks = texts.map((text) => ({ type: 'text', text }));
const hello = [{ role: 'user', content: 'Hello' }];
const inMessages = (more: object) => (model: string) =>
  ['/v1/messages', { model, max_tokens: 9, messages: hello, ...more }] as [path: string, json: object];
Object.assign(inParts, {
  'Messages with marks of a cache': inMessages({
    messages: [
      { role: 'user', content: blocks.map((block) => ({ ...block, cache_control: { type: 'ephemeral', ttl: '1h' } })) },
    ],
  }),
  'a system prompt of Messages': inMessages({ system: blocks }),
  'a result of a tool of Messages': inMessages({
    messages: [
      ...hello,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: blocks }] },
    ],
  }),
  'an output of a tool of Responses': (model: string) => [
    '/v1/responses',
    {
      model,
      input: [
        ...hello,
        { type: 'function_call', call_id: 't', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 't', output: texts.map((text) => ({ type: 'input_text', text })) },
      ],
    },
  ],
  'an instruction of Gemini': (model: string) => [
    `/v1beta/models/${model}:generateContent`,
    {
      systemInstruction: { parts: texts.map((text) => ({ text })) },
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    },
  ],
});

for (const [format, bodyOf] of Object.entries(inParts)) {
  test(`a value across two parts of a message leaves masked, or not at all: ${format}`, async () => {
    model.bodies.length = 0;
    const [path, json] = bodyOf('masks-requests');
    const masked = await gateway.fetch(path, { json });
    assert.equal(masked.status, 200, await masked.text());
    assert.equal(model.bodies.length, 1);
    assert.doesNotMatch(model.bodies[0] ?? '', /jo\.doe|ple\.org/);
    const [same, blocked] = bodyOf('blocks-requests');
    assert.equal((await gateway.fetch(same, { json: blocked })).status, 400);
    assert.equal(model.bodies.length, 1);
  });
}
