import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { listening } from '../listening.ts';
import { overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { endlessSpeaker } from './endless-speaker.ts';
import { explained, readStream } from './read-answer.ts';

const chatPath = '/v1/chat/completions';
const hello = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };

for (const type of ['openai', 'anthropic'] as const) {
  test(`F13 a stream (${type} upstream) cut in two at every byte reads the same`, async (t) => {
    const wire = await recordedStream(type);
    const origin = await cuttingServer(t, wire);
    const gateway = await over(t, type, origin);
    const whole = await answerOf(gateway, `cut-${wire.length}`);
    assert.equal(readStream(whole).text, 'Grüße aus dem 渠 🌊.');
    assert.equal(readStream(whole).dones, 1);
    const cuts = Array.from({ length: wire.length }, (_, at) => at);
    const next = async () => {
      for (let at = cuts.pop(); at !== undefined; at = cuts.pop()) {
        assert.equal(unstamped(await answerOf(gateway, `cut-${at}`)), unstamped(whole), `cut at byte ${at}`);
      }
    };
    await Promise.all(Array.from({ length: 16 }, next));
  });

  test(`F14 a stream (${type} upstream) that comes byte by byte arrives whole`, async (t) => {
    const upstream = await startUpstream();
    upstream.script('*', ['always tokens=8;drip=1/0ms']);
    t.after(() => upstream.close());
    const gateway = await over(t, type, upstream.url);
    const { text, dones, error } = readStream(await answerOf(gateway, 'any'));
    assert.equal(text.split(' ').length, 8);
    assert.deepEqual([dones, error], [1, null]);
  });

  test(`F19 a reader who stops (${type} upstream) pulls no more than 12 MB, and its leaving reaches the upstream`, async (t) => {
    const upstream = await endlessSpeaker(t, type);
    const gateway = await over(t, type, upstream.url);
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname).pause();
    const body = JSON.stringify(hello);
    socket.write(
      `POST ${chatPath} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    for (let before = -1; before !== upstream.sentBytes() || before === 0; ) {
      before = upstream.sentBytes();
      await after(100);
    }
    const taken = upstream.takenBytes();
    assert.ok(taken <= 12 * 1024 * 1024, `${taken} bytes of ${upstream.sentBytes()}`);
    socket.destroy();
    await upstream.closed;
  });
}

test('silence of 10 s: headers and comments come, failover goes on, and a last failure is in the stream', async (t) => {
  const [first, second] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([first.close(), second.close()]));
  // The timers that move are those of this process.
  const gateway = await startGateway(t, { ...overUpstreams(first.url, second.url), server: { processes: 1 } });
  // Cold code uses timers of its own.
  await (await gateway.fetch(chatPath, { json: hello })).text();
  first.clear();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const end of ['answered', 'failed'] as const) {
    first.script(chatPath, ['delay=15s;status=503', 'always status=503']);
    second.script(chatPath, [end === 'answered' ? 'ok' : 'always status=503']);
    const asked = gateway.fetch(chatPath, { json: hello });
    await first.when((request) => request.method === 'POST');
    await turns();
    t.mock.timers.tick(10_000);
    const response = await asked;
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-culvert-provider'), null);
    t.mock.timers.tick(5_000);
    await second.when((request) => request.method === 'POST');
    const reading = response.text();
    // The rest is pauses between attempts.
    for (let ended = false; !ended; ) {
      void reading.then(() => {
        ended = true;
      });
      await turns();
      t.mock.timers.tick(500);
    }
    const body = await reading;
    assert.match(body, /^: keep-alive\n\n/);
    const { text, error, dones } = readStream(body);
    if (end === 'answered') {
      assert.equal(text, 'Mock answer to: Hello');
      assert.deepEqual([error, dones], [null, 1]);
      const { route } = await explained(gateway, response);
      assert.deepEqual(
        route.attempts.map((attempt) => attempt.class),
        ['transient', 'ok'],
      );
    } else {
      assert.equal(error?.code, 502);
      assert.deepEqual([text, dones], ['', 0]);
    }
    first.clear();
    second.clear();
  }
  // Closing the gateway needs the real ones.
  t.mock.timers.reset();
});

test("silence of 10 s in a stream of Google's Interactions: comments come between its events", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), server: { processes: 1 } });
  const json = { model: 'chat', input: 'Hello', stream: true, store: false };
  const path = '/v1beta/interactions';
  const usual = await (await gateway.fetch(path, { json })).text();
  upstream.clear();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  upstream.script(chatPath, ['delay=15s']);
  const asked = gateway.fetch(path, { json });
  await upstream.when((request) => request.method === 'POST');
  await turns();
  t.mock.timers.tick(10_000);
  const reading = (await asked).text();
  t.mock.timers.tick(5_000);
  const comment = ': keep-alive\n\n';
  const body = await reading;
  // Closing the gateway needs the real ones.
  t.mock.timers.reset();
  assert.ok(body.includes(comment));
  const names = (text: string) => text.match(/^event: .*$/gm);
  assert.deepEqual(names(body.replace(comment, '')), names(usual));
});

test("silence of 10 s in a stream to OpenAI's SDK for Go: no empty line is behind the comment, which it took for an event", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), server: { processes: 1 } });
  const json = { model: 'chat', messages: talk, stream: true };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  upstream.script(chatPath, ['delay=15s']);
  const asked = gateway.fetch(chatPath, { json, headers: { 'x-stainless-lang': 'go' } });
  await upstream.when((request) => request.method === 'POST');
  await turns();
  t.mock.timers.tick(10_000);
  const reading = (await asked).text();
  t.mock.timers.tick(5_000);
  const body = await reading;
  // Closing the gateway needs the real ones.
  t.mock.timers.reset();
  assert.match(body, /^: keep-alive\ndata: \{/);
});

test("silence of 10 s in a stream of Google's format: an empty line comes, which all of its SDKs pass over", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), server: { processes: 1 } });
  const json = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  upstream.script(chatPath, ['delay=15s']);
  const asked = gateway.fetch('/v1beta/models/chat:streamGenerateContent?alt=sse', { json });
  await upstream.when((request) => request.method === 'POST');
  await turns();
  t.mock.timers.tick(10_000);
  const response = await asked;
  const reading = response.text();
  t.mock.timers.tick(5_000);
  const body = await reading;
  // Closing the gateway needs the real ones.
  t.mock.timers.reset();
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.match(body, /^\r\ndata: \{/);
  assert.deepEqual(
    body.split('\r\n').filter((line) => line !== '' && !line.startsWith('data: ')),
    [],
    'SDK for Python 3.6: any other line is the JSON of an error',
  );
});

const talk = [{ role: 'user', content: 'Hello' }];
const parts = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
const silences = [
  ["Ollama's lines", '/api/chat', { model: 'chat', messages: talk }, /^ +\{/],
  ["Cohere's lines of version 1", '/v1/chat', { model: 'chat', message: 'Hello', stream: true }, /^ +\{/],
  ["Google's array", '/v1beta/models/chat:streamGenerateContent', parts, /^\[ +\{/],
  [
    "AWS's events",
    '/model/chat/converse-stream',
    { messages: [{ role: 'user', content: [{ text: 'Hello' }] }] },
    /keepAlive/,
  ],
] as const;
for (const [what, path, json, silence] of silences)
  test(`silence of 20 s in a stream of ${what}: bytes come that its clients skip`, async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const gateway = await startGateway(t, { ...overUpstreams(upstream.url), server: { processes: 1 } });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    upstream.script(chatPath, ['delay=25s']);
    const request = gateway.fetch(path, { json });
    await upstream.when(({ method }) => method === 'POST');
    await turns();
    t.mock.timers.tick(10_000);
    const response = await request;
    t.mock.timers.tick(10_000);
    const reading = response.text();
    t.mock.timers.tick(5_000);
    const body = await reading;
    // Closing the gateway needs the real ones.
    t.mock.timers.reset();
    assert.match(body, silence);
    if (what === "Google's array") assert.ok((JSON.parse(body) as unknown[]).length > 1);
    else if (what !== "AWS's events") for (const line of body.trimEnd().split('\n')) assert.ok(JSON.parse(line));
  });

/** Some turns of the loop, for sockets to be read. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function over(t: TestContext, type: 'openai' | 'anthropic', origin: string): Promise<TestGateway> {
  const config = overUpstreams(origin) as { providers: Record<string, { type: string }> };
  config.providers.up1!.type = type;
  return startGateway(t, config);
}

test('an error that comes in pieces is read whole, and one without an end is not awaited', async (t) => {
  const words = 'no such parameter: frequency';
  let isEndless = false;
  let isClosed = false;
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    response.on('close', () => {
      isClosed = true;
    });
    response.writeHead(400, { 'content-type': 'application/json' });
    const [head, rest] = [`{"error":{"message":"${words.slice(0, 9)}`, `${words.slice(9)}"}}`];
    response.write(head);
    await after(30);
    if (!isEndless) return response.end(rest);
    while (!isClosed) {
      response.write('x'.repeat(16_384));
      await after(5);
    }
  });
  const gateway = await over(t, 'openai', await listening(t, server));
  assert.match(await answerOf(gateway, 'any'), new RegExp(words));
  [isEndless, isClosed] = [true, false];
  const cut = await gateway.fetch(chatPath, { json: hello });
  assert.equal(cut.status, 400, await cut.text());
  await until('the call is closed', () => isClosed);
});

async function answerOf(gateway: TestGateway, content: string): Promise<string> {
  const response = await gateway.fetch(chatPath, { json: { ...hello, messages: [{ role: 'user', content }] } });
  return response.text();
}

/** Converted chunks carry the second in which they were made, and the request's id where the upstream gives none. */
function unstamped(body: string): string {
  return body.replace(/"created":\d+/g, '"created":0');
}

async function recordedStream(type: 'openai' | 'anthropic'): Promise<Buffer> {
  const upstream = await startUpstream({ faults: 'text=Gr%C3%BC%C3%9Fe aus dem 渠 🌊.;chunks=3' });
  const path = type === 'openai' ? chatPath : '/v1/messages';
  const response = await fetch(upstream.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...hello, model: 'm', max_tokens: 100 }),
  });
  const wire = Buffer.from(await response.arrayBuffer());
  await upstream.close();
  return wire;
}

/** Answers `cut-<n>` with the recorded bytes in two writes, the first of n bytes. */
async function cuttingServer(t: TestContext, wire: Buffer): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => {
      body += bytes;
    });
    request.on('end', () => {
      const at = Number(/cut-(\d+)/.exec(body)?.[1] ?? 0);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      if (at > 0) response.write(wire.subarray(0, at));
      setImmediate(() => setImmediate(() => response.end(wire.subarray(at))));
    });
  });
  return listening(t, server);
}
