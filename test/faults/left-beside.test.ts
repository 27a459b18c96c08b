import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { openReservations } from './gauges.ts';

const path = '/v1/chat/completions';
/** Of those that make the usual time of a target known. */
const before = 60;

/** Nothing ends before a test has given up, unless it is stopped. */
const timeouts = { first_token: '24h', idle: '24h', total: '24h' };
type Models = { chat: object };

const hello = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };

test('F18 the caller leaves after what was asked beside a silent target has failed: the silent one is stopped too', async (t) => {
  const [silent, failing] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([silent.close(), failing.close()]));
  const two = overUpstreams(silent.url, failing.url);
  const gateway = await startGateway(t, { ...two, models: { chat: { ...(two.models as Models).chat, timeouts } } });
  await warmed(gateway, silent);
  failing.script(path, ['always status=500']);

  const leave = ask(gateway, hello);
  const beside = await failing.when((request) => request.path === path && request.ended_ms !== null);
  assert.equal(beside.aborted, false, 'it was asked, and failed');
  // Until the gateway has read that.
  await pause(500);
  await leave();
  await isStopped(gateway, silent);
});

test('F18 the caller leaves while a picture is fetched for a target beside a silent one: the silent one is stopped too', async (t) => {
  const silent = await startUpstream();
  t.after(() => silent.close());
  // Accepts, and says nothing.
  const pictures = createServer().listen(0, '127.0.0.1');
  await once(pictures, 'listening');
  t.after(() => pictures.close());
  const host = `127.0.0.1:${(pictures.address() as AddressInfo).port}`;
  const gateway = await startGateway(t, {
    providers: {
      silent: { type: 'openai', base_url: `${silent.url}/v1`, api_key: 'a' },
      // Takes pictures inline alone.
      beside: { type: 'gemini', base_url: silent.url, api_key: 'b' },
    },
    models: { chat: { timeouts, targets: ['silent/mock/ok', { provider: 'beside', model: 'mock/ok', priority: 2 }] } },
    fetch: { allow_private: [host] },
  });
  await warmed(gateway, silent);

  const picture = { type: 'image_url', image_url: { url: `https://${host}/otter.png` } };
  const leave = ask(gateway, { ...hello, messages: [{ role: 'user', content: [picture] }] });
  await once(pictures, 'connection');
  await leave();
  await isStopped(gateway, silent);
});

/** The usual time of the first target is known, and it says nothing any more. */
async function warmed(gateway: TestGateway, silent: Upstream): Promise<void> {
  await gateway.modelsKnown;
  for (let i = 0; i < before; i++) await (await gateway.fetch(path, { json: hello })).text();
  silent.clear();
  silent.script(path, ['always hang']);
}

/** Its result leaves. */
function ask(gateway: TestGateway, json: object): () => Promise<void> {
  const leaving = new AbortController();
  const answer = gateway.fetch(path, { json, signal: leaving.signal });
  answer.catch(() => {});
  return async () => {
    leaving.abort();
    await assert.rejects(answer);
  };
}

/** Not by a timeout, for there is none; and the request is settled. */
async function isStopped(gateway: TestGateway, silent: Upstream): Promise<void> {
  await until('the silent target is stopped', () =>
    silent.requests().some((request) => request.path === path && request.aborted && request.ended_ms !== null),
  );
  await until('the request is settled', async () => (await openReservations(gateway)) === 0);
}
