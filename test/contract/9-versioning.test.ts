import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { chatPath, type ErrorBody, hello, serve } from './served.ts';

const { gateway } = await serve();

test('§9 "All gateway paths carry the prefix `/v1`": another version or base is 404, which names the path that was meant', async () => {
  for (const [path, meant] of [
    ['/v2/chat/completions', 'POST /v1/chat/completions'],
    ['/V1/chat/completions', 'POST /v1/chat/completions'],
    ['/v1/chat/completion', 'POST /v1/chat/completions'],
    ['/v1/embedings', 'POST /v1/embeddings'],
    ['/v1/vectors/collection/docs/points', 'POST /v1/vectors/collections/docs/points'],
    ['/v1/vectors/collections/docs/search', 'POST /v1/vectors/collections/docs/points/search'],
  ] as const) {
    const response = await gateway.fetch(path, { json: hello });
    assert.equal(response.status, 404, path);
    assert.equal(
      ((await response.json()) as ErrorBody).error.message,
      `There is no ${path} here. Did you mean ${meant}? GET /openapi.json lists every path.`,
    );
  }
  const lost = await gateway.fetch('/phpmyadmin');
  assert.equal(
    ((await lost.json()) as ErrorBody).error.message,
    'There is no /phpmyadmin here. GET /openapi.json lists every path.',
  );
});

test('§9 a path that is not there is 404 in the form of the API that was meant', async () => {
  const google = await gateway.fetch('/v1beta/modelz');
  assert.equal(google.status, 404);
  const { error } = (await google.json()) as { error: { code: number; status: string; message: string } };
  assert.deepEqual([error.code, error.status], [404, 'NOT_FOUND']);
  assert.match(error.message, /Did you mean GET \/v1beta\/models\?/);
  const anthropic = await gateway.fetch('/v1/mesages', { json: hello });
  assert.equal(((await anthropic.json()) as { type: string }).type, 'error');
  for (const path of ['/v1/tools/nothing', '/v1/tools/nothing/of/it']) {
    const body = (await (await gateway.fetch(path, { json: {} })).json()) as ErrorBody & { success: boolean };
    assert.deepEqual([body.success, body.error.code], [false, 404], path);
  }
  for (const path of ['/v2/team/activity', '/v2/scraped']) {
    const firecrawl = await gateway.fetch(path);
    assert.equal(firecrawl.status, 404);
    const body = (await firecrawl.json()) as { success: boolean; error: string; code: string };
    assert.deepEqual([body.success, body.code], [false, 'not_found_error']);
    assert.ok(body.error.startsWith(`There is no ${path} here.`), body.error);
  }
});

test('§9 a path is never said to be another spelling of itself', async () => {
  for (const path of ['/v1/models/%E0%A4%A', '/v1/files-signed/%ff', '/v1/50%/x']) {
    const broken = await gateway.fetch(path);
    assert.equal(broken.status, 404, path);
    assert.equal(
      ((await broken.json()) as ErrorBody).error.message,
      'The path is not percent-encoded UTF-8. Write a literal % as %25.',
    );
  }
  for (const name of ['%25', 'x'.repeat(5_000)]) {
    const unknown = await gateway.fetch(`/v1/files-signed/${name}`);
    assert.equal(unknown.status, 404);
    assert.doesNotMatch(((await unknown.json()) as ErrorBody).error.message, /Did you mean GET \/v1\/files-signed/);
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

test('/ sends a browser to the dashboard, or tells it what to do, and a client title and version', async (t) => {
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const sent = await fetch(gateway.url, { headers: { accept }, redirect: 'manual' });
  assert.deepEqual([sent.status, sent.headers.get('location')], [303, './dashboard']);
  const without = await startGateway(t, { admin: { dashboard: false } });
  assert.equal((await fetch(`${without.url}/dashboard`)).status, 404);
  assert.equal((await fetch(`${without.url}/dashboard/session`, { method: 'POST' })).status, 404);
  const page = await fetch(without.url, { headers: { accept } });
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  const html = await page.text();
  assert.match(html, /<h1>Culvert is running<\/h1>/);
  assert.ok(html.includes(`export CULVERT_URL=${without.url}\n`));
  assert.doesNotMatch(html, /up1|mock|<script/);
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const title = await fetch(gateway.url, { headers });
    assert.equal(((await title.json()) as { title: string }).title, 'Culvert');
  }
});

test('§9 "<vendor>-version": any date is accepted, none is needed, and a chat request is the same with it', async () => {
  for (const headers of [{}, { 'anthropic-version': '2023-06-01' }, { 'anthropic-version': '2031-12-31' }] as const) {
    const response = await gateway.fetch(chatPath, { json: hello, headers: headers as Record<string, string> });
    assert.equal(response.status, 200);
    assert.equal(((await response.json()) as { object: string }).object, 'chat.completion');
  }
});
