import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI from 'openai';
import type { Response } from 'openai/resources/responses/responses';
import type { JsonObject } from '../../src/kernel/json.ts';
import { assertPublishedWhole } from '../conversion/responses-frames.ts';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { startReplicas } from '../faults/replicas.ts';
import { noLimits, overUpstreams, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { openWorld } from './world.ts';

/* `background: true`: a response runs without its caller, who asks for it, follows it or cancels it. */

const slow = 'mock/chunks=40;interval=50ms';

async function ended(client: OpenAI, id: string): Promise<Response> {
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (response.status !== 'queued' && response.status !== 'in_progress') return response;
    await pause(50);
  }
}

for (const model of ['chat', 'claude', 'native']) {
  test(`a response in the background is told at once, runs, is kept and can be continued (${model})`, async (t) => {
    const { client, stranger, gateway, sent } = await openWorld(t);
    const first = await client.responses.create({ model, input: 'My name is Ada.', background: true });
    assert.match(String(first.status), /^(queued|in_progress)$/);
    assert.equal(first.background, true);
    assertPublishedWhole(first as unknown as JsonObject);
    await assert.rejects(stranger.responses.retrieve(first.id), { status: 404 });
    await assert.rejects(stranger.responses.cancel(first.id), { status: 404 });
    const done = await ended(client, first.id);
    assert.equal(done.status, 'completed');
    assert.equal(done.id, first.id);
    assert.ok(done.output_text.length > 0);
    assertPublishedWhole(done as unknown as JsonObject);
    sent();
    const next = { model, input: 'Who am I?', background: true, previous_response_id: first.id };
    const second = await client.responses.create(next);
    assert.equal((await ended(client, second.id)).previous_response_id, first.id);
    assert.match(JSON.stringify(sent()[0]), /My name is Ada\./);
    const record = await gateway.fetch(`/v1/requests/req_${first.id.slice(5)}`);
    assert.equal(record.status, 200, 'the ledger tells of it by the same id');
  });
}

test('a stream of it can be left, and taken up again behind any event, while it runs and afterwards', async (t) => {
  const { client } = await openWorld(t, {}, slow);
  const stream = await client.responses.create({ model: 'chat', input: 'Hi', background: true, stream: true });
  let id = '';
  let last = -1;
  for await (const event of stream) {
    if (event.type === 'response.created') id = event.response.id;
    last = event.sequence_number;
    if (last === 6) break;
  }
  const numbers = async (after: number) => {
    const seen: number[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: after })) {
      seen.push(event.sequence_number);
    }
    return seen;
  };
  const live = await numbers(last);
  assert.equal(live[0], last + 1);
  assert.deepEqual(
    live,
    live.map((_, at) => last + 1 + at),
    'no gap, nothing twice',
  );
  assert.equal((await ended(client, id)).status, 'completed');
  assert.deepEqual(await numbers(last), live, 'afterwards it is the same');
});

test('a cancelled one stops at its provider, and stays cancelled', async (t) => {
  const { client, upstream } = await openWorld(t, {}, slow);
  const { id } = await client.responses.create({ model: 'chat', input: 'Hi', background: true });
  await upstream.when(({ method }) => method === 'POST');
  const cancelled = await client.responses.cancel(id);
  assert.equal(cancelled.status, 'cancelled');
  const request = await upstream.when(({ method, ended_ms }) => method === 'POST' && ended_ms !== null);
  assert.equal(request.aborted, true);
  assert.equal((await client.responses.cancel(id)).status, 'cancelled');
  assert.equal((await client.responses.retrieve(id)).status, 'cancelled');
  const whole = await client.responses.create({ model: 'chat', input: 'Hi' });
  await assert.rejects(client.responses.cancel(whole.id), { status: 400 });
});

test('a deleted one stops as well, and one that fails says why', async (t) => {
  const { client, upstream } = await openWorld(t, {}, slow);
  const { id } = await client.responses.create({ model: 'chat', input: 'Hi', background: true });
  await upstream.when(({ method }) => method === 'POST');
  await client.responses.delete(id);
  const request = await upstream.when(({ method, ended_ms }) => method === 'POST' && ended_ms !== null);
  assert.equal(request.aborted, true);
  upstream.script(
    '*',
    Array.from({ length: 20 }, () => 'status=503'),
  );
  const failing = await client.responses.create({ model: 'chat', input: 'Hi', background: true });
  const failed = await ended(client, failing.id);
  assert.equal(failed.status, 'failed');
  assert.equal(failed.error?.code, 'server_error');
});

test('it counts against the limits of its key for as long as it runs', async (t) => {
  const plans = { default: { windows: { week: 2 }, rpm: 'off', concurrency: 1 } };
  const { client } = await openWorld(t, { plans }, slow);
  const first = await client.responses.create({ model: 'chat', input: 'Hi', background: true });
  await assert.rejects(client.responses.create({ model: 'chat', input: 'Hi', background: true }), { status: 429 });
  await ended(client, first.id);
  const again = async (): Promise<Response> => {
    // The place is given back right behind the end.
    for (;;) {
      try {
        return await client.responses.create({ model: 'chat', input: 'Hi', background: true });
      } catch {
        await pause(20);
      }
    }
  };
  assert.equal((await ended(client, (await again()).id)).status, 'completed');
  const third = await ended(client, (await again()).id);
  assert.equal(third.status, 'failed');
  assert.equal(third.error?.code, 'insufficient_quota');
});

test('what is wrong is refused before anything is kept', async (t) => {
  const { gateway } = await openWorld(t);
  const cases: [json: JsonObject, status: number, param: string | null][] = [
    [{ model: 'chat', input: 'Hi', store: false }, 400, 'store'],
    [{ model: 'nobody', input: 'Hi' }, 404, 'model'],
    [{ model: 'chat', input: 5 }, 400, 'input'],
    [{ model: 'chat', input: 'Hi', previous_response_id: 'resp_none' }, 404, 'previous_response_id'],
  ];
  for (const [json, status, param] of cases) {
    const answer = await gateway.fetch('/v1/responses', { json: { ...json, background: true } });
    const { error } = (await answer.json()) as { error: JsonObject };
    assert.deepEqual([answer.status, error.param], [status, param], JSON.stringify(error));
  }
});

test('after kill -9 it is told as failed, and was charged once', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = {
    ...overUpstreams(upstream.url),
    plans: noLimits,
    storage: { data_dir: join(temporaryFolder(t), 'data') },
  };
  upstream.script('*', ['hang']);
  const first = await startGatewayProcess(t, config);
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'chat', input: 'Hi', background: true });
  const begun = await fetch(`${first.url}/v1/responses`, { method: 'POST', headers, body });
  const { id } = (await begun.json()) as { id: string };
  await upstream.when(({ method }) => method === 'POST');
  const exit = once(first.process, 'exit');
  first.process.kill('SIGKILL');
  await exit;
  const again = await startGatewayProcess(t, config);
  const found = await fetch(`${again.url}/v1/responses/${id}`, { headers });
  const response = (await found.json()) as JsonObject;
  assert.equal(response.status, 'failed');
  assert.match(String((response.error as JsonObject).message), /stopped while this response ran/);
  const record = await fetch(`${again.url}/v1/requests/req_${id.slice(5)}`, { headers });
  assert.equal(record.status, 200, 'the run that was cut off is in the ledger');
  assert.equal(upstream.requests().filter(({ method }) => method === 'POST').length, 1, 'nothing runs twice');
});

test('with the same Idempotency-Key it runs once', async (t) => {
  const { client, upstream } = await openWorld(t);
  const begin = () =>
    client.responses.create(
      { model: 'chat', input: 'Hi', background: true },
      { headers: { 'idempotency-key': 'once' } },
    );
  const [first, second] = [await begin(), await begin()];
  assert.equal(second.id, first.id);
  assert.equal((await ended(client, first.id)).status, 'completed');
  assert.equal(upstream.requests().filter(({ method }) => method === 'POST').length, 1);
});

test('one replica follows and cancels what another runs', { skip: postgresMissing || redisMissing }, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const { urls, upstream } = await startReplicas(t, 2, { postgres, redis, plans: noLimits });
  const [one, two] = urls.map((url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: testKey, maxRetries: 0 }));
  upstream.script('*', ['chunks=10;interval=50ms']);
  const told = await one!.responses.create({ model: 'chat', input: 'Hi', background: true });
  const types: string[] = [];
  for await (const event of await two!.responses.retrieve(told.id, { stream: true })) types.push(event.type);
  assert.deepEqual([types[0], types.at(-1)], ['response.created', 'response.completed']);

  upstream.clear();
  upstream.script('*', ['chunks=1000;interval=50ms']);
  const { id } = await one!.responses.create({ model: 'chat', input: 'Hi', background: true });
  await upstream.when(({ method }) => method === 'POST');
  assert.equal((await two!.responses.cancel(id)).status, 'cancelled');
  const request = await upstream.when(({ method, ended_ms }) => method === 'POST' && ended_ms !== null);
  assert.equal(request.aborted, true);
  assert.equal((await one!.responses.retrieve(id)).status, 'cancelled');
});
