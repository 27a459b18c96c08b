import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { adminKey, otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { type RealtimeSession, startRealtime } from '../upstream-formats/start-realtime.ts';
import { SocketCaller } from './heard-events.ts';

/* `/v1/realtime`: sessions over WebSockets. */

const upstream = await startRealtime({ after });
const second = await startRealtime({ after });
const cheapKey = 'sk-cv-test-key-0003';
const heardKey = 'sk-cv-test-key-0004';
const price = { input: 4, cached_input: 0.4, output: 16, audio_input: 32, audio_output: 64 };
const scribePrice = { input: 2.5, audio_input: 6, output: 10, minute: 0.006 };
const config = {
  providers: {
    up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' },
    second: { type: 'openai', base_url: `${second.url}/v1`, api_key: 'upstream-secret-2' },
    azure: { type: 'azure-openai', base_url: upstream.url, api_key: 'azure-secret-1' },
    dated: {
      type: 'azure-openai',
      base_url: upstream.url,
      api_key: 'azure-secret-1',
      api_version: '2025-04-01-preview',
    },
    mute: { type: 'anthropic', base_url: upstream.url, api_key: 'none' },
  },
  models: {
    voice: { targets: [{ provider: 'up', model: 'gpt-realtime', price }] },
    both: {
      targets: [
        { provider: 'up', model: 'gpt-realtime' },
        { provider: 'second', model: 'other', priority: 2 },
      ],
    },
    azure: { targets: ['azure/my-deployment'] },
    dated: { targets: ['dated/mine'] },
    mute: { targets: ['mute/claude'] },
    scribe: { type: 'transcription', targets: [{ provider: 'up', model: 'gpt-4o-transcribe', price: scribePrice }] },
  },
  plans: {
    default: { windows: 'off', rpm: 'off' },
    few: { windows: { '5h': 2 }, rpm: 'off' },
    one: { windows: 'off', rpm: 'off', concurrency: 1 },
  },
  accounts: { other: { plan: 'few' }, cheap: { plan: 'one' }, heard: { plan: 'default' } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: otherKey, account: 'other', name: 'test' },
    { key: cheapKey, account: 'cheap', name: 'test' },
    { key: heardKey, account: 'heard', name: 'test' },
  ],
};
const gateway = await startGateway({ after: after as never }, config);

interface OpenOptions {
  query?: string;
  key?: string;
  protocols?: string[];
  headers?: Record<string, string>;
}

function ask(
  to: TestGateway,
  { query = 'model=voice', key = testKey, protocols = [], headers }: OpenOptions,
): WebSocket {
  const own = protocols.length > 0 ? {} : { authorization: `Bearer ${key}` };
  return new WebSocket(`${to.url.replace('http', 'ws')}/v1/realtime?${query}`, protocols, {
    headers: { ...own, ...headers },
  });
}

async function open(options: OpenOptions = {}, to = gateway): Promise<SocketCaller & { id: string }> {
  const socket = ask(to, options);
  let id = '';
  socket.on('upgrade', ({ headers }) => {
    id = String(headers['x-culvert-request-id']);
  });
  const caller = new SocketCaller(socket);
  await Promise.race([once(socket, 'open'), refusalOf(socket).then((answer) => assert.fail(JSON.stringify(answer)))]);
  return Object.assign(caller, { id });
}

async function refusalOf(
  socket: WebSocket,
): Promise<{ status: number; headers: Record<string, unknown>; message: string }> {
  socket.on('error', () => undefined);
  const [, response] = await once(socket, 'unexpected-response');
  let text = '';
  for await (const chunk of response) text += chunk;
  const { error } = JSON.parse(text) as { error: { message: string } };
  return { status: response.statusCode, headers: response.headers, message: error.message };
}

const refused = (options: OpenOptions) => refusalOf(ask(gateway, options));

interface Row {
  id: string;
  client_request_id: string | null;
  endpoint: string;
  status: number;
  class: string;
  units: number;
  tag: string | null;
  user: string | null;
  usage: { input_tokens: number; output_tokens: number; cached_input_tokens: number; source: string };
  cost_usd: number | null;
}

/** What the ledger has of an account, the newest first, once it has `count` rows. */
async function rowsOf(account: string, count: number, to = gateway): Promise<Row[]> {
  for (;;) {
    const answer = await fetch(`${to.url}/admin/v1/requests?account=${account}`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    const { data } = (await answer.json()) as { data: Row[] };
    if (data.length >= count) return data;
  }
}

test("a response is paid for whatever the caller's texts within its events are", async () => {
  const opening = upstream.next();
  const caller = await open({ key: cheapKey });
  const there = await opening;
  const usage = { input_tokens: 7, output_tokens: 5 };
  const metadata = { note: 'response.done' };
  there.send({ type: 'response.created', response: { id: 'resp_a', status: 'in_progress', metadata } });
  there.send({ type: 'response.done', response: { id: 'resp_a', status: 'completed', metadata, usage } });
  await caller.heard('response.done');
  caller.socket.close();
  await caller.closed;
  const [row] = (await rowsOf('cheap', 1)) as [Row];
  assert.deepEqual([row.id, row.usage.input_tokens, row.usage.output_tokens, row.units], [caller.id, 7, 5, 1]);
});

test('each response is a row of the ledger, with the usage that the provider told and its USD', async () => {
  const caller = await open({ headers: { 'x-culvert-tag': 'kiosk', 'x-culvert-user': 'ada' } });
  for (const turn of [0, 1]) {
    const from = caller.events.length;
    caller.send('response.create');
    assert.equal((await caller.heard('response.done', from)).type, 'response.done', `turn ${turn}`);
  }
  caller.socket.close();
  await caller.closed;
  const [later, first] = (await rowsOf('dev', 2)) as [Row, Row];
  assert.equal(first.id, caller.id);
  assert.equal(later.client_request_id, caller.id, 'those after the first are found by its id');
  for (const row of [first, later]) {
    assert.deepEqual([row.endpoint, row.status, row.class, row.units], ['realtime', 200, 'ok', 1]);
    assert.deepEqual([row.tag, row.user], ['kiosk', 'ada']);
    assert.deepEqual([row.usage.input_tokens, row.usage.output_tokens], [132, 121]);
    assert.equal(row.usage.cached_input_tokens, 64);
    assert.equal(row.usage.source, 'upstream');
    // (55 * 4 + 64 * 0.4 + 13 * 32) + (30 * 16 + 91 * 64), in millionths.
    assert.equal(row.cost_usd, 0.0069656);
  }
});

test('what the provider used to write down the speech is a row without units, by the price of that model', async () => {
  const completed = 'conversation.item.input_audio_transcription.completed';
  const tokens = { type: 'tokens', input_tokens: 14, output_tokens: 30, input_token_details: { audio_tokens: 10 } };
  const seconds = { type: 'duration', seconds: 3 };
  const cases = [
    { model: 'gpt-4o-transcribe', usage: tokens, tokens: [14, 30], usd: 0.00037 },
    { model: 'gpt-4o-transcribe', usage: seconds, tokens: [0, 0], usd: 0.0003 },
    { model: 'unheard-of', usage: tokens, tokens: [14, 30], usd: null },
  ];
  for (const [at, { model, usage, tokens, usd }] of cases.entries()) {
    const opening = upstream.next();
    const caller = await open({ key: heardKey });
    const there = await opening;
    const transcription = { model };
    caller.send('session.update', {
      session: at === 0 ? { input_audio_transcription: transcription } : { audio: { input: { transcription } } },
    });
    await caller.heard('session.updated');
    there.send({ type: completed, item_id: 'item_1', content_index: 0, transcript: 'Hello.', usage });
    await caller.heard(completed);
    await caller.close();
    const rows = (await rowsOf('heard', 2 * at + 2)) as (Row & { target: string })[];
    const row = rows.find(({ client_request_id }) => client_request_id === caller.id)!;
    assert.deepEqual([row.endpoint, row.units, row.status, row.target], ['realtime', 0, 200, `up/${model}`]);
    assert.deepEqual([[row.usage.input_tokens, row.usage.output_tokens], row.cost_usd], [tokens, usd]);
  }
});

test('speech that is written down when its caller leaves is charged all the same', async (t) => {
  const own = await startGateway(t, config);
  const opening = upstream.next();
  const caller = await open({ key: heardKey }, own);
  const there = await opening;
  caller.send('session.update', { session: { audio: { input: { transcription: { model: 'gpt-4o-transcribe' } } } } });
  caller.send('input_audio_buffer.commit');
  const { item_id } = await caller.heard('input_audio_buffer.committed');
  caller.socket.terminate();
  // The gateway notices it meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(there.socket.readyState, WebSocket.OPEN);
  const type = 'conversation.item.input_audio_transcription.completed';
  there.send({ type, item_id, content_index: 0, transcript: 'Hello.', usage: { type: 'duration', seconds: 3 } });
  await there.closed;
  const rows = (await rowsOf('heard', 2, own)) as (Row & { target: string | null })[];
  const row = rows.find(({ target }) => target === 'up/gpt-4o-transcribe');
  assert.deepEqual([row?.units, row?.cost_usd], [0, 0.0003]);
});

test('speech that nobody writes down any more does not hold the session of a caller who has left', async (t) => {
  const own = await startGateway(t, config);
  const opening = upstream.next();
  const caller = await open({ key: heardKey }, own);
  const there = await opening;
  for (const transcription of [{ model: 'gpt-4o-transcribe' }, null]) {
    caller.send('session.update', { session: { audio: { input: { transcription } } } });
    await caller.heard('session.updated');
  }
  caller.send('input_audio_buffer.commit');
  await caller.heard('input_audio_buffer.committed');
  const leftMs = performance.now();
  caller.socket.terminate();
  await there.closed;
  assert.ok(performance.now() - leftMs < 1_500);
});

test('speech is charged by the model that wrote it down, also where another one follows', async (t) => {
  const own = await startGateway(t, config);
  const opening = upstream.next();
  const caller = await open({ key: heardKey }, own);
  const there = await opening;
  const update = async (transcription: JsonObject) => {
    const from = caller.events.length;
    caller.send('session.update', { session: { audio: { input: { transcription } } } });
    await caller.heard('session.updated', from);
  };
  await update({ model: 'gpt-4o-transcribe' });
  caller.send('input_audio_buffer.commit');
  const { item_id } = await caller.heard('input_audio_buffer.committed');
  await update({ model: 'unheard-of' });
  const type = 'conversation.item.input_audio_transcription.completed';
  there.send({ type, item_id, content_index: 0, transcript: 'Hello.', usage: { type: 'duration', seconds: 3 } });
  await caller.heard(type);
  await caller.close();
  const rows = (await rowsOf('heard', 2, own)) as (Row & { target: string | null })[];
  assert.deepEqual(
    rows.flatMap(({ target }) => target ?? []),
    ['up/gpt-4o-transcribe'],
  );
});

test('a session without a response costs nothing', async () => {
  const caller = await open({ key: cheapKey });
  await caller.heard('session.created');
  caller.socket.close(1000);
  await caller.closed;
  const [row] = await rowsOf('cheap', 2);
  assert.deepEqual([row!.units, row!.usage.input_tokens], [0, 0]);
});

test('a model that settings repeat goes to the provider in its own name', async () => {
  const opening = upstream.next();
  const caller = await open();
  const session = await opening;
  for (const model of ['voice', 'gpt-realtime-mini']) {
    const from = caller.events.length;
    caller.send('session.update', {
      event_id: 'mine',
      session: { type: 'realtime', model, instructions: 'Be brief.' },
    });
    await caller.heard('session.updated', from);
  }
  const settings = { type: 'realtime', instructions: 'Be brief.' };
  assert.deepEqual(session.events, [
    { type: 'session.update', event_id: 'mine', session: { ...settings, model: 'gpt-realtime' } },
    { type: 'session.update', event_id: 'mine', session: { ...settings, model: 'gpt-realtime-mini' } },
  ]);
  await caller.close();
});

test('the key may come as a subprotocol, as browsers send it, with the marker of the older events', async () => {
  const opening = upstream.next();
  const protocols = ['realtime', `openai-insecure-api-key.${testKey}`, 'openai-beta.realtime-v1'];
  const caller = await open({ protocols });
  assert.equal(caller.socket.protocol, 'realtime');
  const { headers } = await opening;
  assert.equal(headers['openai-beta'], 'realtime=v1');
  assert.equal(headers.authorization, 'Bearer upstream-secret-1');
  assert.ok(!JSON.stringify(headers).includes(testKey));
  caller.socket.close();
});

test('what cannot be a session is refused before the upgrade, as any other request', async () => {
  assert.equal((await refused({ key: 'sk-cv-nobody' })).status, 401);
  assert.equal((await refused({ protocols: ['realtime'] })).status, 401);
  assert.equal(
    (await refused({ protocols: [`openai-insecure-api-key.${testKey}`], headers: { 'x-api-key': otherKey } })).status,
    401,
  );
  assert.equal((await refused({ query: 'model=nobody' })).status, 404);
  const noModel = await refused({ query: '' });
  assert.deepEqual(
    [noModel.status, noModel.message],
    [400, 'The request does not name a model. Add ?model=MODEL to the address.'],
  );
  assert.match(
    (await refused({ query: 'model=mute' })).message,
    /No provider of the model 'mute' holds such realtime sessions \(it has \w+\)\. Use 'voice'/,
  );
  assert.match((await refused({ query: 'call_id=rtc_1' })).message, /cannot be joined/);
  assert.match((await refused({ query: 'intent=translation' })).message, /intent must be 'transcription'/);
  assert.match((await refused({ query: 'intent=transcription&model=voice' })).message, /does not transcribe/);
  const plain = await gateway.fetch('/v1/realtime?model=voice');
  assert.deepEqual([plain.status, plain.headers.get('upgrade')], [426, 'websocket']);
  await plain.text();
  const elsewhere = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/chat/completions`);
  assert.equal((await refusalOf(elsewhere)).status, 426);
});

test('Azure is asked by its v1 API, or by the deployment where the configuration says a dated version', async () => {
  for (const [model, path] of [
    ['azure', '/openai/v1/realtime?model=my-deployment'],
    ['dated', '/openai/realtime?api-version=2025-04-01-preview&deployment=mine'],
  ]) {
    const opening = upstream.next();
    const caller = await open({ query: `deployment=${model}` });
    const session = await opening;
    assert.equal(session.path, path);
    assert.equal(session.headers['api-key'], 'azure-secret-1');
    caller.socket.close();
  }
});

test('the next target is connected where one does not open a session; a caller’s own fault is told', async () => {
  upstream.refuse({ status: 503, body: { error: { message: 'overloaded' } } });
  const opening = second.next();
  const caller = await open({ query: 'model=both' });
  assert.equal((await opening).path, '/v1/realtime?model=other');
  caller.socket.close();
  const body = { error: { message: 'no such thing', type: 'invalid_request_error', code: 'bad_thing' } };
  upstream.refuse({ status: 400, body });
  const refusal = await refused({});
  assert.equal(refusal.status, 400);
  assert.match(refusal.message, /up: answered 400: no such thing/);
});

test('a session is one running request of its key until it ends', async () => {
  const caller = await open({ key: cheapKey });
  const refusal = await refused({ key: cheapKey });
  assert.equal(refusal.status, 429);
  caller.socket.close();
  await caller.closed;
  for (;;) {
    const socket = ask(gateway, { key: cheapKey });
    const status = await Promise.race([
      once(socket, 'open').then(() => 101),
      refusalOf(socket).then(({ status }) => status),
    ]);
    socket.close();
    if (status === 101) break;
  }
});

test('a used-up plan: the session is told at its next response and closed, and nothing of it reaches the provider', async () => {
  const opening = upstream.next();
  const caller = await open({ key: otherKey });
  const session = await opening;
  for (const _ of [1, 2]) {
    const from = caller.events.length;
    caller.send('response.create');
    await caller.heard('response.done', from);
  }
  caller.send('response.create', { response: { instructions: 'the third' } });
  const { error } = (await caller.heard('error')) as unknown as { error: JsonObject };
  assert.equal(error.code, 'quota_exceeded');
  assert.match(String(error.message), /5h|5-hour|five/i);
  assert.deepEqual(await caller.closed, { code: 1008, reason: 'quota-exceeded' });
  await session.closed;
  assert.equal(session.events.filter(({ type }) => type === 'response.create').length, 2);
  assert.equal((await refused({ key: otherKey })).status, 429, 'and no other session opens');
});

test('a response that the provider begins by itself is held too, and cut where the plan is used up', async (t) => {
  const own = await startGateway(t, { ...config, accounts: { other: { plan: 'few' } } });
  const opening = upstream.next();
  const caller = await open({ key: otherKey }, own);
  const session = await opening;
  const spoken = (id: string) => session.send({ type: 'response.created', event_id: 'e', response: { id } });
  for (const id of ['resp_a', 'resp_b']) {
    spoken(id);
    session.send({
      type: 'response.done',
      event_id: 'e',
      response: { id, status: 'completed', usage: { input_tokens: 3, output_tokens: 4 } },
    });
  }
  await rowsOf('other', 2, own);
  spoken('resp_c');
  assert.equal(((await caller.heard('error')).error as JsonObject).code, 'quota_exceeded');
  assert.equal((await caller.closed).code, 1008);
  await session.closed;
});

test('a key that is revoked while its session runs has no further response', async (t) => {
  const own = await startGateway(t, config);
  const caller = await open({}, own);
  caller.send('response.create');
  await caller.heard('response.done');
  await own.reload({ ...config, keys: config.keys.slice(1) });
  caller.send('response.create');
  assert.equal(((await caller.heard('error')).error as JsonObject).type, 'authentication_error');
  assert.equal((await caller.closed).code, 1008);
});

test('a caller that leaves in the middle of a response has it cancelled, and what it used is in the ledger', async (t) => {
  const own = await startGateway(t, config);
  upstream.answers = 'begun';
  t.after(() => {
    upstream.answers = 'whole';
  });
  const opening = upstream.next();
  const caller = await open({}, own);
  const session = await opening;
  caller.send('response.create');
  await caller.heard('response.created');
  caller.socket.terminate();
  await session.closed;
  assert.equal(session.events.at(-1)?.type, 'response.cancel');
  const [row] = await rowsOf('dev', 1, own);
  assert.deepEqual([row!.usage.input_tokens, row!.usage.source], [132, 'upstream']);
});

test('a caller that leaves while the provider hesitates is noticed, and nothing stays open for it', async (t) => {
  const silent = createServer();
  const hesitating = await listening(t, silent);
  const own = await startGateway(t, {
    ...config,
    providers: { up: { type: 'openai', base_url: `${hesitating}/v1`, api_key: 'k' } },
    models: { voice: { targets: ['up/gpt-realtime'] } },
  });
  for (const leave of ['end', 'destroy'] as const) {
    const asked = once(silent, 'upgrade');
    const { port } = new URL(own.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `GET /v1/realtime?model=voice HTTP/1.1\r\nHost: culvert\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer ${testKey}\r\n\r\n`,
    );
    const [, atProvider] = (await asked) as [unknown, Socket];
    const ended = once(atProvider.resume(), 'end');
    socket[leave]();
    await ended;
  }
  const rows = await rowsOf('dev', 2, own);
  assert.deepEqual(
    rows.map(({ class: outcome }) => outcome),
    ['aborted', 'aborted'],
  );
});

test('either end closes the other with its own code; a broken connection to the provider is told', async () => {
  const ends = async (end: (session: RealtimeSession, caller: SocketCaller) => void) => {
    const opening = upstream.next();
    const caller = await open();
    const session = await opening;
    await caller.heard('session.created');
    end(session, caller);
    return { caller: await caller.closed, session: await session.closed, events: caller.events };
  };
  assert.equal((await ends((_, caller) => caller.socket.close(4001, 'bye'))).session, 4001);
  const byProvider = await ends((session) => session.close(4002, 'expired'));
  assert.deepEqual(byProvider.caller, { code: 4002, reason: 'expired' });
  const cut = await ends((session) => session.cut());
  assert.equal(cut.caller.code, 1011);
  assert.match(String((cut.events.at(-1)!.error as JsonObject).message), /connection to the provider broke/);
});

test('a response that the provider leaves has failed by it, and one of which nothing came costs nothing', async (t) => {
  const own = await startGateway(t, config);
  upstream.answers = 'begun';
  t.after(() => {
    upstream.answers = 'whole';
  });
  for (const [end, units] of [
    [(session: RealtimeSession) => session.cut(), 0],
    [(session: RealtimeSession) => session.close(1001, 'restart'), 1],
  ] as const) {
    const opening = upstream.next();
    const caller = await open({}, own);
    const session = await opening;
    caller.send('response.create');
    await caller.heard('response.created');
    if (units > 0) {
      session.send({ type: 'response.output_text.delta', delta: 'Hel' });
      await caller.heard('response.output_text.delta');
    }
    end(session);
    await caller.closed;
    const [row] = await rowsOf('dev', units + 1, own);
    assert.deepEqual([row!.status, row!.class, row!.units], [502, 'upstreams-failed', units]);
  }
});

test('a provider that repeats its key in a message or a close does not tell it to the caller', async () => {
  const opening = upstream.next();
  const caller = await open();
  const session = await opening;
  session.send({ type: 'error', error: { message: 'Incorrect API key provided: upstream-secret-1.' } });
  const { error } = (await caller.heard('error')) as unknown as { error: JsonObject };
  assert.equal(error.message, 'Incorrect API key provided: [redacted].');
  session.close(4003, 'wrong key upstream-secret-1');
  assert.deepEqual(await caller.closed, { code: 4003, reason: 'wrong key [redacted]' });
});

test('sizes and silence have bounds', async (t) => {
  const own = await startGateway(t, { ...config, server: { realtime: { idle: '1s', message_limit: '1kb' } } });
  const quiet = await open({}, own);
  const unnamed = await open({ query: 'intent=transcription' }, own);
  const live = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';
  const withoutSetup = new SocketCaller(new WebSocket(`${own.url.replace('http', 'ws')}${live}?key=${testKey}`));
  const { error } = (await quiet.heard('error')) as unknown as { error: JsonObject };
  assert.match(String(error.message), /Nothing was sent in this session for 1 s/);
  assert.equal((await quiet.closed).code, 1000);
  const { error: said } = (await unnamed.heard('error')) as unknown as { error: JsonObject };
  assert.match(String(said.message), /Nobody named a model in this session for 1 s/);
  assert.equal((await unnamed.closed).code, 1000);
  const reason = 'No setup message came in time (server.realtime.idle).';
  assert.deepEqual(await withoutSetup.closed, { code: 1000, reason });
  const long = await open({}, own);
  long.send('session.update', { session: { instructions: 'x'.repeat(2_000) } });
  assert.equal((await long.closed).code, 1009);
});

test('a shutdown lets a running response end, then closes its session with 1001', async (t) => {
  const own = await startGateway(t, config);
  upstream.answers = 'begun';
  t.after(() => {
    upstream.answers = 'whole';
  });
  const opening = upstream.next();
  const caller = await open({}, own);
  const idle = await open({}, own);
  const session = await opening;
  caller.send('response.create');
  const created = await caller.heard('response.created');
  const closing = own.close(30_000);
  assert.equal((await idle.closed).code, 1001);
  assert.equal(caller.socket.readyState, WebSocket.OPEN);
  const { id } = created.response as JsonObject;
  session.send({
    type: 'response.done',
    event_id: 'e',
    response: { id: id!, status: 'completed', usage: { input_tokens: 1, output_tokens: 1 } },
  });
  assert.equal((await caller.closed).code, 1001);
  await caller.heard('response.done');
  await closing;
});

test('a session whose response does not end by then is closed with 1001 too', async (t) => {
  const own = await startGateway(t, config);
  upstream.answers = 'begun';
  t.after(() => {
    upstream.answers = 'whole';
  });
  const caller = await open({}, own);
  caller.send('response.create');
  await caller.heard('response.created');
  // Long enough for idle connections to be closed, which a silent session is not.
  await own.close(1_000);
  assert.deepEqual(await caller.closed, { code: 1001, reason: 'The server is shutting down. Connect again.' });
});

test('a caller that reads nothing holds its provider back, and no other session', async () => {
  const opening = upstream.next();
  const slow = await open();
  const session = await opening;
  await slow.heard('session.created');
  slow.socket.pause();
  const delta = Buffer.alloc(300_000).toString('base64');
  const messages = 100;
  for (let i = 0; i < messages; i += 1) session.send({ type: 'response.output_audio.delta', delta, event_id: `e${i}` });
  const other = await open();
  other.send('response.create');
  await other.heard('response.done');
  // 40 MB do not fit between: most still waits at the provider.
  assert.ok(session.socket.bufferedAmount > 10e6, `${session.socket.bufferedAmount} bytes wait at the provider`);
  slow.socket.resume();
  while (slow.events.length <= messages) await slow.heard('response.output_audio.delta', slow.events.length);
  assert.equal(slow.events.at(-1)!.event_id, `e${messages - 1}`);
  other.socket.close();
  slow.socket.close();
});
