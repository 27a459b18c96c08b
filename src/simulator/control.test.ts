import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, afterEach, test } from 'node:test';
import { rawExchange } from '../../test/raw-exchange.ts';
import { startUpstream } from '../../test/start-upstream.ts';
import type { RecordedRequest } from './recording.ts';
import { createSimulator } from './simulator.ts';

const upstream = await startUpstream();
after(() => upstream.close());
afterEach(() => upstream.clear());

const chat = '/v1/chat/completions';
const hi = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

async function status(path = chat, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(upstream.url + path, { method: 'POST', headers, body: JSON.stringify(hi) });
  await response.text();
  return response.status;
}

function control(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(upstream.url + path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

test('a script is consumed one entry per request and path, then all is well', async () => {
  const set = await control('POST', '/_mock/script', { [chat]: ['status=503', 'ok', '2x status=429'] });
  assert.deepEqual(await set.json(), { queued: { [chat]: 3 } });
  const seen: number[] = [];
  for (let at = 0; at < 5; at += 1) seen.push(await status());
  assert.deepEqual(seen, [503, 200, 429, 429, 200]);
});

test('a queue may be for one key, and the most exact one goes first', async () => {
  upstream.script('*', ['always status=500']);
  upstream.script(chat, ['status=502']);
  upstream.script(`${chat} sk-a`, ['status=401']);
  assert.equal(await status(chat, { authorization: 'Bearer sk-b' }), 502);
  assert.equal(await status(chat, { 'x-api-key': 'sk-a' }), 401);
  assert.equal(await status(chat, { 'x-api-key': 'sk-a' }), 500);
  assert.equal(await status('/v1/messages'), 500);
  assert.equal(await status('/v1/messages'), 500);
});

test('a list of models takes no step of a queue for all paths, unless it is for good', async () => {
  const models = async () => (await fetch(`${upstream.url}/v1/models`)).status;
  upstream.script('*', ['status=502']);
  assert.equal(await models(), 200);
  assert.equal(await status(), 502);
  upstream.script('*', ['always status=503']);
  assert.equal(await models(), 503);
});

test('the script goes before the header, the header before the model', async () => {
  const ask = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ ...hi, model: 'mock/status=503' });
    return (await fetch(upstream.url + chat, { method: 'POST', headers, body })).status;
  };
  upstream.script(chat, ['status=501']);
  assert.equal(await ask({ 'x-mock': 'status=502' }), 501);
  assert.equal(await ask({ 'x-mock': 'status=502' }), 502);
  assert.equal(await ask({}), 503);
});

test('a script that cannot be read changes nothing and says why', async () => {
  const answer = await control('POST', '/_mock/script', { [chat]: ['status=503'], '/x': ['statsu=1'] });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /'\/x'.*'statsu' is unknown/);
  assert.equal(await status(), 200);
  for (const body of [{ [chat]: 'status=503' }, { [chat]: [1] }, []]) {
    assert.equal((await control('POST', '/_mock/script', body)).status, 400);
  }
  assert.throws(() => upstream.script(chat, ['nonsense']), /'nonsense' is unknown/);
});

test('requests are recorded with path, headers, body, times and bytes', async () => {
  await status(`${chat}?api-version=1`, { authorization: 'Bearer sk-a' });
  const listed = (await (await control('GET', '/_mock/requests')).json()) as RecordedRequest[];
  assert.equal(listed.length, 1);
  const [request] = listed;
  assert.ok(request);
  assert.equal(request.path, `${chat}?api-version=1`);
  assert.equal(request.method, 'POST');
  assert.equal(request.headers.authorization, 'Bearer sk-a');
  assert.deepEqual(request.body, hi);
  assert.equal(request.aborted, false);
  assert.ok(request.bytes_sent > 100 && request.at_ms <= (request.ended_ms ?? 0));
  assert.deepEqual(upstream.requests(), listed);
});

test('since leaves out what came before', async () => {
  await status();
  const { at_ms: atMs } = upstream.requests()[0]!;
  const since = async (ms: number) => (await (await control('GET', `/_mock/requests?since=${ms}`)).json()) as unknown[];
  assert.equal((await since(atMs - 1)).length, 1);
  assert.equal((await since(atMs)).length, 0);
  assert.equal((await control('GET', '/_mock/requests?since=noon')).status, 400);
});

test('DELETE forgets script and requests', async () => {
  upstream.script(chat, ['always status=503']);
  assert.equal(await status(), 503);
  await control('DELETE', '/_mock');
  assert.equal(await status(), 200);
  assert.equal(upstream.requests().length, 1);
});

test('GET explains every fault, for people and for programs', async () => {
  assert.match(await (await control('GET', '/_mock')).text(), /cut=120 .*TCP reset/);
  const response = await fetch(`${upstream.url}/_mock`, { headers: { accept: 'application/json' } });
  const { faults } = (await response.json()) as { faults: { name: string }[] };
  assert.ok(faults.some((fault) => fault.name === 'stall'));
});

for (const [name, spec, stream] of [
  ['mid-stream', 'chunks=1000;interval=5ms', true],
  ['in a stall', 'stall=120', true],
  ['before the headers', 'delay=10s', false],
  ['while it hangs', 'hang', false],
] as const) {
  test(`a client that leaves ${name} is recorded as aborted`, async () => {
    const leaving = new AbortController();
    const call = fetch(upstream.url + chat, {
      method: 'POST',
      headers: { 'x-mock': spec },
      body: JSON.stringify({ ...hi, stream }),
      signal: leaving.signal,
    }).then(
      (response) => response.body?.getReader().read(),
      () => undefined,
    );
    await upstream.when((request) => request.body !== null);
    if (stream) await call;
    leaving.abort();
    const request = await upstream.when((one) => one.ended_ms !== null);
    assert.equal(request.aborted, true);
    await call;
  });
}

for (const spec of ['cut', 'fin', 'eof', 'reset']) {
  test(`what the mock breaks itself (${spec}) is no abort`, async () => {
    await rawExchange({ url: upstream.url, path: chat, headers: { 'x-mock': spec }, body: { ...hi, stream: true } });
    const request = await upstream.when((one) => one.ended_ms !== null);
    assert.equal(request.aborted, false);
  });
}

test('a slow reader is felt: the mock waits instead of filling its memory', async () => {
  const response = await fetch(upstream.url + chat, {
    method: 'POST',
    headers: { 'x-mock': 'endless=256mb' },
    body: JSON.stringify(hi),
  });
  const reader = response.body!.getReader();
  await reader.read();
  // Sockets of both sides take some MB; the rest must wait for the reader.
  assert.ok(upstream.requests()[0]!.bytes_sent < 32 * 1024 * 1024);
  await reader.cancel();
  assert.equal((await upstream.when((request) => request.ended_ms !== null)).aborted, true);
});

test('a bare redirect leads to a place that is recorded', async () => {
  const response = await fetch(upstream.url + chat, { method: 'POST', headers: { 'x-mock': 'redirect' }, body: '{}' });
  await response.text();
  assert.deepEqual(
    upstream.requests().map((request) => request.path),
    [chat, '/_mock/redirected'],
  );
});

test('F9: reset-reused strikes only a connection that has answered before', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const call = () =>
    new Promise<string>((resolve) => {
      const options = { method: 'POST', agent, headers: { 'x-mock': 'reset-reused' } };
      request(upstream.url + chat, options, (response) => response.resume().on('end', () => resolve('answered')))
        .on('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? ''))
        .end(JSON.stringify(hi));
    });
  assert.deepEqual([await call(), await call(), await call()], ['answered', 'ECONNRESET', 'answered']);
  agent.destroy();
});

test('idle-close closes the kept connection after the answer', async () => {
  const agent = new Agent({ keepAlive: true });
  const options = { method: 'POST', agent, headers: { 'x-mock': 'idle-close=1ms' } };
  await new Promise((resolve) => {
    request(upstream.url + chat, options, (response) => response.resume().socket.on('close', resolve)).end('{}');
  });
  agent.destroy();
});

test('a server-wide spec serves requests that bring none', async () => {
  const slow = await startUpstream({ faults: 'status=503', name: 'b' });
  const response = await fetch(`${slow.url}${chat}`, { method: 'POST', body: JSON.stringify(hi) });
  assert.deepEqual([response.status, response.headers.get('x-mock-name')], [503, 'b']);
  await slow.close();
  assert.throws(() => createSimulator({ faults: 'nonsense' }), /'nonsense' is unknown/);
});

test('onEnded sees every request once', async () => {
  const ended: string[] = [];
  const watched = await startUpstream({ onEnded: (request) => ended.push(`${request.method} ${request.path}`) });
  await (await fetch(`${watched.url}/v1/models`)).text();
  await watched.when((request) => request.ended_ms !== null);
  assert.deepEqual(ended, ['GET /v1/models']);
  await watched.close();
});

test('a port that is taken is told', async () => {
  const other = createSimulator();
  const port = Number(new URL(upstream.url).port);
  await assert.rejects(other.listen({ host: '127.0.0.1', port }), { code: 'EADDRINUSE' });
  await other.close();
});
