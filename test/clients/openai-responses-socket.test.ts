import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { WebSocket } from 'ws';
import { listening } from '../listening.ts';
import { adminKey, overUpstreams, startGateway, testProcesses, workersKnow } from '../start-gateway.ts';
import { until } from '../until.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Responses over a WebSocket by OpenAI's SDK, over a provider of each dialect. */

const { upstream, gateway, lastBody } = await openThreeProviders();
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
type Event = OpenAI.Responses.ResponsesServerEvent;
type Create = Omit<OpenAI.Responses.ResponsesClientEvent.ResponseCreate, 'type'>;

/** Sends a request, and resolves to its events up to its end. */
async function asked(socket: ResponsesWS, create: Create): Promise<Event[]> {
  const events: Event[] = [];
  const stream = socket.stream();
  socket.send({ type: 'response.create', ...create });
  for await (const message of stream) {
    if (message.type === 'error') throw message.error;
    if (message.type !== 'message') continue;
    events.push(message.message);
    if (/^(?:error|response\.(?:completed|incomplete|failed))$/.test(message.message.type)) break;
  }
  return events;
}

const responseOf = (events: readonly Event[]) => {
  const last = events.at(-1)!;
  assert.equal(last.type, 'response.completed');
  return (last as OpenAI.Responses.ResponseCompletedEvent).response;
};

async function rows(): Promise<{ class?: string }[]> {
  const response = await gateway.fetch('/v1/requests?limit=100');
  return ((await response.json()) as { data: { class?: string }[] }).data;
}

async function failed(socket: ResponsesWS, create: object) {
  socket.once('error', () => undefined);
  const event = new Promise<{ status?: number; error?: { param: string; code: string; message: string } }>((resolve) =>
    socket.once('event', (one) => resolve(one as never)),
  );
  socket.sendRaw(JSON.stringify(create));
  return event;
}

for (const model of Object.keys(models)) {
  test(`${model}: responses come one after the other, and continue each other without being kept`, async () => {
    const socket = new ResponsesWS(client);
    try {
      const first = await asked(socket, { model, input: 'hello there', store: false });
      assert.equal(first[0]!.type, 'response.created');
      assert.ok(first.filter(({ type }) => type === 'response.output_text.delta').length > 1);
      const { id, output } = responseOf(first);
      assert.match(JSON.stringify(output), /hello there/);
      const next = await asked(socket, { model, input: 'and again', previous_response_id: id, store: false });
      assert.equal(responseOf(next).status, 'completed');
      const body = JSON.stringify(lastBody());
      assert.ok(body.indexOf('hello there') < body.indexOf('and again') && body.includes('hello there'), body);
      const third = responseOf(next).id;
      await asked(socket, { model, input: 'thirdly', previous_response_id: third, store: false });
      assert.match(JSON.stringify(lastBody()), /hello there.*and again.*thirdly/);
    } finally {
      socket.close();
    }
  });
}

for (const model of Object.keys(models)) {
  test(`${model}: a call that comes again before its result is one, as LiveKit's agents send it`, async () => {
    const socket = new ResponsesWS(client);
    try {
      const parameters = { type: 'object', properties: { city: { type: 'string' } } };
      const tools = [{ type: 'function' as const, name: 'get_weather', parameters, strict: false }];
      const first = responseOf(await asked(socket, { model, input: 'call get_weather', tools, store: false }));
      const call = first.output.find((item) => item.type === 'function_call')!;
      const { name, arguments: json, call_id } = call;
      const result = { type: 'function_call_output' as const, call_id, output: 'fine' };
      const input = [{ type: 'function_call' as const, name, arguments: json, call_id }, result];
      await asked(socket, { model, input, tools, previous_response_id: first.id, store: false });
      const calls = JSON.stringify(lastBody()).match(/"(tool_use|functionCall|arguments)"/g);
      assert.equal(calls?.length, 1, JSON.stringify(lastBody()));
    } finally {
      socket.close();
    }
  });
}

test('a kept response is continued from where it is kept, here and by a POST', async () => {
  const socket = new ResponsesWS(client);
  const { id } = responseOf(await asked(socket, { model: 'claude', input: 'remember red' }));
  const { id: second } = responseOf(await asked(socket, { model: 'claude', input: 'b', previous_response_id: id }));
  socket.close();
  await client.responses.create({ model: 'claude', input: 'c', previous_response_id: second });
  assert.match(JSON.stringify(lastBody()), /remember red/);
  assert.equal((await client.responses.retrieve(second)).previous_response_id, id);
});

test('each response is a row of the ledger, and nothing is one between them', async () => {
  const before = (await rows()).length;
  const socket = new ResponsesWS(client);
  for (let at = 0; at < 2; at++) await asked(socket, { model: 'chat', input: 'hello', store: false });
  socket.close();
  await until('both have rows', async () => (await rows()).length === before + 2);
});

test('a conversation is sent before it is asked about', async () => {
  const socket = new ResponsesWS(client);
  const sent = upstream.requests().length;
  const warm = { model: 'chat', input: 'The colour is red.', store: false, generate: false } as Create;
  const { id, output } = responseOf(await asked(socket, warm));
  assert.deepEqual([output, upstream.requests().length], [[], sent]);
  await asked(socket, { model: 'chat', input: 'Which colour?', previous_response_id: id, store: false });
  socket.close();
  assert.match(JSON.stringify(lastBody()), /The colour is red.*Which colour/);
});

test('what is wrong is an event with its status and field, and the connection stays', async () => {
  const socket = new ResponsesWS(client);
  const create = { type: 'response.create', model: 'chat', input: 'hello' };
  const unknown = await failed(socket, { ...create, model: 'none' });
  assert.equal(unknown.status, 404);
  assert.match(unknown.error!.message, /'none'/);
  const wrong = await failed(socket, { ...create, temperature: 'warm' });
  assert.deepEqual([wrong.status, wrong.error!.param], [400, 'temperature']);
  const previous = await failed(socket, { ...create, previous_response_id: 'resp_none' });
  assert.equal(previous.error!.code, 'previous_response_not_found');
  for (const [event, param] of [
    [{ ...create, background: true }, 'background'],
    [{ ...create, stream_id: 'a' }, 'stream_id'],
    [{ type: 'response.steer' }, 'type'],
  ] as const) {
    const { status, error } = await failed(socket, event);
    assert.deepEqual([status, error!.param], [400, param]);
  }
  assert.equal((await failed(socket, ['no object'])).status, 400);
  responseOf(await asked(socket, { model: 'chat', input: 'still here', store: false }));
  socket.close();
});

test('a message of bytes, or one too many that wait, is refused by an event, and what waits is answered', async () => {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  await once(socket, 'open');
  const events: { type: string; status?: number; error?: { message: string } }[] = [];
  socket.on('message', (data) => events.push(JSON.parse(String(data))));
  const of = (type: string) => events.filter((event) => event.type === type);
  const create = JSON.stringify({ type: 'response.create', model: 'chat', input: 'hello', store: false });
  socket.send(Buffer.from(create));
  await until('it is refused', () => of('error').length === 1);
  assert.equal(of('error')[0]!.status, 400);
  assert.match(of('error')[0]!.error!.message, /message of text/);
  // One runs, and four wait.
  for (let at = 0; at < 6; at++) socket.send(create);
  await until('all are answered', () => of('error').length === 2 && of('response.completed').length === 5);
  assert.equal(of('error')[1]!.status, 503);
  assert.match(of('error')[1]!.error!.message, /At most 4 requests wait/);
  socket.close();
});

test('events that wait count as bodies, of which an account has only so many at once', async (t) => {
  const { provider, stop } = await slowProvider(t);
  const small = await startGateway(t, {
    server: { body_limit: '1mb', body_memory: '2mb' },
    providers: { slow: { type: 'openai', base_url: provider, api_key: 'k' } },
    models: { chat: { targets: ['slow/m'] } },
  });
  const open = async () => {
    const headers = { authorization: `Bearer ${small.key}` };
    const socket = new WebSocket(`${small.url.replace('http', 'ws')}/v1/responses`, { headers });
    await once(socket, 'open');
    return socket;
  };
  const create = JSON.stringify({ type: 'response.create', model: 'chat', input: 'x'.repeat(600_000), store: false });
  const [first, second] = [await open(), await open()];
  first.send(create);
  await until('it is asked', () => stop.running === 1);
  await workersKnow();
  second.send(create);
  const [message] = await once(second, 'message');
  assert.match(String(message), /"status":503.*as many bytes of request bodies as one account may have at once/);
  first.close();
  await until('its place is free', () => stop.running === 0);
  await workersKnow();
  second.send(create);
  await until('the next one is asked', () => stop.running === 1);
  second.close();
});

/** A provider that never answers. */
async function slowProvider(t: TestContext) {
  const stop = { running: 0 };
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === 'GET') return response.end('{"data":[]}');
    stop.running += 1;
    return response.on('close', () => {
      stop.running -= 1;
    });
  });
  return { provider: `${await listening(t, server)}/v1`, stop };
}

test('a key that is revoked has no further response on its open connection', async () => {
  const admin = async (path: string, json: object) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    return (await (await gateway.fetch(`/admin/v1${path}`, { method: 'POST', headers, json })).json()) as {
      id: string;
      key: string;
    };
  };
  const { id, key } = await admin('/keys', { account: 'dev', name: 'leaves' });
  const socket = new ResponsesWS(new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 }));
  responseOf(await asked(socket, { model: 'chat', input: 'hello', store: false }));
  await admin(`/keys/${id}/revoke`, {});
  const sent = upstream.requests().length;
  const { status } = await failed(socket, { type: 'response.create', model: 'chat', input: 'again' });
  assert.equal(status, 401);
  assert.equal(upstream.requests().length, sent);
  socket.close();
});

test('a response whose stream breaks ends with an event that says so', async () => {
  const socket = new ResponsesWS(client);
  socket.on('error', () => undefined);
  const seen: string[] = [];
  socket.on('event', ({ type }) => void seen.push(type));
  socket.send({ type: 'response.create', model: 'mock/cut', input: 'hello', store: false });
  await until('it has failed', () => seen.includes('response.failed') || seen.includes('error'));
  socket.close();
});

test('who leaves stops the response; a wrong key and a plain GET are refused', async () => {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  await once(socket, 'open');
  upstream.script('/v1/chat/completions', ['chunks=100;interval=20ms']);
  socket.send(JSON.stringify({ type: 'response.create', model: 'chat', input: 'hello', store: false }));
  await once(socket, 'message');
  socket.terminate();
  await upstream.when(({ aborted }) => aborted);
  await until('its row says so', async () => (await rows()).some((row) => row.class === 'aborted'));
  const stranger = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: 'Bearer sk-cv-wrongwrongwrong' },
  });
  const [, refused] = (await once(stranger, 'unexpected-response')) as [unknown, { statusCode: number }];
  assert.equal(refused.statusCode, 401);
  stranger.on('error', () => undefined).terminate();
  const plain = await gateway.fetch('/v1/responses');
  assert.equal(plain.status, 426);
  assert.equal(plain.headers.get('upgrade'), 'websocket');
});

test('a server that stops ends the response that runs, and begins no other', async () => {
  const stopping = await startGateway({ after: after as TestContext['after'] }, overUpstreams(upstream.url));
  const socket = new WebSocket(`${stopping.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${stopping.key}` },
  });
  await once(socket, 'open');
  const types: string[] = [];
  socket.on('message', (data) => types.push(JSON.parse(String(data)).type));
  const create = JSON.stringify({ type: 'response.create', model: 'chat', input: 'hello', store: false });
  upstream.script('/v1/chat/completions', ['chunks=20;interval=20ms']);
  socket.send(create);
  await until('it has begun', () => types.includes('response.output_text.delta'));
  const sent = upstream.requests().length;
  const closed = once(socket, 'close');
  const stopped = stopping.close(10_000);
  socket.send(create);
  const [code] = await closed;
  await stopped;
  assert.equal(code, 1001);
  assert.deepEqual(
    [types.filter((type) => type === 'response.created').length, types.at(-1)],
    [1, 'response.completed'],
  );
  assert.equal(upstream.requests().length, sent);
});

test('a key has a hundred connections at most', async () => {
  const opened = async () => {
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    socket.on('error', () => undefined);
    return new Promise<WebSocket | number>((resolve) => {
      socket.once('open', () => resolve(socket));
      socket.once('unexpected-response', (_, response) => {
        resolve(response.statusCode ?? 0);
        socket.terminate();
      });
    });
  };
  const all: (WebSocket | number)[] = [];
  // Processes tell each other what they hold in a moment.
  const opensMax = testProcesses > 1 ? 200 : 101;
  while (all.length < opensMax && typeof all.at(-1) !== 'number') all.push(await opened());
  const sockets = all.filter((one) => typeof one !== 'number');
  assert.equal(all.at(-1), 429);
  for (const socket of sockets.splice(99)) socket.terminate();
  await until('there is a place again', async () => {
    const again = await opened();
    if (typeof again === 'number') return false;
    sockets.push(again);
    return true;
  });
  for (const socket of sockets) socket.terminate();
});
