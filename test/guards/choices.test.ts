import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

/* Guards over several answers to one request: each answer has texts of its own, whose pieces come in turns. */

const own = 'jo.doe@example.org';
const made = 'made.up@example.net';

/** Two answers, or one where one is asked for: both repeat the masked word, and the second one has an address of its own. */
let calls = 0;
const bodies: string[] = [];
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.method !== 'POST') return void response.writeHead(404).end();
  bodies.push(body);
  calls += 1;
  const word = /<EMAIL_\d>/.exec(body)?.[0] ?? own;
  const all = [`First to ${word}.`, `Second to ${word}, or ${made}.`];
  const { n = 1, stream, prompt } = JSON.parse(body) as { n?: number; stream?: boolean; prompt?: string };
  // Calls for one answer each get them in turn.
  const texts = n === 1 ? [all[(calls - 1) % 2] ?? ''] : all;
  if (request.url?.endsWith('/messages') === true) return void asMessage(response, texts[0] ?? '', stream === true);
  const head = { id: 'c', created: 1, model: 'm' };
  const isText = prompt !== undefined;
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  if (stream !== true) {
    const choices = texts.map((text, index) => ({
      index,
      finish_reason: 'stop',
      ...(isText ? { text } : { message: { role: 'assistant', content: text } }),
    }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...head, object: isText ? 'text_completion' : 'chat.completion', choices, usage }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const object = isText ? 'text_completion' : 'chat.completion.chunk';
  const send = (index: number, text: string, finish_reason: string | null = null) => {
    const choices = [{ index, finish_reason, ...(isText ? { text } : { delta: { content: text } }) }];
    response.write(`data: ${JSON.stringify({ ...head, object, choices })}\n\n`);
  };
  for (let at = 0; at < 60; at += 3) {
    for (const [index, text] of texts.entries()) if (at < text.length) send(index, text.slice(at, at + 3));
  }
  for (const index of texts.keys()) send(index, '', 'stop');
  response.end('data: [DONE]\n\n');
});
/** One answer in the format of Messages, which has no `n`. */
function asMessage(response: ServerResponse, text: string, stream: boolean): void {
  const usage = { input_tokens: 3, output_tokens: 2 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: null, usage };
  if (!stream) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...message, content: [{ type: 'text', text }], stop_reason: 'end_turn' }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const send = (type: string, event: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...event })}\n\n`);
  send('message_start', { message: { ...message, content: [] } });
  send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  for (const [piece] of text.matchAll(/.{1,3}/gs)) {
    send('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece } });
  }
  send('content_block_stop', { index: 0 });
  send('message_delta', { delta: { stop_reason: 'end_turn' }, usage });
  send('message_stop', {});
  response.end();
}
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => {
  upstream.closeAllConnections();
  upstream.close();
});
beforeEach(() => {
  bodies.length = 0;
  calls = 0;
});

const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
const guard = { check: 'personal-data', kinds: ['email'] };
const guards = {
  masks: { ...guard, action: 'mask' },
  blocks: { check: 'words', words: ['made.up'], action: 'block', on: ['output'] },
  flags: { ...guard, action: 'flag' },
  sizes: { check: 'sizes', limits: { chars: 40 }, action: 'block', on: ['output'] },
};
const providers = {
  openai: { type: 'openai', base_url: url, api_key: 'k' },
  claude: { type: 'anthropic', base_url: url, api_key: 'k' },
};
const gateway = await startGateway({ after } as TestContext, {
  providers,
  guards,
  models: Object.fromEntries(
    Object.keys(providers).flatMap((provider) =>
      Object.keys(guards).map((name) => [
        `${provider}-${name}`,
        { targets: [{ provider, model: 'm' }], guards: [name] },
      ]),
    ),
  ),
});

const text = `Write to ${own}, twice`;
const formats: Record<string, (model: string, stream: boolean) => [path: string, json: object]> = {
  chat: (model, stream) => [
    '/v1/chat/completions',
    { model, stream, n: 2, messages: [{ role: 'user', content: text }] },
  ],
  gemini: (model, stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text }] }], generationConfig: { candidateCount: 2 } },
  ],
  completions: (model, stream) => ['/v1/completions', { model, stream, n: 2, prompt: text }],
};

interface Choice {
  index?: number;
  text?: string;
  delta?: { content?: string };
  message?: { content?: string };
  content?: { parts?: { text?: string }[] };
  finish_reason?: string | null;
  finishReason?: string;
}

/** The texts of an answer by their index, and how each ended. */
function answersOf(raw: string, stream: boolean): { said: string[]; ends: string[] } {
  const datas = stream ? [...raw.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => data) : [raw];
  const said: string[] = [];
  const ends: string[] = [];
  for (const data of datas) {
    const { choices, candidates } = JSON.parse(data) as { choices?: Choice[]; candidates?: Choice[] };
    for (const { index = 0, ...one } of choices ?? candidates ?? []) {
      const parts = one.content?.parts?.map((part) => part.text ?? '').join('');
      said[index] = (said[index] ?? '') + (one.text ?? one.delta?.content ?? one.message?.content ?? parts ?? '');
      const end = one.finish_reason ?? one.finishReason;
      if (end != null) ends[index] = end;
    }
  }
  return { said, ends };
}

const places = Object.entries(formats).flatMap(([format, order]) => [
  { format, order, provider: 'openai' },
  // A call for each answer.
  ...(format === 'completions' ? [] : [{ format, order, provider: 'claude' }]),
]);

for (const { format, order, provider } of places) {
  for (const stream of [false, true]) {
    const how = `${format} over ${provider}, ${stream ? 'streamed' : 'whole'}`;
    const ask = async (guard: string) => {
      const [path, json] = order(`${provider}-${guard}`, stream);
      const response = await gateway.fetch(path, { json });
      const raw = await response.text();
      return { status: response.status, raw, guard: response.headers.get('x-culvert-guard') ?? '' };
    };

    /** Calls of their own come in any order. */
    const saidIn = (raw: string) => answersOf(raw, stream).said.sort();

    test(`mask: ${how}: each answer gets the caller's value back, and keeps what only it has masked`, async () => {
      const { status, raw, guard } = await ask('masks');
      assert.equal(status, 200, raw);
      assert.equal(bodies.length, provider === 'openai' ? 1 : 2);
      for (const body of bodies) assert.ok(!body.includes(own), body);
      assert.deepEqual(saidIn(raw), [`First to ${own}.`, `Second to ${own}, or <EMAIL_2>.`]);
      // The head of a stream goes before its text, or with it.
      assert.match(guard, stream ? /^masks=masked:[12]; scanned=100%$/ : /^masks=masked:2; scanned=100%$/);
    });

    test(`flag: ${how}: nothing changes`, async () => {
      const { status, raw } = await ask('flags');
      assert.equal(status, 200, raw);
      assert.deepEqual(saidIn(raw), [`First to ${own}.`, `Second to ${own}, or ${made}.`]);
    });

    test(`block: ${how}: what a guard finds in one answer does not go out`, async () => {
      for (const model of ['blocks', 'sizes']) {
        const { raw, guard } = await ask(model);
        assert.ok(!raw.includes('made.up'), raw);
        if (!stream) assert.match(guard, new RegExp(`^${model}=blocked:1; scanned=100%$`));
        if (stream && raw.includes('data: {"error"')) assert.match(raw, /guard_blocked/);
      }
    });
  }
}
