import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';

/** Data rules of plans, accounts and keys that are made at run time, over HTTP. */
const asked: string[] = [];
const upstream = createServer(async (request, response) => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const { model } = JSON.parse(text || '{}') as { model: string };
  asked.push(model);
  const message = { role: 'assistant', content: 'Hi' };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const chat = { id: 'c', object: 'chat.completion', created: 1, model, choices, usage };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chat));
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => upstream.close());
const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
const provider = (data: object) => ({ type: 'openai', base_url, api_key: 'k', data });
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    eu: provider({ region: 'eu-west-1', trains: false, retention: '30d' }),
    us: provider({ region: 'us', trains: true, retention: 'none' }),
  },
  models: {
    smart: { targets: ['us/a', { provider: 'eu', model: 'b', priority: 2 }] },
    american: { targets: ['us/a'] },
  },
  plans: { default: { windows: 'off', rpm: 'off' } },
});

interface Account {
  id: string;
  data: object | null;
  version: string;
}
interface Key {
  id: string;
  key: string;
  limits: { data?: object } | null;
  models: string[] | null;
  ips: string[] | null;
}

const rule = { regions: ['eu'], no_training: false, zero_retention: false };

async function made<Reply>(path: string, body: object): Promise<Reply> {
  const { status, body: reply } = await callAdmin<Reply>(gateway, 'POST', path, body);
  assert.equal(status, 201, JSON.stringify(reply));
  return reply;
}

async function asks(key: string, model = 'smart') {
  asked.length = 0;
  const json = { model, messages: [{ role: 'user', content: 'Hi' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json, headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, text: await response.text(), asked: [...asked] };
}

/** Whoever manages these accounts, by their bearer token. */
async function operatorOf(name: string, role: string, accounts: string[] | null) {
  const { key } = await made<{ key: string }>('/operators', { name, role, ...(accounts && { accounts }) });
  return async (method: string, path: string, json: object) => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await gateway.fetch(`/admin/v1${path}`, { method, headers, json });
    return { status: response.status, text: await response.text() };
  };
}

test('an account that is made with a data rule has it at once, and a change of it holds from the next request on', async () => {
  const account = await made<Account>('/accounts', { id: 'berlin', data: { regions: ['eu'] } });
  assert.deepEqual(account.data, rule);
  const { key } = await made<Key>('/keys', { account: 'berlin', name: 'k' });
  assert.deepEqual((await asks(key)).asked, ['b']);
  const refused = await asks(key, 'american');
  assert.equal(refused.status, 403);
  assert.match(refused.text, /The data rule of the account berlin lets no target of the model 'american'/);
  assert.deepEqual(refused.asked, []);
  const patch = (body: object) => callAdmin<Account>(gateway, 'PATCH', '/accounts/berlin', body);
  const { body: cleared } = await patch({ data: null, version: account.version });
  assert.equal(cleared.data, null);
  assert.deepEqual((await asks(key)).asked, ['a']);
  const stale = await patch({ data: { zero_retention: true }, version: account.version });
  assert.equal(stale.status, 409, 'the version is of the rule too');
  await patch({ data: { no_training: true } });
  assert.deepEqual((await asks(key)).asked, ['b']);
  const { body: shown } = await callAdmin<Account>(gateway, 'GET', '/accounts/berlin');
  assert.deepEqual(shown.data, { no_training: true, zero_retention: false });
  const { status } = await patch({ data: { regions: ['The moon'] } });
  assert.equal(status, 400);
  await patch({ data: { regions: ['eu'] } });
});

test('explain and the exported configuration have the rule of an account that was made at run time', async () => {
  const { body: keys } = await callAdmin<{ data: Key[] }>(gateway, 'GET', '/keys?account=berlin');
  const body = { key: keys.data[0]?.id, body: { model: 'smart', messages: [{ role: 'user', content: 'Hi' }] } };
  const { body: said } = await callAdmin<{ barred: object[] }>(gateway, 'POST', '/explain', body);
  assert.deepEqual(said.barred, [{ target: 'us/a', verdict: 'not allowed: region (account berlin)' }]);
  const headers = { authorization: `Bearer ${adminKey}` };
  const exported = await (await gateway.fetch('/admin/v1/config/export', { headers })).text();
  assert.match(exported, /berlin:\n(?: +name: .*\n)?(?: +plan: .*\n)? +data:\n +regions:\n? +(?:- |\[ ?)"?eu/);
});

test('a key that a member makes only narrows what its account allows', async () => {
  const member = await operatorOf('Mia', 'member', ['berlin']);
  const add = async (name: string, data: object) => {
    const { status, text } = await member('POST', '/keys', { account: 'berlin', name, limits: { data } });
    assert.equal(status, 201, text);
    return JSON.parse(text) as Key;
  };
  const wide = await add('wide', { regions: ['us', 'eu'] });
  assert.deepEqual((await asks(wide.key)).asked, ['b']);
  const narrow = await add('narrow', { regions: ['us'] });
  assert.deepEqual(narrow.limits?.data, { ...rule, regions: ['us'] });
  const refused = await asks(narrow.key);
  assert.equal(refused.status, 403);
  assert.match(refused.text, /region \(account berlin\), region \(key berlin\/narrow\)/);
  const changed = await member('PATCH', `/keys/${narrow.id}`, { limits: { data: { regions: null } } });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual((await asks(narrow.key)).asked, ['b'], 'the rule of the account goes on');
  const account = await member('PATCH', '/accounts/berlin', { data: null });
  assert.equal(account.status, 403);
});

test('an operator of some accounts narrows their data rules, and widens none, neither by another plan', async () => {
  const admin = await operatorOf('Ada', 'admin', ['berlin']);
  await callAdmin(gateway, 'PUT', '/plans/clean', { windows: 'off', rpm: 'off', data: { zero_retention: true } });
  for (const [body, status] of [
    [{ data: null }, 403],
    [{ data: { regions: ['eu', 'us'] } }, 403],
    [{ data: { regions: ['eu-west-1'], no_training: true } }, 200],
    [{ data: { regions: ['eu-west-1'] } }, 403],
    [{ plan: 'clean' }, 200],
    [{ plan: 'default' }, 403],
  ] as const) {
    const answer = await admin('PATCH', '/accounts/berlin', body);
    assert.equal(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`);
    if (status === 403) assert.match(answer.text, /may only narrow where their data goes/);
  }
});

test('commands make, show, change and remove data rules of accounts and keys', async (t) => {
  const cwd = temporaryFolder(t);
  const run = async (...args: string[]) => {
    const ran = await runCommand([...args, '--json'], { cwd });
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    return JSON.parse(ran.stdout) as Account & Key;
  };
  const set = { regions: ['eu', 'us-east-1'], no_training: true, zero_retention: false };
  const words = ['region=eu', 'region=us-east-1', 'no-training'];
  assert.deepEqual((await run('accounts', 'create', 'acme', '--data', words.join(','))).data, set);
  assert.deepEqual((await run('accounts', 'show', 'acme')).data, set);
  const retention = { no_training: false, zero_retention: true };
  assert.deepEqual((await run('accounts', 'data', 'acme', 'zero-retention')).data, retention);
  assert.deepEqual((await run('accounts', 'data', 'acme')).data, retention, 'a look changes nothing');
  assert.equal((await run('accounts', 'data', 'acme', 'none')).data, null);
  const made = await run('keys', 'create', '--account', 'acme', '--name', 'k', '--data', words.join(','));
  assert.deepEqual(made.limits?.data, set);
  const change = (text: string) => run('keys', 'change', 'acme/k', '--data', text);
  assert.deepEqual((await change('zero-retention')).limits?.data, { no_training: false, zero_retention: true });
  assert.deepEqual((await run('keys', 'show', 'acme/k')).limits?.data, { no_training: false, zero_retention: true });
  assert.equal((await change('none')).limits, null);
  await run('keys', 'change', 'acme/k', '--models', 'smart', '--ips', '192.0.2.1');
  const freed = await run('keys', 'change', 'acme/k', '--models', 'all', '--ips', 'any');
  assert.deepEqual([freed.models, freed.ips], [null, null], 'words that mean all reach the server as null');
  const wrong = await runCommand(['accounts', 'data', 'acme', 'eu'], { cwd });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /'eu' is no part of a data rule\. Write one as region=eu no-training zero-retention\./);
});
