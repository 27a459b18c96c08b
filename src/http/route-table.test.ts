import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAiChat } from '../formats/dialects/openai-chat/index.ts';
import type { Route } from './exchange.ts';
import { otherBaseOf } from './other-base.ts';
import { RouteTable } from './route-table.ts';

function routes(): Route[] {
  const route = (method: Route['method'], path: string): Route => ({
    method,
    path,
    auth: 'key',
    quota: 'none',
    summary: 'Test',
    dialect: openAiChat,
    handle: async () => undefined,
  });
  return [route('POST', '/v1/chat/completions'), route('GET', '/v1/models'), route('GET', '/v1/models/:model')];
}

test('every route is found, the first too, and refuses another method', () => {
  const table = new RouteTable(routes());
  for (const { method, path } of routes()) assert.equal(table.find(method, path)?.route.path, path);
  assert.equal(table.find('GET', '/v1/models/a%2Fb')?.params.model, 'a/b');
  assert.equal(table.refusalOf('GET', '/v1/chat/completions').failure.kind, 'method-not-allowed');
  assert.equal(table.refusalOf('GET', '/v1/nothing').failure.kind, 'not-found');
});

test('a path with a slash too many names no object: the refusal names the list', () => {
  const table = new RouteTable(routes());
  assert.equal(table.find('GET', '/v1/models/'), null);
  assert.equal(table.find('GET', '/openai/v1/models/'), null);
  const { failure } = table.refusalOf('GET', '/v1/models/');
  assert.equal(failure.kind, 'not-found');
  assert.match(JSON.stringify(failure), /Did you mean GET \/v1\/models\?/);
});

test('a path that lacks a word gets a hint with the word, and a pattern is no hint', () => {
  const [model] = routes();
  const paths = ['/v1/vectors', '/v1/vectors/collections/:name/points/search', '/v1/stores/:id/search', '/admin/v1/*'];
  const table = new RouteTable(paths.map((path) => ({ ...model!, path })));
  const message = (path: string) => JSON.stringify(table.refusalOf('POST', path).failure);
  assert.match(
    message('/v1/vectors/collections/books/search'),
    /Did you mean POST \/v1\/vectors\/collections\/books\/points\/search\?/,
  );
  // Only the name of a store would be the same.
  assert.doesNotMatch(message('/v1/books/search'), /Did you mean/);
  assert.doesNotMatch(message('/admin/v1'), /Did you mean/);
});

test('gateways of one process have their own routes, of the same paths or not', () => {
  const [first, second, third] = [routes(), routes(), routes().slice(1)];
  const tables = [first, second, third].map((own) => new RouteTable(own));
  assert.equal(tables[0]?.find('GET', '/v1/models')?.route, first[1]);
  assert.equal(tables[1]?.find('GET', '/v1/models')?.route, second[1]);
  assert.equal(tables[2]?.find('GET', '/v1/models')?.route, third[0]);
  assert.equal(tables[2]?.find('POST', '/v1/chat/completions'), null);
});

test('a scanner of paths that nobody has gets few hints a second, and a path that came before keeps its hint', () => {
  let nowMs = 0;
  const table = new RouteTable(routes(), () => nowMs);
  const isHinted = (path: string) => {
    const { failure } = table.refusalOf('GET', path);
    return 'message' in failure && /Did you mean/.test(String(failure.message));
  };
  const typed = '/v1/model';
  assert.ok(isHinted(typed));
  for (let at = 0; at < 100; at += 1) isHinted(`/scanned/${at}.php`);
  assert.ok(!isHinted('/v1/modls'));
  assert.ok(isHinted(typed));
  nowMs += 1_000;
  assert.ok(isHinted('/v1/modls'));
});

test('a long path of another base is read in one pass: it needs no key', { timeout: 60_000 }, () => {
  // At its square this takes minutes.
  assert.equal(otherBaseOf(`/model/${'/'.repeat(1_000_000)}x`)?.path.length, '/v1/model/x'.length + 1_000_000);
  assert.deepEqual(otherBaseOf('/model/a/b/converse'), { path: '/model/a%2Fb/converse' });
  assert.deepEqual(otherBaseOf('/model/a/converse/invoke'), { path: '/model/a%2Fconverse/invoke' });
});

test('a route is found with and without the path of this server, which stands behind /.well-known', () => {
  const card = { ...routes()[1]!, path: '/.well-known/card/mcp' };
  const table = new RouteTable([...routes(), card], undefined, () => '/culvert');
  const found = (method: string, path: string) => table.find(method, path)?.path;
  assert.equal(found('POST', '/culvert/v1/chat/completions'), '/v1/chat/completions');
  assert.equal(found('GET', '/v1/models'), '/v1/models');
  assert.equal(found('GET', '/culvert/openai/v1/models'), '/v1/models', 'also below the base URL of another server');
  assert.equal(found('GET', '/culvert/.well-known/card/mcp'), '/.well-known/card/mcp');
  assert.equal(found('GET', '/.well-known/card/culvert/mcp'), '/.well-known/card/mcp');
  assert.equal(found('GET', '/culverts/v1/models'), undefined);
  assert.equal(found('GET', '/culvert/culvert/v1/models'), undefined, 'it goes once');
  assert.equal(found('GET', `${'/culvert'.repeat(2_000)}/v1/models`), undefined);
  assert.equal(table.refusalOf('GET', '/culvert/v1/chat/completions').failure.kind, 'method-not-allowed');
  assert.match(JSON.stringify(table.refusalOf('GET', '/culvert/v1/model')), /Did you mean GET \/v1\/models\?/);
  assert.match(JSON.stringify(table.refusalOf('POST', '/culvert/v1/listen')), /Deepgram's/);
  assert.match(JSON.stringify(table.refusalOf('POST', '/key/generate')), /LiteLLM's path: .* below \/admin\/v1/);
});

test('a path that is a route of its own is served as it was before it was that of this server', () => {
  const table = new RouteTable(routes(), undefined, () => '/v1');
  assert.equal(table.find('GET', '/v1/models')?.path, '/v1/models');
  assert.equal(table.find('GET', '/v1/v1/models')?.path, '/v1/models');
});

test('the path of this server may be the beginning of its routes, too', () => {
  const chat = { ...routes()[0]!, path: '/api/chat' };
  const table = new RouteTable([...routes(), chat], undefined, () => '/api');
  const found = (method: string, path: string) => table.find(method, path)?.path;
  assert.equal(found('POST', '/api/api/chat'), '/api/chat', 'of a proxy that passes it on');
  assert.equal(found('POST', '/api/chat'), '/api/chat', 'of one that takes it away');
  assert.equal(found('GET', '/api/v1/models'), '/v1/models');
  assert.equal(found('POST', '/api/api/api/chat'), undefined);
});
