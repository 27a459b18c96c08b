import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatPath, type ErrorBody, hello, serve } from './served.ts';

const { gateway } = await serve();

test('§9 "All gateway paths carry the prefix `/v1`": the same without it is 404, which lists the endpoints', async () => {
  for (const path of ['/chat/completions', '/models', '/v2/chat/completions', '/V1/chat/completions']) {
    const response = await gateway.fetch(path, { json: hello });
    assert.equal(response.status, 404, path);
    assert.match(((await response.json()) as ErrorBody).error.message, /Endpoints: .*POST \/v1\/chat\/completions/);
  }
});

test('§9 what needs no prefix tells nothing about models, keys or providers', async () => {
  for (const [path, status] of [
    ['/healthz', 200],
    ['/readyz', 200],
    ['/', 200],
  ] as const) {
    const response = await fetch(gateway.url + path);
    assert.equal(response.status, status, path);
    assert.doesNotMatch(await response.text(), /up1|mock|sk-/);
  }
  const knock = await fetch(`${gateway.url}/api/hello`, { method: 'HEAD' });
  assert.equal(knock.status, 200);
});

test('§9 "<vendor>-version": any date is accepted, none is needed, and a chat request is the same with it', async () => {
  for (const headers of [{}, { 'anthropic-version': '2023-06-01' }, { 'anthropic-version': '2031-12-31' }] as const) {
    const response = await gateway.fetch(chatPath, { json: hello, headers: headers as Record<string, string> });
    assert.equal(response.status, 200);
    assert.equal(((await response.json()) as { object: string }).object, 'chat.completion');
  }
});
