import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { startService } from './start-service.ts';

/* Sources of an answer come among the pieces of its text, also in the midst of a value that a guard looks for. */

const mine = 'jo.doe@example.org';
const made = 'made.up@example.net';

/** Place of an answer before which a source comes. */
let cutAt = 0;
/** The answer; '': the usual one. */
let said = '';
/** Words that rest on it. */
let cited = 'Ask';
/** Behind that source the answer waits until it is released. */
let released: Promise<unknown> = Promise.resolve();
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.method !== 'POST') return void response.writeHead(404).end();
  const text = said || `Ask ${/<EMAIL_\d>/.exec(body)?.[0] ?? mine} or ${made} today.`;
  const pieces = [text.slice(0, cutAt), text.slice(cutAt)];
  const from = text.indexOf(cited);
  response.setHeader('content-type', 'text/event-stream');
  const send = (data: object) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  const isCohere = request.url?.endsWith('/chat') === true;
  const source = { id: 'a', title: 'A', url: 'https://a.example/' };
  if (isCohere) {
    send({ type: 'message-start', id: 'm', delta: { message: { role: 'assistant', content: [] } } });
    send({ type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } });
    for (const [at, piece] of pieces.entries()) {
      send({ type: 'content-delta', index: 0, delta: { message: { content: { text: piece } } } });
      const sources = [{ type: 'document', id: 'a', document: source }];
      const citations = { start: 0, end: 3, text: 'Ask', sources, content_index: 0, type: 'TEXT_CONTENT' };
      if (at === 0) send({ type: 'citation-start', index: 0, delta: { message: { citations } } });
    }
    const tokens = { input_tokens: 3, output_tokens: 2 };
    send({ type: 'message-end', delta: { finish_reason: 'COMPLETE', usage: { billed_units: tokens, tokens } } });
    return void response.end();
  }
  if (request.url?.includes(':generateContent') === true) {
    const segment = { startIndex: Buffer.byteLength(text.slice(0, from)), text: cited };
    const place = { ...segment, endIndex: segment.startIndex + Buffer.byteLength(cited) };
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: source.url, title: 'A' } }],
      groundingSupports: [{ segment: place, groundingChunkIndices: [0] }],
    };
    const content = { role: 'model', parts: [{ text }] };
    const candidates = [{ index: 0, content, finishReason: 'STOP', groundingMetadata }];
    response.setHeader('content-type', 'application/json');
    return void response.end(JSON.stringify({ candidates, responseId: 'r', modelVersion: 'm' }));
  }
  if (!body.includes('"stream":true')) {
    const url_citation = { ...source, start_index: from, end_index: from + cited.length };
    const message = { role: 'assistant', content: text, annotations: [{ type: 'url_citation', url_citation }] };
    response.setHeader('content-type', 'application/json');
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    return void response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices }));
  }
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
  for (const [at, content] of pieces.entries()) {
    send({ ...head, choices: [{ index: 0, delta: { content } }] });
    const annotations = [
      { type: 'url_citation', url_citation: { ...source, start_index: from, end_index: from + cited.length } },
    ];
    if (at === 0) send({ ...head, choices: [{ index: 0, delta: { annotations } }] });
    if (at === 0) await released;
  }
  send({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  response.end('data: [DONE]\n\n');
});
const origin = await listening({ after: after as never }, upstream);
const service = await startService(after);
const secret = 'whsec_c2VjcmV0LW9mLWEtZ3VhcmQtd2hpY2gtc2lnbnM=';
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    openai: { type: 'openai', base_url: `${origin}/v1`, api_key: 'k' },
    gemini: { type: 'gemini', base_url: `${origin}/v1beta`, api_key: 'k' },
    cohere: { type: 'cohere', base_url: origin, api_key: 'k' },
  },
  guards: {
    masks: { check: 'personal-data', kinds: ['email'], action: 'mask' },
    asks: { check: 'webhook', url: service.url, secret, action: 'block', on: ['output'], deadline: '20s' },
    changes: { check: 'webhook', url: service.url, secret, action: 'mask', on: ['output'], deadline: '20s' },
  },
  models: {
    ...Object.fromEntries(
      ['openai', 'cohere', 'gemini'].map((provider) => [
        provider,
        { targets: [{ provider, model: 'm' }], guards: ['masks'] },
      ]),
    ),
    asked: { targets: ['openai/m'], guards: ['asks'] },
    changed: { targets: ['openai/m'], guards: ['changes'] },
  },
});

for (const model of ['openai', 'cohere']) {
  test(`a source in the midst of a value hides it from no guard, and is there: ${model}`, async () => {
    const whole = `Ask <EMAIL_1> or ${made} today.`.length;
    for (cutAt = 1; cutAt < whole; cutAt += 1) {
      const messages = [{ role: 'user', content: `Write to ${mine}` }];
      const response = await gateway.fetch('/v1/chat/completions', { json: { model, stream: true, messages } });
      const raw = await response.text();
      const chunks = [...raw.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));
      const deltas = chunks.flatMap(({ choices }) => choices ?? []).map(({ delta }) => delta);
      const said = deltas.map(({ content }) => content ?? '').join('');
      assert.equal(said, `Ask ${mine} or <EMAIL_2> today.`, `cut at ${cutAt}: ${raw}`);
      const sources = deltas.flatMap(({ annotations }) => annotations ?? []);
      assert.deepEqual(
        sources.map(({ url_citation: { url } }) => url),
        ['https://a.example/'],
        raw,
      );
    }
  });
}

for (const [path, form] of [
  ['/v1/chat/completions', 'messages'],
  ['/v1/responses', 'input'],
  ['/v2/chat', 'messages'],
] as const) {
  test(`the place of a source is that of its words, behind a value that was given back: ${path}`, async () => {
    const asks = `Write to ${mine}`;
    const question = form === 'input' ? { input: asks } : { messages: [{ role: 'user', content: asks }] };
    cutAt = 40;
    cited = 'today';
    const raw = await (await gateway.fetch(path, { json: { model: 'openai', ...question } })).text();
    cited = 'Ask';
    const at = `Ask ${mine} or <EMAIL_2> today.`.indexOf('today');
    const names = path === '/v2/chat' ? ['start', 'end'] : ['start_index', 'end_index'];
    assert.ok(raw.includes(`"${names[0]}":${at},"${names[1]}":${at + 5}`), raw);
    if (path === '/v2/chat') assert.ok(raw.includes('"text":"today"'), raw);
  });
}

test("Google's place of a source is that of its words, behind a value that a guard took out", async () => {
  const contents = [{ role: 'user', parts: [{ text: 'Whom do I ask?' }] }];
  const supportOf = async (words: string) => {
    [cited, said] = [words, `Grüße an ${made}: ask today.`];
    const raw = await (await gateway.fetch('/v1beta/models/gemini:generateContent', { json: { contents } })).text();
    [cited, said] = ['Ask', ''];
    const [candidate] = JSON.parse(raw).candidates;
    assert.equal(candidate.content.parts[0].text, 'Grüße an <EMAIL_1>: ask today.', raw);
    return candidate.groundingMetadata.groundingSupports[0].segment;
  };
  assert.deepEqual(await supportOf('today'), { text: 'today', startIndex: 26, endIndex: 31 });
  assert.deepEqual(Object.keys(await supportOf(`an ${made}`)), ['text']);
});

test('a source in the midst of a sentence does not part it for a service', async () => {
  service.play = () => ({ verdict: 'pass' });
  cutAt = 8;
  released = pause(300);
  const messages = [{ role: 'user', content: 'Whom do I ask?' }];
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'asked', stream: true, messages } });
  const raw = await response.text();
  const texts = service.calls.flatMap(({ body }) => JSON.parse(body).texts.map(({ text }: { text: string }) => text));
  assert.deepEqual(texts[0], `Ask ${mine} or ${made} today.`, raw);
  assert.ok(raw.includes('https://a.example/'), raw);
});

/** Takes the address out of each text that has it. */
const takesMade: typeof service.play = ({ body }) => {
  const { texts } = JSON.parse(body) as { texts: { text: string }[] };
  const findings = texts.flatMap(({ text: said }, text) => {
    const start = said.indexOf(made);
    return start < 0 ? [] : [{ kind: 'email', text, start, end: start + made.length }];
  });
  return { verdict: findings.length === 0 ? 'pass' : 'mask', findings };
};

for (const stream of [false, true]) {
  test(`the place of a source is that of its words, behind what a service took out: ${stream ? 'streamed' : 'whole'}`, async () => {
    service.play = takesMade;
    [cutAt, cited, said, released] = [340, 'today', `Ask ${made}. ${'It rains. '.repeat(30)}Ask today. `, pause(0)];
    const messages = [{ role: 'user', content: 'Whom do I ask?' }];
    const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'changed', stream, messages } });
    const raw = await response.text();
    [cited, said] = ['Ask', ''];
    assert.ok(raw.includes('<email_1>') || raw.includes('<EMAIL_1>'), raw);
    const at = `Ask <EMAIL_1>. ${'It rains. '.repeat(30)}Ask today. `.indexOf('today');
    assert.ok(raw.includes(`"start_index":${at},"end_index":${at + 5}`), raw);
  });
}
