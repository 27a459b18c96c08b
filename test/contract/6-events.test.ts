import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatPath, dataLines, hello, serve } from './served.ts';

const { gateway, upstream } = await serve();

test('§6 "The only streamed output is the SSE response of streaming chat (4.3)": everything else has its length', async () => {
  for (const [path, init] of [
    [chatPath, { json: hello }],
    ['/v1/models', {}],
    ['/v1/models/chat', {}],
    ['/v1/nothing', {}],
  ] as const) {
    const response = await gateway.fetch(path, init);
    assert.equal(response.headers.get('content-type'), 'application/json', path);
    const body = await response.arrayBuffer();
    assert.equal(response.headers.get('content-length'), String(body.byteLength), path);
  }
});

test('§6 the stream is not held back by proxies, nor compressed', async () => {
  const response = await gateway.fetch(chatPath, {
    json: { ...hello, stream: true },
    headers: { 'accept-encoding': 'gzip' },
  });
  assert.match(response.headers.get('cache-control') ?? '', /no-transform/);
  assert.equal(response.headers.get('x-accel-buffering'), 'no');
  assert.equal(response.headers.get('content-encoding'), null);
  await response.text();
});

test('§6 a request that is refused before it streams is answered as plain JSON with its status', async () => {
  upstream.script(chatPath, ['3x status=400;message=too odd']);
  const response = await gateway.fetch(chatPath, { json: { ...hello, stream: true } });
  assert.equal(response.status, 400);
  assert.equal(response.headers.get('content-type'), 'application/json');
  await response.text();
  upstream.clear();
});

test('§6 every frame of a stream ends with an empty line', async () => {
  const response = await gateway.fetch(chatPath, { json: { ...hello, stream: true } });
  const text = await response.text();
  assert.equal(text.split('\n\n').length - 1, dataLines(text).length);
});
