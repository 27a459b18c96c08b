import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';

const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });
const callers = 8;
const requestsMin = 1_500;
const graceMs = 5_000;

test('F39 two replicas behind a balancer are restarted in turn under load: no request fails', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  // The balancer below asks every 20 ms; on a busy machine it has the answer much later.
  const config = { ...overUpstreams(upstream.url), server: { drain_delay: '2s' } };
  const replicas: GatewayProcess[] = [
    await startGatewayProcess(t, config, { graceMs }),
    await startGatewayProcess(t, config, { graceMs }),
  ];
  const ready = new Set(replicas.map(({ url }) => url));

  // The balancer's part: it asks each replica how it is, and sends where the answer is yes.
  let balancing = true;
  const watch = async (url: string) => {
    while (balancing) {
      const status = await fetch(`${url}/readyz`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) ready.add(url);
      else ready.delete(url);
      await after(20);
    }
  };
  const watches = replicas.map(({ url }) => watch(url));

  const failures: string[] = [];
  let served = 0;
  let loading = true;
  const call = async (turn: number) => {
    for (let i = turn; loading || served < requestsMin; i++) {
      const urls = [...ready];
      const url = urls[i % urls.length] ?? replicas[0]!.url;
      const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
      const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body }).catch(
        (error: unknown) => String((error as Error).cause ?? error),
      );
      if (typeof response === 'string') failures.push(response);
      else {
        await response.arrayBuffer();
        if (response.status !== 200) failures.push(String(response.status));
      }
      served++;
    }
  };
  const load = Promise.all(Array.from({ length: callers }, (_, turn) => call(turn)));
  for (const [i, replica] of replicas.entries()) {
    await after(300);
    const ended = once(replica.process, 'exit');
    replica.process.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    replicas[i] = await startGatewayProcess(t, config, { graceMs, at: replica.url });
    while (!ready.has(replica.url)) await after(20);
  }
  await after(300);
  loading = false;
  await load;
  balancing = false;
  await Promise.all(watches);
  assert.deepEqual(failures, []);
});
