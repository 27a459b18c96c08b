import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { stringify } from 'yaml';
import { startProcess, temporaryFolder } from '../start-process.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

const key = 'sk-cv-shutdown-test-1';

/** A gateway over one upstream, as a process of its own. */
async function startOver(t: TestContext, upstream: Upstream, more: Record<string, unknown> = {}) {
  const cwd = temporaryFolder(t);
  const config = {
    server: { port: 0 },
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: { chat: { targets: ['up/mock/ok'] } },
    keys: [{ key, account: 'dev', name: 'test' }],
    autodetect: 'off',
    ...more,
  };
  writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
  return startProcess(t, { cwd, args: [] });
}

function ask(url: string, mock: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: mock, stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  });
}

async function upstreamOf(t: TestContext): Promise<Upstream> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream;
}

// They mostly wait for child processes.
describe('shutdown', { concurrency: true }, () => {
  test('F39: SIGTERM while a stream runs: not ready, still serving who has not noticed, the stream ends whole, exit 0', async (t) => {
    const upstream = await upstreamOf(t);
    const gateway = await startOver(t, upstream, { server: { port: 0, shutdown_grace: '3s' } });
    // Longer than the half of the grace in which new requests are served.
    upstream.script('/v1/chat/completions', ['chunks=20;interval=90ms']);
    const stream = await ask(gateway.url, 'chat');
    const reader = stream.body!.getReader();
    await reader.read();

    gateway.child.kill('SIGTERM');
    await gateway.said('SIGTERM');
    const ready = await fetch(`${gateway.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.equal(ready.headers.get('connection'), 'close');
    assert.equal(((await ready.json()) as { checks: { accepting: boolean } }).checks.accepting, false);
    const late = await ask(gateway.url, 'chat');
    assert.equal(late.status, 200);
    assert.match(await late.text(), /data: \[DONE\]\n\n$/);

    let text = '';
    const decoder = new TextDecoder();
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value);
    assert.match(text, /data: \[DONE\]\n\n$/);
    const endedMs = performance.now();
    assert.deepEqual(await gateway.exited, { code: 0, signal: null });
    // The connection that this caller keeps open is not waited for.
    assert.ok(performance.now() - endedMs < 1_000, `${performance.now() - endedMs} ms`);
    await assert.rejects(fetch(`${gateway.url}/healthz`));
  });

  test('F39: a stream that outlives shutdown_grace is cut, not waited for', async (t) => {
    const upstream = await upstreamOf(t);
    const gateway = await startOver(t, upstream, { server: { port: 0, shutdown_grace: '200ms' } });
    upstream.script('/v1/chat/completions', ['chunks=1000;interval=50ms']);
    const stream = await ask(gateway.url, 'chat');
    const reader = stream.body!.getReader();
    await reader.read();
    const exit = await gateway.stop();
    assert.deepEqual(exit, { code: 0, signal: null });
    const aborted = await upstream.when((request) => request.ended_ms !== null && request.path.includes('chat'));
    assert.equal(aborted.aborted, true);
    await reader.cancel().catch(() => undefined);
  });

  test('a second signal ends the process at once', async (t) => {
    const upstream = await upstreamOf(t);
    const gateway = await startOver(t, upstream);
    upstream.script('/v1/chat/completions', ['chunks=1000;interval=50ms']);
    const stream = await ask(gateway.url, 'chat');
    const reader = stream.body!.getReader();
    await reader.read();
    gateway.child.kill('SIGTERM');
    await gateway.said('SIGTERM');
    gateway.child.kill('SIGTERM');
    assert.deepEqual(await gateway.exited, { code: 130, signal: null });
    await reader.cancel().catch(() => undefined);
  });

  test('a connection on which nobody has asked, such as browsers keep, is not waited for', async (t) => {
    const gateway = await startOver(t, await upstreamOf(t), { server: { port: 0, shutdown_grace: '60s' } });
    const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' });
    t.after(() => socket.destroy());
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    const startedMs = performance.now();
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
    await closed;
    assert.ok(performance.now() - startedMs < 30_000, `${performance.now() - startedMs} ms`);
  });

  test('an idle process ends at once, even while a provider is silent about its models and a caller keeps its connection', async (t) => {
    const upstream = await upstreamOf(t);
    upstream.script('/v1/models', ['always hang']);
    const gateway = await startOver(t, upstream);
    await upstream.when((request) => request.path === '/v1/models');
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
    const startedMs = performance.now();
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
    assert.ok(performance.now() - startedMs < 3_000, `${performance.now() - startedMs} ms`);
  });
});
