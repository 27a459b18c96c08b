import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { stringify } from 'yaml';
import { assertWithin } from '../machine-load.ts';
import { rawExchange } from '../raw-exchange.ts';
import { cleanEnv, startProcess, temporaryFolder } from '../start-process.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const key = 'sk-cv-shutdown-test-1';
const adminKey = 'shutdown-test-admin-key-1';

/** A folder with the configuration of a gateway over one upstream. */
function folderOver(t: TestContext, upstream: Upstream, more: Record<string, unknown> = {}): string {
  const cwd = temporaryFolder(t);
  const config = {
    server: { port: 0 },
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: { chat: { targets: ['up/mock/ok'] } },
    keys: [{ key, account: 'dev', name: 'test' }],
    storage: { data_dir: join(cwd, 'data') },
    autodetect: 'off',
    ...more,
  };
  writeFileSync(join(cwd, 'culvert.yaml'), stringify(config));
  return cwd;
}

/** A gateway over one upstream, as a process of its own. */
async function startOver(t: TestContext, upstream: Upstream, more: Record<string, unknown> = {}) {
  return startProcess(t, { cwd: folderOver(t, upstream, more), args: [] });
}

const chat = {
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: { model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hi' }] },
};

function ask(url: string): Promise<Response> {
  return fetch(`${url}${chat.path}`, { method: 'POST', headers: chat.headers, body: JSON.stringify(chat.body) });
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
    const gateway = await startOver(t, upstream, { server: { port: 0, shutdown_grace: '16s' } });
    // Longer than a balancer has to notice that the gateway is not ready.
    upstream.script('/v1/chat/completions', ['chunks=30;interval=90ms']);
    const stream = await ask(gateway.url);
    const reader = stream.body!.getReader();
    await reader.read();

    // They connect before, so that they find an open port however slow this test is.
    const signalled = Promise.withResolvers<void>();
    const asked = { url: gateway.url, patienceMs: 30_000, restAfter: signalled.promise };
    const readyAnswer = rawExchange({ ...asked, method: 'GET', path: '/readyz' });
    const lateAnswer = rawExchange({ ...asked, ...chat });
    // Its connection is accepted after theirs.
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
    gateway.child.kill('SIGTERM');
    await gateway.said('SIGTERM');
    signalled.resolve();
    const ready = await readyAnswer;
    assert.equal(ready.status, 503);
    assert.match(ready.head, /^connection: close$/im);
    assert.equal(JSON.parse(ready.body.toString()).checks.accepting, false);
    const late = await lateAnswer;
    assert.equal(late.status, 200);
    assert.match(late.body.toString(), /data: \[DONE\]\n\n$/);

    let text = '';
    const decoder = new TextDecoder();
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value);
    assert.match(text, /data: \[DONE\]\n\n$/);
    const endedMs = performance.now();
    assert.deepEqual(await gateway.exited, { code: 0, signal: null });
    // The connection that this caller keeps open is not waited for.
    assertWithin(performance.now() - endedMs, 6_000);
    await assert.rejects(fetch(`${gateway.url}/healthz`));
  });

  test('F39: streams that outlive shutdown_grace end with the error of their format, and are charged as far as they came', async (t) => {
    const upstream = await upstreamOf(t);
    const cwd = folderOver(t, upstream, { server: { port: 0, shutdown_grace: '200ms' }, admin: { key: adminKey } });
    const gateway = await startProcess(t, { cwd, args: [] });
    upstream.script('/v1/chat/completions', [...Array(4).fill('chunks=1000;interval=50ms'), 'delay=60s']);
    const user = { role: 'user', content: 'Hi' } as const;
    const { url: baseURL } = gateway;
    const openai = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: key, maxRetries: 0 });
    const anthropic = new Anthropic({ baseURL, apiKey: key, maxRetries: 0 });
    const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: baseURL } });
    const streams: Record<string, AsyncIterable<unknown>> = {
      chat: await openai.chat.completions.create({ model: 'chat', stream: true, messages: [user] }),
      responses: await openai.responses.create({ model: 'chat', stream: true, input: 'Hi' }),
      messages: await anthropic.messages.create({ model: 'chat', stream: true, max_tokens: 99, messages: [user] }),
      gemini: await google.models.generateContentStream({ model: 'chat', contents: 'Hi' }),
    };
    const ends = Object.entries(streams).map(async ([format, stream]) => {
      let events = 0;
      try {
        for await (const _ of stream) events += 1;
        return [format, events, 'a clean end'];
      } catch (error) {
        return [format, events, String(error)];
      }
    });
    const whole = fetch(`${baseURL}${chat.path}`, {
      method: 'POST',
      headers: chat.headers,
      body: JSON.stringify({ ...chat.body, stream: false }),
    });
    await upstream.when(() => upstream.requests().filter(({ method }) => method === 'POST').length === 5);
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
    for (const [format, events, end] of await Promise.all(ends)) {
      assert.ok(Number(events) > 1, `${format}: ${events}`);
      assert.match(String(end), /This server shut down before the answer was complete/, String(format));
    }
    assert.equal((await whole).status, 503);
    await upstream.when(() => upstream.requests().every(({ method, aborted }) => method !== 'POST' || aborted));
    const again = await startProcess(t, { cwd, args: [] });
    const headers = { authorization: `Bearer ${adminKey}` };
    const ledger = await (await fetch(`${again.url}/admin/v1/requests.jsonl`, { headers })).text();
    const charged = ledger
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { class: string; units: number });
    // Nothing of the whole answer, which is the last request, was sent.
    assert.deepEqual(
      charged.map(({ class: end, units }) => [end, units]),
      [['aborted', 0], ...Array(4).fill(['aborted', 1])],
    );
  });

  test('a second signal ends the process at once', async (t) => {
    const upstream = await upstreamOf(t);
    const gateway = await startOver(t, upstream);
    upstream.script('/v1/chat/completions', ['chunks=1000;interval=50ms']);
    const stream = await ask(gateway.url);
    const reader = stream.body!.getReader();
    await reader.read();
    gateway.child.kill('SIGTERM');
    await gateway.said('SIGTERM');
    // Half a second later it counts as a second one.
    const impatient = setInterval(() => gateway.child.kill('SIGTERM'), 100);
    assert.deepEqual(await gateway.exited, { code: 130, signal: null });
    clearInterval(impatient);
    await reader.cancel().catch(() => undefined);
  });

  for (const [whom, target] of [
    ['npm alone', 1],
    ['npm and its process group', -1],
  ] as const) {
    test(`F39: SIGTERM to ${whom}: the running stream ends whole, and no gateway is left behind`, async (t) => {
      const upstream = await upstreamOf(t);
      const cwd = folderOver(t, upstream);
      const args = ['run', 'culvert', '--', 'start', '--config', join(cwd, 'culvert.yaml')];
      const npm = spawn('npm', args, {
        cwd: root,
        env: cleanEnv(),
        detached: true,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const inGroup = (signal: NodeJS.Signals) => process.kill(-npm.pid!, signal);
      // A process that is left behind holds the output open.
      const ended = once(npm, 'close');
      t.after(async () => {
        if (!npm.stdout.closed) inGroup('SIGKILL');
        await ended;
      });
      let output = '';
      for await (const piece of npm.stdout.iterator({ destroyOnReturn: false })) {
        output += piece;
        if (/listens on http:[^\s]+\s/.test(output)) break;
      }
      npm.stdout.resume();
      upstream.script('/v1/chat/completions', ['chunks=20;interval=90ms']);
      const stream = await ask(/listens on (http:[^\s,]+)/.exec(output)![1]!);
      process.kill(target * npm.pid!, 'SIGTERM');
      assert.match(await stream.text(), /data: \[DONE\]\n\n$/);
      await ended;
    });
  }

  test('a connection on which nobody has asked, such as browsers keep, is not waited for', async (t) => {
    const gateway = await startOver(t, await upstreamOf(t), { server: { port: 0, shutdown_grace: '60s' } });
    const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' });
    t.after(() => socket.destroy());
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    const startedMs = performance.now();
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
    await closed;
    assertWithin(performance.now() - startedMs, 30_000);
  });

  test('an idle process ends at once, even while a provider is silent about its models and a caller keeps its connection', async (t) => {
    const upstream = await upstreamOf(t);
    upstream.script('/v1/models', ['always hang']);
    // Without models of its own it asks again, should its first start keep it from the first answer: that writes compiled
    // code for seconds.
    const gateway = await startOver(t, upstream, { models: undefined });
    await upstream.when((request) => request.path === '/v1/models');
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
    const startedMs = performance.now();
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
    assertWithin(performance.now() - startedMs, 15_000);
  });
});
