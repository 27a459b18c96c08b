import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listening } from '../listening.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';

test('--key of every command takes account/name: one that no answer has is no reason to remove none', async (t) => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (!url.startsWith('/admin/v1/keys')) seen.push(`${request.method} ${url.replace(/&limit=\d+$/, '')}`);
    const data = url.startsWith('/admin/v1/keys') ? [{ id: 'qszd4yNCBaLP', name: 'laptop', status: 'active' }] : [];
    response
      .setHeader('x-culvert-request-id', 'req_1')
      .end(JSON.stringify({ data, next_cursor: null, cleared: 0, removed: 0 }));
  });
  const CULVERT_URL = await listening(t, server);
  const at = { cwd: temporaryFolder(t), env: { CULVERT_URL, CULVERT_ADMIN_KEY: 'a-key-of-an-operator-1' } };
  for (const command of ['cache clear', 'bodies list', 'bodies remove', 'requests list', 'usage']) {
    const { code, stderr } = await runCommand([...command.split(' '), '--key', 'acme/laptop'], at);
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(
    seen.map((line) => line.replace(/\?.*?(key=\w+).*/, '?$1')),
    ['DELETE /cache', 'GET /bodies', 'DELETE /bodies', 'GET /requests', 'GET /usage'].map((call) =>
      call.replace(/ (.*)/, ' /admin/v1$1?key=qszd4yNCBaLP'),
    ),
  );
  const { code, stderr } = await runCommand(['cache', 'clear', '--key', 'acme/laptpo'], at);
  assert.equal(code, 1);
  assert.match(stderr, /There is no key 'acme\/laptpo'/);
  assert.equal(seen.length, 5);
});

test('an export of a statement is what its format says, in a file too', async (t) => {
  const cwd = temporaryFolder(t);
  const exported = async (...flags: string[]) =>
    (await runCommand(['statements', 'export', '2026-10', ...flags], { cwd })).stdout;
  assert.match(await exported(), /^month,time_zone,status,account,/);
  assert.match(await exported('--format', 'html'), /^<!doctype html>/i);
  assert.equal(JSON.parse(await exported('--json')).month, '2026-10');
});
