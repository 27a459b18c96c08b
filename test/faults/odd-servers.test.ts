import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import OpenAI from 'openai';
import { listen, onRequest } from '../loopback-transport.ts';
import { startGateway, testKey } from '../start-gateway.ts';

/*
 * Servers that OpenAI's SDK can read when it calls them itself: through Culvert the answer must be the same. And
 * refusals of such servers, whose words and whose meaning must arrive.
 */

const completion = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Héllo' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
});
const chunkOf = (delta: object, finish_reason: string | null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const events = `${chunkOf({ role: 'assistant', content: 'Hé' }, null)}${chunkOf({ content: 'llo' }, null)}${chunkOf({}, 'stop')}data: [DONE]\n\n`;
const refusal = JSON.stringify({ error: { message: 'temperature must be below 2', type: 'invalid_request_error' } });

const answer = (head: string, body: string | Buffer, more = 0) =>
  `${Buffer.from(`HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body) + more}\r\n\r\n`).toString('latin1')}${Buffer.from(body).toString('latin1')}`;
const ok = (head: string, body: string | Buffer) => answer(`200 OK\r\n${head}`, body);

/** Answers by the first step of the path; `closes`: the connection ends behind it. */
const servers: Record<string, { say(streamed: boolean): string; cutAt?: number; end?: 'closes' | 'resets' }> = {
  bom: { say: (streamed) => ok(typeOf(streamed), `\ufeff${streamed ? events : completion}`) },
  capitals: { say: (streamed) => ok(typeOf(streamed).toUpperCase(), streamed ? events : completion) },
  charset: { say: (streamed) => ok(`${typeOf(streamed)}\r\nContent-Encoding: utf-8`, streamed ? events : completion) },
  uncoded: { say: (streamed) => ok(`${typeOf(streamed)}\r\nContent-Encoding: none`, streamed ? events : completion) },
  page: { say: (streamed) => ok('Content-Type: text/html; charset=utf-8', streamed ? events : completion) },
  json: { say: (streamed) => ok('Content-Type: application/json', streamed ? events : completion) },
  whole: { say: (streamed) => ok(typeOf(streamed), completion) },
  'whole-text': { say: () => ok('Content-Type: text/plain', completion) },
  'json-event': { say: (streamed) => ok('Content-Type: text/event-stream', streamed ? events : completion) },
  continued: { say: continued },
  ...Object.fromEntries([5, 12, 20, 25, 30, 52].map((cutAt) => [`continued-${cutAt}`, { say: continued, cutAt }])),
  'cut-5': { say: (streamed) => ok(typeOf(streamed), streamed ? events : completion), cutAt: 5 },
  hinted: {
    say: (streamed) =>
      `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok(typeOf(streamed), streamed ? events : completion)}`,
  },
  headed: {
    say: (streamed) => ok(`${typeOf(streamed)}\r\nX-Policy: ${'a'.repeat(60_000)}`, streamed ? events : completion),
  },
  deflated: {
    say: (streamed) =>
      ok(`${typeOf(streamed)}\r\nContent-Encoding: deflate`, deflateRawSync(streamed ? events : completion)),
  },
  'slow-twice': { say: () => answer('429 Slow\r\nRetry-After: 30\r\nRetry-After: 40', refusal) },
  'refused-event': {
    say: () => answer('400 Bad\r\nContent-Type: text/event-stream', `event: error\r\ndata: ${refusal}\n\n`),
  },
  'refused-data': {
    say: () => answer('400 Bad\r\nContent-Type: text/event-stream', `data: ${refusal}\n\ndata: [DONE]\n\n`),
  },
  'refused-bom': { say: () => answer('400 Bad\r\nContent-Type: application/json', `\ufeff${refusal}`) },
  'refused-text': { say: () => answer('400 Bad\r\nContent-Type: text/plain', 'temperature must be below 2\n') },
  'refused-charset': {
    say: () => answer('400 Bad\r\nContent-Type: application/json\r\nContent-Encoding: UTF-8', refusal),
  },
  'cut-400': { say: () => answer('400 Bad\r\nContent-Type: application/json', refusal, 9), end: 'closes' },
  'cut-401': { say: () => answer('401 No\r\nContent-Type: application/json', '{"err', 9), end: 'resets' },
  'cut-429': { say: () => answer('429 Slow\r\nRetry-After: 40', '{"error":', 9), end: 'resets' },
  moved: { say: () => answer('308 Moved\r\nLocation: https://api.example.com/v1/chat/completions', '') },
};

function typeOf(streamed: boolean): string {
  return `Content-Type: ${streamed ? 'text/event-stream' : 'application/json'}`;
}

function continued(streamed: boolean): string {
  return `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)}${ok(typeOf(streamed), streamed ? events : completion)}`;
}

const requests: string[] = [];
const context = { after } as TestContext;

const url = await listen(context, (socket) =>
  onRequest(socket, (head, body) => {
    const name = /^POST \/([\w-]+)/.exec(head)?.[1] ?? '';
    const server = servers[name];
    if (server === undefined) return void socket.write(answer('404 Not Found', ''));
    requests.push(name);
    const { cutAt = 0 } = server;
    const bytes = server.say(body.includes('"stream":true'));
    if (cutAt > 0) {
      socket.setNoDelay(true);
      socket.write(bytes.slice(0, cutAt), 'latin1');
      return void setTimeout(() => socket.write(bytes.slice(cutAt), 'latin1'), 20);
    }
    socket.write(bytes, 'latin1', () => {
      if (server.end === 'closes') socket.end();
      // Behind the bytes, or they would be lost.
      if (server.end === 'resets') setTimeout(() => socket.resetAndDestroy(), 30);
    });
  }),
);
const names = Object.keys(servers);
const gateway = await startGateway(context, {
  providers: Object.fromEntries(
    names.map((name) => [name, { type: 'openai', base_url: `${url}/${name}/v1`, credentials: [{ api_key: 'k' }] }]),
  ),
  models: Object.fromEntries(names.map((name) => [name, { targets: [{ provider: name, model: 'm' }] }])),
});
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });

const messages = [{ role: 'user' as const, content: 'Hello' }];

async function textOf(model: string, stream: boolean): Promise<string> {
  if (!stream) return (await client.chat.completions.create({ model, messages })).choices[0]?.message.content ?? '';
  let text = '';
  for await (const chunk of await client.chat.completions.create({ model, messages, stream }))
    text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

for (const name of [
  'bom',
  'capitals',
  'charset',
  'uncoded',
  'page',
  'json',
  'whole',
  'whole-text',
  'json-event',
  'continued',
  ...[5, 12, 20, 25, 30, 52].map((at) => `continued-${at}`),
  'cut-5',
  'hinted',
  'headed',
  'deflated',
])
  test(`F12 an answer that the SDK could read is an answer: ${name}`, async () => {
    assert.equal(await textOf(name, false), 'Héllo');
    assert.equal(await textOf(name, true), 'Héllo');
  });

async function refusalOf(model: string) {
  requests.length = 0;
  const error = await textOf(model, true).then(
    () => assert.fail('was answered'),
    (caught) => caught,
  );
  assert.ok(error instanceof OpenAI.APIError, String(error));
  return { error, attempts: requests.length };
}

for (const name of ['event', 'data', 'bom', 'text', 'charset'])
  test(`the words of a refusal arrive in whatever form it has: ${name}`, async () => {
    const { error, attempts } = await refusalOf(`refused-${name}`);
    assert.equal(error.status, 400);
    assert.match(error.message, /temperature must be below 2/);
    assert.equal(attempts, 1);
  });

test('a refusal that is cut in its body means what its head says', async () => {
  const bad = await refusalOf('cut-400');
  assert.deepEqual([bad.error.status, bad.attempts], [400, 1]);
  const unknown = await refusalOf('cut-401');
  assert.equal(unknown.attempts, 1);
  assert.match(unknown.error.message, /answered 401/);
  const limited = await refusalOf('cut-429');
  assert.deepEqual([limited.error.status, limited.attempts], [429, 1]);
  assert.ok(Number(limited.error.headers?.get('retry-after')) >= 39);
  const twice = await refusalOf('slow-twice');
  assert.ok(Number(twice.error.headers?.get('retry-after')) >= 39);
});

test('a redirect is not followed, and the refusal says what to change', async () => {
  const { error } = await refusalOf('moved');
  assert.match(error.message, /answered 308: a redirect, which is not followed; base_url must be/);
  assert.doesNotMatch(error.message, /api\.example/);
});
