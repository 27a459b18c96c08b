import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';

/* MCP servers that are set up while Culvert runs. */

interface Shown {
  name: string;
  status: string;
  source: string;
  version: number;
  tools: string[];
  definition: { headers?: Record<string, string> } | null;
  shadowed: boolean;
}
type Answer = Shown & { error?: { message: string; param: string | null }; data: Shown[] & { action: string }[] };

function admin(gateway: TestGateway) {
  return async (method: string, path: string, body?: unknown): Promise<{ status: number; body: Answer }> => {
    const response = await gateway.fetch(`/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}` },
      ...(body === undefined ? {} : { json: body, method }),
    });
    return { status: response.status, body: (await response.json()) as Answer };
  };
}

async function toolNames(gateway: TestGateway): Promise<string[]> {
  const { tools } = (await (await gateway.fetch('/v1/mcp/tools')).json()) as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
}

async function sum(gateway: TestGateway, tool: string): Promise<number> {
  const response = await gateway.fetch('/v1/mcp/call', { json: { tool, arguments: { a: 1, b: 1 } } });
  await response.text();
  return response.status;
}

async function started(t: TestContext, mcp: Record<string, unknown> = {}) {
  const server = await startMcpServer(t);
  const gateway = await startGateway(t, { mcp: { servers: mcp } });
  return { server, gateway, call: admin(gateway) };
}

test('a server is added, changed and removed while Culvert runs; its headers are sealed and shown to nobody', async (t) => {
  const { server, gateway, call } = await started(t);
  const headers = { authorization: 'Bearer canary-of-mcp' };
  const made = await call('POST', '/mcp-servers', { name: 'test', url: server.url, headers });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(await sum(gateway, 'test__add'), 200);
  assert.equal(server.heard().at(-1)!.authorization, headers.authorization);

  const tested = await call('POST', '/mcp-servers/test/test');
  assert.deepEqual([tested.body.status, tested.body.source, tested.body.version], ['up', 'kept', 1]);
  assert.ok(tested.body.tools.includes('add'));
  assert.equal(tested.body.definition?.headers?.authorization, '(secret)');

  const changed = await call('PATCH', '/mcp-servers/test', { version: 1, tools: { deny: ['l*'] } });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  // A list does not wait long for a server that is asked anew.
  await until('the tools of the changed server are listed', async () => (await toolNames(gateway)).length > 0);
  assert.deepEqual(await toolNames(gateway), ['test__add', 'test__wait', 'test__fail', 'test__throw']);
  assert.equal(await sum(gateway, 'test__add'), 200, 'with its header as before');
  assert.equal((await call('PATCH', '/mcp-servers/test', { version: 1, timeout: '1s' })).status, 409);
  const elsewhere = await call('PATCH', '/mcp-servers/test', { url: 'https://elsewhere.example/mcp' });
  assert.equal(elsewhere.status, 400);
  assert.match(elsewhere.body.error!.message, /header authorization was given for another address/);

  const audit = await call('GET', '/audit?action=mcp');
  assert.deepEqual(
    (audit.body.data as { action: string }[]).map(({ action }) => action),
    ['mcp.update', 'mcp.create'],
  );
  const said = JSON.stringify([made, tested, changed, audit, await call('GET', '/mcp-servers')]);
  const database = readFileSync(join(gateway.dataDir, 'culvert.db'), 'latin1');
  for (const text of [said, database]) assert.ok(!text.includes('canary-of-mcp'));

  assert.equal((await call('DELETE', '/mcp-servers/test?version=2')).status, 200);
  assert.deepEqual(await toolNames(gateway), []);
  assert.equal((await call('GET', '/mcp-servers/test')).status, 404);
});

test('the secret of OAuth is sealed, shown to nobody, and sent to no issuer that somebody else names', async (t) => {
  const { server, gateway, call } = await started(t);
  const oauth = { issuer: 'https://issuer.example', client_id: 'culvert', client_secret: 'canary-of-oauth' };
  const made = await call('POST', '/mcp-servers', { name: 'test', url: server.url, oauth });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  for (const patch of [{ oauth: { issuer: 'https://elsewhere.example' } }, { url: 'https://elsewhere.example/mcp' }]) {
    const refused = await call('PATCH', '/mcp-servers/test', patch);
    assert.equal(refused.status, 400);
    assert.match(refused.body.error!.message, /client_secret: it was given for another address/);
  }
  assert.equal((await call('PATCH', '/mcp-servers/test', { timeout: '5s' })).status, 200);
  const said = JSON.stringify([made, await call('GET', '/mcp-servers/test'), await call('GET', '/audit?action=mcp')]);
  const database = readFileSync(join(gateway.dataDir, 'culvert.db'), 'latin1');
  for (const text of [said, database]) assert.ok(!text.includes('canary-of-oauth'));
});

test('no API names a program, and wrong settings are refused by their field', async (t) => {
  const { server, call } = await started(t, { fixed: { url: 'http://127.0.0.1:9/mcp' } });
  const wrong: [Record<string, unknown>, number, RegExp][] = [
    [{ name: 'test', command: 'sh', args: ['-c', 'true'] }, 400, /url|command/],
    [{ name: 'test', url: server.url, command: 'sh' }, 400, /command/],
    [{ name: 'test', url: server.url, env: { A: 'b' } }, 400, /env/],
    [{ name: 'test__x', url: server.url }, 400, /name/],
    [{ name: 'Test', url: server.url }, 400, /name/],
    [{ name: '__proto__', url: server.url }, 400, /name/],
    [{ name: 'test', url: 'file:///etc/passwd' }, 400, /url/],
    [{ name: 'test', url: server.url, timeout: 5 }, 400, /timeout/],
    [{ name: 'fixed', url: server.url }, 409, /mcp\.servers\.fixed is set in/],
  ];
  for (const [body, status, words] of wrong) {
    const refused = await call('POST', '/mcp-servers', body);
    assert.equal(refused.status, status, JSON.stringify([body, refused.body]));
    assert.match(refused.body.error!.message, words);
  }
  await call('POST', '/mcp-servers', { name: 'test', url: server.url });
  const patched = await call('PATCH', '/mcp-servers/test', { url: null, command: 'sh' });
  assert.equal(patched.status, 400);
  assert.match(patched.body.error!.message, /only the configuration file can name a program/);
  assert.equal((await call('PATCH', '/mcp-servers/fixed', { timeout: '1s' })).status, 409);
  assert.equal((await call('DELETE', '/mcp-servers/nothing')).status, 404);
});

test('culvert mcp-servers adds, lists, tests and removes servers of a running gateway', async (t) => {
  const { server, gateway } = await started(t);
  const cwd = temporaryFolder(t);
  const run = (...args: string[]) =>
    runCommand(['mcp-servers', ...args, '--url', gateway.url], {
      cwd,
      env: { CULVERT_ADMIN_KEY: adminKey, TOKEN: 'of-the-server' },
    });
  const added = await run('add', 'test', server.url, '--token-env', 'TOKEN', '--allow', 'add,fail');
  assert.equal(added.code, 0, added.stderr);
  assert.deepEqual(await toolNames(gateway), ['test__add', 'test__fail']);
  assert.equal(server.heard().at(-1)!.authorization, 'Bearer of-the-server');
  const tested = await run('test', 'test');
  assert.deepEqual((JSON.parse(tested.stdout) as Shown).tools.slice(0, 2), ['add', 'large']);
  const listed = async () => (JSON.parse((await run('list')).stdout) as { data: Shown[] }).data;
  assert.deepEqual(
    (await listed()).map(({ name, source, status }) => [name, source, status]),
    [['test', 'kept', 'up']],
  );
  assert.equal((await run('remove', 'test')).code, 0);
  assert.deepEqual(await listed(), []);
});
