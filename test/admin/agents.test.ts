import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startAgent } from '../start-agent.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';

/* Agents that are set up while Culvert runs. */

interface Shown {
  name: string;
  status: string;
  source: string;
  version: number;
  versions: string[];
  skills: string[];
  why: string | null;
  card?: { name: string; supportedInterfaces: object[] } | null;
  definition: { headers?: Record<string, string> } | null;
  error?: { message: string };
  data: (Shown & { action: string })[];
}

async function started(t: TestContext, agents: Record<string, unknown> = {}) {
  const agent = await startAgent(t);
  const gateway = await startGateway(t, { agents });
  const call = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: Shown }> => {
    const response = await gateway.fetch(`/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}` },
      ...(body === undefined ? {} : { json: body, method }),
    });
    return { status: response.status, body: (await response.json()) as Shown };
  };
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  const send = async (name: string) => {
    const json = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
    const response = await gateway.fetch(`/a2a/${name}`, { json });
    await response.text();
    return response.status;
  };
  return { agent, gateway, call, send };
}

test('an agent is added, changed and removed while Culvert runs; its headers are sealed and shown to nobody', async (t) => {
  const { agent, gateway, call, send } = await started(t);
  const headers = { authorization: 'Bearer canary-of-the-agent' };
  const made = await call('POST', '/agents', { name: 'worker', url: agent.url, headers });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(await send('worker'), 200);
  assert.equal(agent.heard().at(-1)?.authorization, headers.authorization);
  const tested = await call('POST', '/agents/worker/test');
  const { status, source, version, versions, skills } = tested.body;
  assert.deepEqual([status, source, version, versions, skills], ['up', 'kept', 1, ['1.0', '0.3'], ['Work']]);
  assert.equal(tested.body.definition?.headers?.authorization, '(secret)');
  const { name, supportedInterfaces } = tested.body.card ?? {};
  const place = { url: '/a2a/worker', protocolBinding: 'JSONRPC', protocolVersion: '1.0' };
  assert.deepEqual([name, supportedInterfaces?.[0]], ['Worker', place], 'its card as callers get it');

  const changed = await call('PATCH', '/agents/worker', { version: 1, timeout: '30s' });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.equal(await send('worker'), 200, 'with its header as before');
  assert.equal((await call('PATCH', '/agents/worker', { version: 1, timeout: '1s' })).status, 409);
  for (const member of ['url', 'endpoint']) {
    const elsewhere = await call('PATCH', '/agents/worker', { [member]: 'https://elsewhere.example/' });
    assert.equal(elsewhere.status, 400);
    assert.match(elsewhere.body.error!.message, /header authorization was given for another address/);
  }
  const audit = await call('GET', '/audit?action=agent');
  assert.deepEqual(
    audit.body.data.map(({ action }) => action),
    ['agent.update', 'agent.create'],
  );
  const shown = JSON.stringify([made, tested, changed, audit, await call('GET', '/agents')]);
  const database = readFileSync(join(gateway.dataDir, 'culvert.db'), 'latin1');
  for (const text of [shown, database]) assert.ok(!text.includes('canary-of-the-agent'));

  assert.equal((await call('DELETE', '/agents/worker?version=2')).status, 200);
  assert.equal(await send('worker'), 404);
  assert.equal((await call('GET', '/agents/worker')).status, 404);
});

test('wrong settings are refused by their field, and agents of the file are changed there', async (t) => {
  const { agent, call } = await started(t, { fixed: { url: 'http://127.0.0.1:9/' } });
  const wrong: [Record<string, unknown>, number, RegExp][] = [
    [{ name: 'test' }, 400, /url/],
    [{ name: 'a/b', url: agent.url }, 400, /name/],
    [{ name: '__proto__', url: agent.url }, 400, /name/],
    [{ name: 'test', url: 'file:///etc/passwd' }, 400, /url/],
    [{ name: 'test', url: agent.url, cost: -1 }, 400, /cost/],
    [{ name: 'test', url: agent.url, headers: { host: 'other' } }, 400, /header/],
    [{ name: 'fixed', url: agent.url }, 409, /agents\.fixed is set in/],
  ];
  for (const [body, status, words] of wrong) {
    const refused = await call('POST', '/agents', body);
    assert.equal(refused.status, status, JSON.stringify([body, refused.body]));
    assert.match(refused.body.error!.message, words);
  }
  assert.equal((await call('PATCH', '/agents/fixed', { timeout: '1s' })).status, 409);
  assert.equal((await call('DELETE', '/agents/nothing')).status, 404);
  const tested = await call('POST', '/agents/fixed/test');
  assert.deepEqual([tested.body.status, tested.body.source], ['down', 'file']);
  assert.match(tested.body.why ?? '', /cannot be reached/);
});

test('culvert agents adds, lists, tests and removes agents, and the doctor names one that is down', async (t) => {
  const { agent, gateway, call, send } = await started(t, { gone: { url: 'http://127.0.0.1:9/' } });
  const cwd = temporaryFolder(t);
  const env = { CULVERT_ADMIN_KEY: adminKey, TOKEN: 'of-the-agent' };
  const run = (...args: string[]) => runCommand([...args, '--url', gateway.url], { cwd, env });
  const added = await run('agents', 'add', 'worker', agent.url, '--token-env', 'TOKEN');
  assert.equal(added.code, 0, added.stderr);
  assert.equal(await send('worker'), 200);
  assert.equal(agent.heard().at(-1)?.authorization, 'Bearer of-the-agent');
  const tested = await run('agents', 'test', 'worker');
  const { status, versions, skills } = JSON.parse(tested.stdout) as Shown;
  assert.deepEqual([status, versions, skills], ['up', ['1.0', '0.3'], ['Work']]);
  assert.equal((await run('agents', 'test', 'gone')).code, 1);
  const { data } = JSON.parse((await run('agents', 'list')).stdout) as Shown;
  assert.deepEqual(
    data.map(({ name, status: now }) => [name, now]),
    [
      ['gone', 'down'],
      ['worker', 'up'],
    ],
  );
  const doctor = await call('GET', '/doctor');
  assert.match(JSON.stringify(doctor.body), /The agent gone cannot be reached/);
  assert.equal((await run('agents', 'remove', 'worker')).code, 0);
  assert.equal(await send('worker'), 404);
});
