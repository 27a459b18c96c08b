import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

/* HTTP/2 without TLS, by prior knowledge: clients that speak it are served, and nobody breaks the server by it. */

const t = { after: after as TestContext['after'] };
const upstream = await startUpstream();
t.after(() => upstream.close());
const gateway = await startGateway(t, {
  // A hundred requests at once are many for a busy machine.
  server: { overload: 'off' },
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a', dialects: ['openai-chat'] } },
  models: { 'mock/*': { targets: ['up/mock/*'] } },
});

function asked(path: string, body?: object) {
  const client = connectHttp2(gateway.url);
  const stream = client.request({
    ':method': body === undefined ? 'GET' : 'POST',
    ':path': path,
    authorization: `Bearer ${gateway.key}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  });
  stream.end(body === undefined ? undefined : JSON.stringify(body));
  return { client, stream };
}

const chat = (model: string) => ({ model, stream: true, messages: [{ role: 'user', content: 'hello there' }] });

test('a stream of HTTP/2 gets the answer of a request, with its status and headers', async () => {
  const { client, stream } = asked('/v1/models');
  const [head] = (await once(stream, 'response')) as [Record<string, string>];
  assert.equal(head[':status'], 200);
  assert.match(head['x-culvert-request-id']!, /^req_/);
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  assert.equal((JSON.parse(text) as { object: string }).object, 'list');
  client.close();
});

test('a hundred streams of one connection are answered side by side', async () => {
  const client = connectHttp2(gateway.url);
  const answers = Array.from({ length: 100 }, async () => {
    const stream = client.request({ ':path': '/v1/models', authorization: `Bearer ${gateway.key}` });
    const [head] = (await once(stream, 'response')) as [Record<string, number>];
    stream.resume();
    await once(stream, 'end');
    return head[':status'];
  });
  assert.deepEqual([...new Set(await Promise.all(answers))], [200]);
  client.close();
});

test('a caller that cancels its stream aborts the provider', async () => {
  const { client, stream } = asked('/v1/chat/completions', chat('mock/delay=20s'));
  await until('the provider was asked', () => upstream.requests().some(({ path }) => path.includes('chat')));
  stream.close();
  await until('the provider was aborted', () => upstream.requests().some(({ aborted }) => aborted));
  client.destroy();
});

test('a stream that announces trailers is answered, with a body and without', async () => {
  const body = JSON.stringify(chat('mock/ok'));
  for (const [path, sent] of [['/v1/models'], ['/v1/chat/completions', body]] as const) {
    const client = connectHttp2(gateway.url);
    const stream = client.request({
      ':method': sent === undefined ? 'GET' : 'POST',
      ':path': path,
      authorization: `Bearer ${gateway.key}`,
      trailer: 'x-checksum',
      ...(sent !== undefined && { 'content-type': 'application/json', 'content-length': String(sent.length) }),
    });
    stream.end(sent);
    const [head] = (await once(stream, 'response', { signal: AbortSignal.timeout(20_000) })) as [
      Record<string, number>,
    ];
    assert.equal(head[':status'], 200);
    client.destroy();
  }
});

test('bytes that are no HTTP/2 behind its preface, and half a preface, close their connection alone', async () => {
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  const { port } = new URL(gateway.url);
  for (const bytes of [`${preface}garbage that is no frame`, preface.slice(0, 20), `${preface}${'\0'.repeat(9)}`]) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(bytes);
    socket.resume();
    await once(socket, 'close');
  }
  const late = connect(Number(port), '127.0.0.1');
  late.write(`GET /health HTTP/1.1\r\nhost: a\r\n\r\n`);
  await once(late, 'data');
  late.write(preface);
  late.resume();
  await once(late, 'close');
  assert.equal((await gateway.fetch('/v1/models')).status, 200);
});
