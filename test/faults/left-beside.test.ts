import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { openReservations } from './gauges.ts';

const path = '/v1/chat/completions';
/** Of those that make the usual time of a target known. */
const before = 60;

test('F18 the caller leaves after what was asked beside a silent target has failed: the silent one is stopped too', async (t) => {
  const [silent, failing] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([silent.close(), failing.close()]));
  const gateway = await startGateway(t, overUpstreams(silent.url, failing.url));
  await gateway.modelsKnown;
  const json = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] };
  for (let i = 0; i < before; i++) await (await gateway.fetch(path, { json })).text();
  silent.clear();
  silent.script(path, ['always hang']);
  failing.script(path, ['always status=500']);

  const leaving = new AbortController();
  const answer = gateway.fetch(path, { json, signal: leaving.signal });
  answer.catch(() => {});
  const beside = await failing.when((request) => request.path === path && request.ended_ms !== null);
  assert.equal(beside.aborted, false, 'it was asked, and failed');
  // Until the gateway has read that.
  await pause(500);
  const leftAtMs = Date.now();
  leaving.abort();
  await assert.rejects(answer);

  const call = await silent.when((request) => request.path === path && request.ended_ms !== null);
  assert.equal(call.aborted, true);
  // Far below the timeout of 30 s, by which it would end by itself.
  assert.ok(call.ended_ms! - leftAtMs < 10_000, `${call.ended_ms! - leftAtMs} ms`);
  while ((await openReservations(gateway)) > 0) await pause(20);
});
