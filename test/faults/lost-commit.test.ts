import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { callAdmin } from '../call-admin.ts';
import type { ErrorBody } from '../contract/served.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { until } from '../until.ts';
import { startCuttingProxy } from './cutting-proxy.ts';

/* PostgreSQL does the work of operators, and its answer never comes. They hear that it was done. */

const server = postgresMissing ? null : await startPostgres(null);

async function overProxy(t: TestContext) {
  const proxy = await startCuttingProxy(t, server!.port);
  const database = server!.newDatabase().replace(`:${server!.port}/`, `:${proxy.port}/`);
  const storage = { database, secret: 'a secret of thirty-two bytes or more' };
  return { proxy, gateway: await startGateway(t, { storage, accounts: { dev: {} } }) };
}

/** In each change of accounts, and in no look at them. */
const change = 'UPDATE culvert.store_version';

interface Credit {
  granted_usd: number;
  data: unknown[];
}

interface Key {
  id: string;
  key: string;
}

const opens = async (gateway: TestGateway, secret: string) => {
  const { status } = await gateway.fetch('/v1/models', { headers: { authorization: `Bearer ${secret}` } });
  return status;
};

const dashboard = (gateway: TestGateway, path: string, json: object) => gateway.fetch(`/dashboard${path}`, { json });

test('a COMMIT whose answer is lost: a key, a top-up and an operator are there, and their makers know', {
  skip: postgresMissing,
}, async (t) => {
  const { gateway, proxy } = await overProxy(t);
  await callAdmin(gateway, 'POST', '/accounts', { id: 'prepaid', name: 'Prepaid' });
  proxy.cutAfter('COMMIT', change);
  const made = await callAdmin<Key>(gateway, 'POST', '/keys', { account: 'prepaid', name: 'laptop' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(await opens(gateway, made.body.key), 200);
  proxy.cutAfter('COMMIT', change);
  const credit = await callAdmin<Credit>(gateway, 'POST', '/accounts/prepaid/credit', { usd: 5 });
  assert.deepEqual([credit.status, credit.body.granted_usd], [200, 5]);
  const { body: invited } = await callAdmin<{ path: string }>(gateway, 'POST', '/invitations', { role: 'viewer' });
  proxy.cutAfter('COMMIT', change);
  const accepted = await dashboard(gateway, '/invitation/accept', { token: invited.path.split('=')[1], name: 'Anna' });
  const { key, session } = (await accepted.json()) as { key: string; session: { name: string } };
  assert.deepEqual([accepted.status, session.name], [200, 'Anna']);
  assert.equal((await dashboard(gateway, '/session', { admin_key: key })).status, 200);
  assert.equal(proxy.cuts(), 3);
});

test('a database that is lost behind the COMMIT of an invitation: its key is shown', {
  skip: postgresMissing,
}, async (t) => {
  const { gateway, proxy } = await overProxy(t);
  const { body: invited } = await callAdmin<{ path: string }>(gateway, 'POST', '/invitations', { role: 'viewer' });
  proxy.loseAfter('COMMIT', change);
  const accepted = await dashboard(gateway, '/invitation/accept', { token: invited.path.split('=')[1], name: 'Anna' });
  const { key, session } = (await accepted.json()) as { key: string; session: null };
  assert.deepEqual([accepted.status, session], [200, null]);
  proxy.lose(false);
  await until('the key logs in', async () => (await dashboard(gateway, '/session', { admin_key: key })).status === 200);
});

test('a database that is lost behind the COMMIT of a key, of a top-up and of a revocation: all are shown', {
  skip: postgresMissing,
}, async (t) => {
  const { gateway, proxy } = await overProxy(t);
  await callAdmin(gateway, 'POST', '/accounts', { id: 'prepaid', name: 'Prepaid' });
  proxy.loseAfter('COMMIT', change);
  const made = await callAdmin<Key>(gateway, 'POST', '/keys', { account: 'prepaid', name: 'laptop' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  proxy.lose(false);
  await until('the key counts', async () => (await opens(gateway, made.body.key)) === 200);
  proxy.loseAfter('COMMIT', change);
  const credit = await callAdmin<Credit>(gateway, 'POST', '/accounts/prepaid/credit', { usd: 5 });
  assert.deepEqual([credit.status, credit.body.granted_usd, credit.body.data.length], [200, 5, 1]);
  proxy.lose(false);
  const now = () => callAdmin<Credit>(gateway, 'GET', '/accounts/prepaid/credit');
  await until('it stands there once', async () => (await now()).body.granted_usd === 5);
  proxy.loseAfter('COMMIT', change);
  const revoked = await callAdmin<{ status: string }>(gateway, 'DELETE', `/keys/${made.body.id}`);
  assert.deepEqual([revoked.status, revoked.body.status], [200, 'revoked']);
  proxy.lose(false);
  await until('it answers again', async () => (await now()).status === 200);
  proxy.loseAfter('COMMIT', change);
  const messages = [{ role: 'user', content: 'Hello' }];
  const prompt = await callAdmin<ErrorBody>(gateway, 'POST', '/prompts', { name: 'greeting', messages });
  assert.equal(prompt.status, 503);
  assert.match(prompt.body.error.message, /'greeting' was made/);
});

/** Lines of batches that run have a table whose name begins so, too. */
const batchRow = 'INSERT INTO culvert.batch (';

test('a batch whose answer is lost runs where its caller hears of it, and nowhere else', {
  skip: postgresMissing,
}, async (t) => {
  const { gateway, proxy } = await overProxy(t);
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const line = {
    custom_id: 'one',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'sim/chat', messages: [] },
  };
  const file = await client.files.create({
    purpose: 'batch',
    file: new File([JSON.stringify(line)], 'lines.jsonl'),
  });
  const begin = () =>
    client.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' });
  const ids = async () => (await client.batches.list()).data.map(({ id }) => id);
  proxy.cutAfter(batchRow);
  await assert.rejects(begin(), { status: 503 });
  assert.deepEqual(await ids(), []);
  proxy.cutAfter('COMMIT', batchRow);
  const { id } = await begin();
  assert.deepEqual(await ids(), [id]);
  proxy.loseAfter('COMMIT', batchRow);
  const { id: other } = await begin();
  proxy.lose(false);
  await until('the other one is listed, too', async () => (await ids().catch((): string[] => [])).includes(other));
  assert.equal(proxy.cuts(), 2);
});

test('a database that is lost before its COMMIT is answered: the change may have been made, says the refusal', {
  skip: postgresMissing,
}, async (t) => {
  const { gateway, proxy } = await overProxy(t);
  proxy.cutAfter('COMMIT', change, 'cut and lose');
  const made = await callAdmin<ErrorBody>(gateway, 'POST', '/accounts', { id: 'new', name: 'New' });
  assert.equal(made.status, 503);
  assert.match(made.body.error.message, /may have been made/);
});
