import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';
import { ask, type Format, formats } from './formats.ts';

/*
 * Equal requests take the stream under way, and not only its whole. The upstream writes when a test says so: what a caller
 * has before the end is what came live.
 */

const asked: ServerResponse[] = [];
beforeEach(() => asked.splice(0));

const upstream = createServer((request, response) => {
  request.resume();
  if (request.method !== 'POST') return void response.writeHead(404).end();
  asked.push(response);
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => {
  upstream.close();
  upstream.closeAllConnections();
});
const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
const gateway = await startGateway({ after } as TestContext, {
  // Equal requests wait for each other within a process (docs/scale-out.md).
  server: { processes: 1 },
  providers: { up: { type: 'openai', base_url: `${base}/v1`, api_key: 'k' } },
  models: {
    chat: {
      targets: [{ provider: 'up', model: 'm', price: { input: 1_000, output: 2_000 } }],
      cache: { ttl: '1h' },
      attempts: 1,
    },
    voice: { type: 'speech', targets: [{ provider: 'up', model: 'tts' }], cache: { ttl: '1h' }, attempts: 1 },
  },
});

/** The upstream's side of the n-th call, once it has come. */
async function call(n: number): Promise<ServerResponse> {
  await until(`call ${n} has come`, () => asked.length > n);
  return asked[n] as ServerResponse;
}

function say(to: ServerResponse, text: string | null, usage?: object): void {
  if (!to.headersSent) to.writeHead(200, { 'content-type': 'text/event-stream' });
  const choices = [
    { index: 0, delta: text === null ? {} : { content: text }, finish_reason: text === null ? 'stop' : null },
  ];
  const chunk = {
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices,
    ...(usage !== undefined && { usage }),
  };
  to.write(`data: ${JSON.stringify(chunk)}\n\n`);
  if (text === null) to.end('data: [DONE]\n\n');
}

interface Stream {
  /** All bytes so far. */
  got: string;
  cache: string | null;
  status: number;
  ended: boolean;
  leave(): void;
}

/** Begins to read a stream. */
function stream(format: Format, text: string, headers: Readonly<Record<string, string>> = {}): Stream {
  const { path, body } = formats[format];
  const leaving = new AbortController();
  const state: Stream = { got: '', cache: null, status: 0, ended: false, leave: () => leaving.abort() };
  async function read(): Promise<void> {
    const named = format === 'gemini' ? {} : { model: 'chat', stream: true };
    const response = await gateway.fetch(path('chat', true), {
      json: { ...named, ...body(text) },
      headers: { 'x-culvert-tag': text.replaceAll(' ', '-'), ...headers, authorization: `Bearer ${gateway.key}` },
      signal: leaving.signal,
    });
    state.status = response.status;
    state.cache = response.headers.get('x-culvert-cache');
    for await (const piece of response.body ?? []) state.got += Buffer.from(piece).toString();
  }
  void read()
    .catch(() => undefined)
    .finally(() => {
      state.ended = true;
    });
  return state;
}

const gets = (one: Stream, text: string) => until(`it has ${text}`, () => one.got.includes(text));

test('a caller of every format gets a stream under way as it comes, from its beginning', async () => {
  const first = stream('chat', 'live');
  const up = await call(0);
  say(up, 'alpha');
  await gets(first, 'alpha');
  const others = (['chat', 'messages', 'responses', 'gemini'] as const).map((format) => stream(format, 'live'));
  for (const other of others) await gets(other, 'alpha');
  say(up, 'beta');
  for (const one of [first, ...others]) await gets(one, 'beta');
  assert.ok(
    [first, ...others].every(({ ended }) => !ended),
    'the upstream still has more to say',
  );
  say(up, null);
  for (const one of [first, ...others]) await until('it ends', () => one.ended);
  assert.equal(asked.length, 1);
  assert.deepEqual(
    [first, ...others].map(({ cache }) => cache),
    ['miss', ...others.map(() => 'hit; age=0')],
  );
  const stops = ['"finish_reason":"stop"', 'message_stop', 'response.completed', 'STOP'];
  for (const [at, stop] of stops.entries()) assert.ok(others[at]?.got.includes(stop), others[at]?.got);
  const later = await ask(gateway, 'messages', { text: 'live' });
  assert.deepEqual([later.cache, later.text], ['hit', 'alphabeta']);
});

test('those who came before the first token join too, and one that leaves leaves alone', async () => {
  const [first, second] = [stream('chat', 'leaves'), stream('chat', 'leaves')];
  const up = await call(0);
  const third = stream('messages', 'leaves');
  say(up, 'alpha');
  for (const one of [first, second, third]) await gets(one, 'alpha');
  first.leave();
  second.leave();
  say(up, 'beta');
  await gets(third, 'beta');
  say(up, null);
  await until('the third ends', () => third.ended);
  assert.ok(third.got.includes('message_stop'), third.got);
  assert.equal(asked.length, 1);
});

test('the ledger has one call of the leader who left, and what each who joined saved', async () => {
  const first = stream('chat', 'ledger');
  const up = await call(0);
  say(up, 'alpha');
  await gets(first, 'alpha');
  const others = (['chat', 'messages'] as const).map((format) => stream(format, 'ledger'));
  for (const other of others) await gets(other, 'alpha');
  first.leave();
  const left = stream('chat', 'ledger');
  await gets(left, 'alpha');
  left.leave();
  const rowsNow = async () => (await callAdmin<{ data: Row[] }>(gateway, 'GET', '/requests?tag=ledger')).body.data;
  await until('it has left', async () => (await rowsNow()).some((row) => row.class === 'aborted'));
  say(up, 'beta');
  say(up, null, { prompt_tokens: 1_000, completion_tokens: 2_000, total_tokens: 3_000 });
  for (const other of others) await until('it ends', () => other.ended);
  assert.equal(asked.length, 1);
  interface Row {
    cache: string | null;
    class: string;
    cost_usd: number | null;
    saved_usd: number | null;
    units: number;
    aborted: boolean;
    usage: { input_tokens: number; output_tokens: number };
  }
  let rows: Row[] = [];
  await until('all rows are written', async () => {
    rows = await rowsNow();
    return rows.length === 4 && rows.every((row) => row.class !== '');
  });
  const leader = rows.find(({ cache }) => cache === 'miss');
  const joined = rows.filter(({ cache }) => cache === 'hit');
  assert.deepEqual(
    [leader?.class, leader?.units, leader?.cost_usd, leader?.saved_usd],
    ['ok', 1, 5, null],
    JSON.stringify(leader),
  );
  assert.deepEqual([leader?.usage.input_tokens, leader?.usage.output_tokens], [1_000, 2_000]);
  assert.equal(joined.length, 3);
  for (const row of joined) {
    assert.deepEqual([row.units, row.cost_usd ?? 0, row.usage.input_tokens + row.usage.output_tokens], [0, 0, 0]);
    // One that left before the end was given no whole answer.
    assert.deepEqual(
      [row.class, row.saved_usd],
      row.class === 'ok' ? ['ok', 5] : ['aborted', null],
      JSON.stringify(row),
    );
  }
  assert.equal(joined.filter((row) => row.class === 'ok').length, 2);
});

test('when all of a joined stream have left, the upstream call ends', async () => {
  const first = stream('chat', 'all leave');
  const up = await call(0);
  say(up, 'alpha');
  const second = stream('chat', 'all leave');
  await gets(second, 'alpha');
  let closed = false;
  up.on('close', () => {
    closed = true;
  });
  first.leave();
  second.leave();
  await until('the call ends', () => closed);
});

test('a failure before the first token lets those who wait ask themselves', async () => {
  const first = stream('chat', 'fails early');
  const up = await call(0);
  const second = stream('chat', 'fails early');
  await until('one waits', async () => (await waiting()) === 1);
  up.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
  await until('the first ends', () => first.ended);
  assert.equal(first.status, 400);
  const again = await call(1);
  say(again, 'alpha');
  say(again, null);
  await until('the second ends', () => second.ended);
  assert.deepEqual([second.status, second.cache], [200, 'miss']);
});

test('a failure after the first token is the same error for all, and nothing is kept', async () => {
  const first = stream('chat', 'fails late');
  const up = await call(0);
  say(up, 'alpha');
  const second = stream('chat', 'fails late');
  for (const one of [first, second]) await gets(one, 'alpha');
  up.destroy();
  for (const one of [first, second]) await until('it ends', () => one.ended);
  const errorOf = ({ got }: Stream) => /data: (\{"error".*)/.exec(got)?.[1]?.replaceAll(/req_[\w-]+/g, 'ID');
  assert.ok(errorOf(first) !== undefined, first.got);
  assert.equal(errorOf(second), errorOf(first));
  assert.ok(!second.got.includes('[DONE]'));
  const third = stream('chat', 'fails late');
  say(await call(1), null);
  await until('it ends', () => third.ended);
  assert.notEqual(third.cache, 'hit; age=0');
});

test('an answer that turns out not to be kept takes no more requests in', async () => {
  const first = stream('chat', 'refuses');
  const up = await call(0);
  say(up, 'alpha');
  const second = stream('chat', 'refuses');
  await gets(second, 'alpha');
  const choices = [{ index: 0, delta: { refusal: 'I may not.' }, finish_reason: null }];
  up.write(
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`,
  );
  await gets(second, 'I may not.');
  const third = stream('chat', 'refuses');
  const own = await call(1);
  say(up, null);
  for (const one of [first, second]) await until('it ends', () => one.ended);
  say(own, 'gamma');
  say(own, null);
  await until('the third ends', () => third.ended);
  assert.deepEqual([second.cache, third.cache], ['hit; age=0', 'miss']);
});

test('a caller that does not read holds up nobody who takes its stream, and gets all of it later', async () => {
  const half = 'x'.repeat(512 * 1024);
  const { path, body } = formats.chat;
  const json = JSON.stringify({ model: 'chat', stream: true, ...body('slow') });
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.pause();
  const head = `POST ${path('chat', true)} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${gateway.key}`;
  socket.write(
    `${head}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
  );
  const up = await call(0);
  say(up, 'alpha');
  const second = stream('chat', 'slow');
  await gets(second, 'alpha');
  // So much that no buffer on the way takes it.
  for (let n = 0; n < 24; n += 1) say(up, half);
  say(up, 'omega');
  await gets(second, 'omega');
  say(up, null);
  await until('the second ends', () => second.ended);
  assert.ok(second.got.includes('[DONE]') && second.cache === 'hit; age=0', second.got.slice(-200));
  let got = 0;
  let tail = '';
  socket.on('data', (bytes) => {
    got += bytes.length;
    tail = (tail + bytes.toString('latin1')).slice(-500);
  });
  socket.resume();
  await until('the first has all of it', () => tail.includes('[DONE]'));
  assert.ok(got > 24 * half.length, String(got));
  assert.ok(tail.includes('omega'));
  assert.equal(asked.length, 1);
});

test('sound that is too long to be kept makes nobody wait for a caller that does not read', async () => {
  const json = JSON.stringify({ model: 'voice', voice: 'alloy', input: 'Long.', response_format: 'pcm' });
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.pause();
  const head = `POST /v1/audio/speech HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${gateway.key}`;
  socket.write(`${head}\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`);
  const up = await call(0);
  const speak = gateway.fetch('/v1/audio/speech', {
    method: 'POST',
    body: json,
    headers: { 'content-type': 'application/json' },
  });
  await until('one waits', async () => (await waiting()) === 1);
  up.writeHead(200, { 'content-type': 'audio/pcm' });
  for (let n = 0; n < 24; n += 1) up.write(Buffer.alloc(512 * 1024, 1));
  const own = await call(1);
  own.writeHead(200, { 'content-type': 'audio/pcm' }).end(Buffer.alloc(4_800, 1));
  const second = await speak;
  assert.deepEqual([second.status, second.headers.get('x-culvert-cache')], [200, 'miss']);
  await second.arrayBuffer();
  socket.destroy();
});

test('a caller with a time limit leads nobody into it', async () => {
  const first = stream('chat', 'short', { 'x-culvert-timeout-ms': '700' });
  const up = await call(0);
  say(up, 'alpha');
  await gets(first, 'alpha');
  const second = stream('chat', 'short');
  await until('the first ends', () => first.ended);
  const own = await call(1);
  say(own, 'alpha');
  say(own, null);
  await until('the second ends', () => second.ended);
  assert.ok(second.got.includes('[DONE]'), second.got);
});

async function waiting(): Promise<number> {
  const response = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  return Number(/^culvert_cache_waiting_requests (\d+)/m.exec(await response.text())?.[1] ?? 0);
}
