import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { test } from 'node:test';
import { startBareServer } from '../../../test/contract/bare-server.ts';
import type { RequestFacts } from '../../books/metering/admission.ts';
import { vectorEndpoint } from '../../inference/families/vectors/endpoint.ts';
import type { Client } from '../../inference/spine/sink.ts';
import { systemClock } from '../../kernel/clock.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { createRoom, type RoomBounds } from '../../kernel/sharing/room.ts';
import { createBodyMemory } from '../../vectors/body-memory.ts';
import type { Prepared, VectorAnswer, VectorCall, VectorEngine } from '../../vectors/vector-engine.ts';
import { vectorVerbNames, vectorVerbs } from '../../vectors/verbs.ts';
import { gatewayRootPaths, unsupportedQdrantCalls } from './unsupported-qdrant.ts';
import { vectorBodyBytesMax, vectorRoutes } from './vectors.ts';

const qdrantApi = JSON.parse(readFileSync('test/spec/qdrant-openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, unknown>>;
};

const mb = 1024 * 1024;

type Context = { after(fn: () => unknown): void };
type End = Pick<RequestFacts, 'status' | 'class' | 'aborted' | 'delivery'>;

interface Script {
  prepare?: (call: VectorCall) => Promise<Failure | null>;
  hold?: Failure;
  run?: (client: Pick<Client, 'onDisconnect'>) => Promise<VectorAnswer | Failure>;
  settled?: () => void;
  room?: RoomBounds;
}

const answered: VectorAnswer = {
  kind: 'answer',
  status: 200,
  body: Buffer.from('{"result":true,"status":"ok","time":0}'),
};

/** The routes over an engine and a meter that do what the test says and remember what they were asked. */
async function serve(t: Context, script: Script = {}) {
  const calls: VectorCall[] = [];
  const ends: End[] = [];
  const logged: string[] = [];
  let client: Client | null = null;
  const engine: VectorEngine = {
    bodyMemory: createBodyMemory(),
    async prepare(call) {
      calls.push(call);
      const refused = await script.prepare?.(call);
      if (refused != null) return refused;
      const prepared: Prepared = {
        kind: 'prepared',
        texts: null,
        rerank: null,
        effect: 'reads',
        ran: null,
        run: async () => {
          logged.push('run');
          return script.run === undefined ? answered : script.run(client!);
        },
        drop: () => logged.push('drop'),
      };
      return prepared;
    },
    storedBytes: async () => 0,
    trouble: () => null,
    close: async () => undefined,
  };
  const services = {
    clock: systemClock,
    snapshots: { current: { config: { costs: { vectors: 0.05 } }, rules: null, steps: null } },
    admission: {
      async reserve({ requestId }: { requestId: string }) {
        logged.push('hold');
        const headers = ['ratelimit', '"5h";r=9;t=60'];
        return script.hold ?? { kind: 'reserved', requestId, costMilli: 50, headers };
      },
    },
    settlement: {
      settle(_reserved: unknown, { status, class: end, aborted, delivery }: End) {
        logged.push('settle');
        ends.push({ status, class: end, aborted, delivery });
        script.settled?.();
        return null;
      },
    },
  } as never;
  const made = vectorEndpoint(services, engine);
  const endpoint: typeof made = {
    ...made,
    work(order) {
      client = order.call.client;
      return made.work(order);
    },
  };
  const bodies = createRoom('bodies', () => script.room ?? { bytesMax: 512 * mb, accountBytesMax: 256 * mb });
  const server = await startBareServer(t, { routes: vectorRoutes({ services, endpoint, engine, bodies }) });
  const send = (path: string, init: RequestInit = {}) =>
    fetch(server.url + path, {
      ...init,
      headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string>) },
    });
  return { ...server, send, calls, ends, logged };
}

test('every verb is served below /v1/vectors and at the root', async (t) => {
  const { send, calls } = await serve(t);
  for (const at of ['/v1/vectors', '']) {
    for (const verb of vectorVerbNames) {
      const { method, path } = vectorVerbs[verb];
      const filled = path.replace(':collection', 'c%2F1').replace(':id', '7').replace(':field', 'a%5B%5D.b');
      const body = method === 'GET' || method === 'DELETE' ? undefined : '{}';
      const response = await send(`${at}${filled}?wait=true`, { method, ...(body !== undefined && { body }) });
      assert.equal(response.status, 200, `${method} ${at}${filled}`);
      assert.deepEqual(await response.json(), { result: true, status: 'ok', time: 0 });
      const call = calls.at(-1)!;
      assert.equal(call.verb, verb);
      assert.equal(call.search, 'wait=true');
      assert.equal(Buffer.from(call.body).toString(), body ?? '');
      if (path.includes(':collection')) assert.equal(call.params.collection, 'c/1');
      if (path.includes(':field')) assert.equal(call.params.field, 'a[].b');
      assert.deepEqual(call.owner, { tenant: 'a/k', account: 'a' });
    }
  }
});

test('title and version are told without a key, as Qdrant tells them', async (t) => {
  const { send } = await serve(t);
  for (const path of ['/v1/vectors', '/v1/vectors/']) {
    const response = await send(path);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { title: 'Culvert vectors', version: '1.19.0' });
  }
});

test('an answer carries cost, limits and ids, and is settled once', async (t) => {
  const { send, ends, logged } = await serve(t);
  const response = await send('/v1/vectors/collections', { headers: { 'x-request-id': 'mine' } });
  assert.equal(response.headers.get('x-culvert-cost'), '0.05');
  assert.equal(response.headers.get('ratelimit'), '"5h";r=9;t=60');
  assert.equal(response.headers.get('x-request-id'), 'mine');
  assert.match(response.headers.get('x-culvert-request-id')!, /^req_/);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.deepEqual(logged, ['hold', 'run', 'settle']);
  assert.deepEqual(ends, [{ status: 200, class: 'ok', aborted: false, delivery: 'whole' }]);
});

test("a refusal has our error body and Qdrant's members, holds nothing and costs nothing", async (t) => {
  const failure = invalid('points[3].vector', 'points[3].vector: expected 4 numbers, got 3.');
  const { send, logged } = await serve(t, { prepare: async () => failure });
  const response = await send('/v1/vectors/collections/c/points', { method: 'PUT', body: '{}' });
  assert.equal(response.status, 400);
  assert.equal(response.headers.get('x-culvert-cost'), null);
  const body = (await response.json()) as { error: Record<string, unknown>; status: unknown; time: number };
  assert.deepEqual(body.status, { error: 'points[3].vector: expected 4 numbers, got 3.' });
  assert.equal(typeof body.time, 'number');
  assert.ok(body.time >= 0 && body.time < 600);
  assert.deepEqual(
    [body.error.message, body.error.type, body.error.code, body.error.param],
    ['points[3].vector: expected 4 numbers, got 3.', 'invalid_request_error', 400, 'points[3].vector'],
  );
  assert.deepEqual(logged, []);
});

test('a call that the plan refuses is dropped before anything is done', async (t) => {
  const { send, logged } = await serve(t, { hold: { kind: 'quota-unavailable', message: 'Quota is unavailable.' } });
  const response = await send('/v1/vectors/collections');
  assert.equal(response.status, 503);
  assert.deepEqual(logged, ['hold', 'drop']);
});

test('a call that fails while it is done is refused with what the engine said, and settled as refused', async (t) => {
  const failure: Failure = { kind: 'conflict', message: "A collection 'c' exists already." };
  const { send, logged, ends } = await serve(t, { run: async () => failure });
  const response = await send('/collections/c', { method: 'PUT', body: '{}' });
  assert.equal(response.status, 409);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  assert.deepEqual(logged, ['hold', 'run', 'settle']);
  assert.deepEqual(ends, [{ status: 409, class: 'conflict', aborted: false, delivery: 'nothing' }]);
});

test('an engine that breaks is a 500 without its words, and still settled', async (t) => {
  const { send, logged, ends, unexpected } = await serve(t, {
    run: async () => {
      throw new Error('a secret');
    },
  });
  const response = await send('/collections');
  assert.equal(response.status, 500);
  assert.ok(!(await response.text()).includes('secret'));
  assert.deepEqual(logged, ['hold', 'run', 'settle']);
  assert.deepEqual(ends, [{ status: 500, class: 'internal', aborted: false, delivery: 'nothing' }]);
  assert.equal(unexpected.length, 1);
});

test('what was done for a caller who left meanwhile is settled as done', async (t) => {
  const reached = Promise.withResolvers<void>();
  const settled = Promise.withResolvers<void>();
  const { url, ends } = await serve(t, {
    run: async (client) => {
      const gone = new Promise<void>((resolve) => client.onDisconnect(resolve));
      reached.resolve();
      await gone;
      return answered;
    },
    settled: settled.resolve,
  });
  const sent = request(`${url}/collections`);
  sent.on('error', () => undefined);
  sent.end();
  await reached.promise;
  sent.destroy();
  await settled.promise;
  assert.deepEqual(ends, [{ status: 200, class: 'ok', aborted: false, delivery: 'whole' }]);
});

test('a body above 32 MB is 413 before it is read', async (t) => {
  const { url, calls } = await serve(t);
  const sent = request(`${url}/collections/c/points`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'content-length': String(vectorBodyBytesMax + 1) },
  });
  sent.on('error', () => undefined);
  sent.flushHeaders();
  const [response] = await once(sent, 'response');
  assert.equal(response.statusCode, 413);
  sent.destroy();
  assert.deepEqual(calls, []);
});

test('a body that is not said to be JSON is 415, one of an unknown encoding too', async (t) => {
  const { send } = await serve(t);
  for (const headers of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'compress' }]) {
    const response = await send('/collections/c/points', { method: 'PUT', body: '{}', headers });
    assert.equal(response.status, 415);
  }
});

test('an unknown path is 404, one that cannot be decoded too, and another method 405, all in words of this API', async (t) => {
  const { send } = await serve(t);
  const cases = [
    ['/v1/vectors/collections/a%ZZ', 'GET', 404],
    ['/collections/a%', 'GET', 404],
    ['/collections/%FF/points', 'GET', 404],
    ['/v1/vectors/nothing', 'GET', 404],
    ['/collections/c/nothing', 'GET', 404],
    ['/v1/vectors/collections/c/points/query', 'DELETE', 405],
  ] as const;
  for (const [path, method, status] of cases) {
    const response = await send(path, { method });
    const body = (await response.json()) as { status: { error: string }; error: { message: string } };
    assert.equal(response.status, status, path);
    assert.equal(body.status.error, body.error.message);
  }
});

test("S14 snapshot routes and all else of Qdrant's that is not done answer 501 in words, the body unread", async (t) => {
  const { url, send, calls, logged } = await serve(t);
  for (const { path, methods, message } of unsupportedQdrantCalls) {
    const filled = path.replaceAll(/:\w+/g, 'x');
    for (const at of gatewayRootPaths.has(path) ? ['/v1/vectors'] : ['/v1/vectors', '']) {
      for (const method of methods) {
        const response = await send(at + filled, { method, ...(method !== 'GET' && { body: '{"location":"/etc"}' }) });
        assert.equal(response.status, 501, `${method} ${at}${filled}`);
        const { error, status } = (await response.json()) as { error: Record<string, unknown>; status: unknown };
        assert.deepEqual([error.type, error.message, status], ['unsupported_error', message, { error: message }]);
      }
    }
  }
  const upload = request(`${url}/collections/c/snapshots/upload`, { method: 'POST' });
  upload.on('error', () => undefined);
  // An archive that never ends is refused nevertheless.
  upload.write(Buffer.alloc(1_024));
  const [response] = await once(upload, 'response');
  assert.equal(response.statusCode, 501);
  upload.destroy();
  assert.deepEqual([calls, logged], [[], []]);
});

test("every path of Qdrant's API is served or refused in words", async (t) => {
  const { send } = await serve(t);
  for (const [path, methods] of Object.entries(qdrantApi.paths)) {
    if (path === '/') continue;
    for (const method of Object.keys(methods)) {
      const filled = path.replaceAll(/\{\w+\}/g, 'x');
      const response = await send(`/v1/vectors${filled}`, {
        method: method.toUpperCase(),
        ...(method !== 'get' && method !== 'delete' && { body: '{}' }),
      });
      await response.text();
      assert.ok(response.status === 200 || response.status === 501, `${method} ${path}: ${response.status}`);
    }
  }
});

test('large bodies come whole, each its own, however the memory of others is used again', async (t) => {
  const seen: string[] = [];
  const { send } = await serve(t, {
    prepare: async (call) => {
      seen.push(Buffer.from(call.body).toString());
      return null;
    },
  });
  const bodies = [3, 2.5, 1.5, 3.9].map((size, at) => JSON.stringify({ text: String(at).repeat(size * mb) }));
  for (const body of bodies) {
    const response = await send('/v1/vectors/collections/c/points', { method: 'PUT', body });
    assert.equal(response.status, 200);
  }
  assert.deepEqual(
    seen.map((body) => bodies.indexOf(body)),
    [0, 1, 2, 3],
  );
});

test('calls beyond the bytes that may be on their way get 503 with Retry-After, and pass once others were answered', async (t) => {
  const running = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  let runs = 0;
  const { send } = await serve(t, {
    room: { bytesMax: 3 * mb, accountBytesMax: 4 * mb },
    run: async () => {
      started.resolve();
      if (runs++ === 0) await running.promise;
      return answered;
    },
  });
  const write = () =>
    send('/v1/vectors/collections/c/points', { method: 'PUT', body: JSON.stringify({ text: 'x'.repeat(2 * mb) }) });
  const first = write();
  await started.promise;
  const refused = await write();
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.match(await refused.text(), /as many bytes of bodies as it accepts at once/);
  // A body without a declared length counts as it comes.
  const body = new Blob(['x'.repeat(2 * mb)]).stream();
  const unsaid = await send('/v1/vectors/collections/c/points', { method: 'PUT', body, duplex: 'half' } as RequestInit);
  assert.equal(unsaid.status, 503);
  running.resolve();
  assert.equal((await first).status, 200);
  assert.equal((await write()).status, 200);
});
