import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { listening } from '../../../../test/listening.ts';
import { temporaryFolder } from '../../../../test/start-process.ts';
import { createTransport } from '../../transport/send.ts';
import { vaultReader } from './vault.ts';

test('below a path, with a token that its file has anew, secrets are read without a restart', async (t) => {
  const asked: string[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push(`${url} ${headers['x-vault-token']}`);
    response.end(JSON.stringify({ data: { data: { api_key: 'k' }, metadata: {} } }));
  });
  const transport = createTransport();
  t.after(() => transport.destroy());
  const home = temporaryFolder(t);
  const read = vaultReader({ env: { VAULT_ADDR: `${await listening(t, server)}/vault/`, HOME: home }, transport });
  for (const token of ['hvs.first', 'hvs.second']) {
    writeFileSync(join(home, '.vault-token'), `${token}\n`);
    assert.deepEqual((await read('secret/data/openai')).value, { api_key: 'k' });
  }
  assert.deepEqual(asked, ['/vault/v1/secret/data/openai hvs.first', '/vault/v1/secret/data/openai hvs.second']);
});

test('a login that is revoked before its lease ends is made again, once for all secrets', async (t) => {
  let logins = 0;
  let good = 'hvs.1';
  const server = createServer(({ url = '', headers }, response) => {
    if (url.endsWith('/login')) {
      logins += 1;
      good = `hvs.${logins}`;
      return response.end(JSON.stringify({ auth: { client_token: good, lease_duration: 2_764_800 } }));
    }
    response.statusCode = headers['x-vault-token'] === good && !url.endsWith('denied') ? 200 : 403;
    const body = response.statusCode === 200 ? { data: { api_key: 'k' } } : { errors: ['permission denied'] };
    return response.end(JSON.stringify(body));
  });
  const transport = createTransport();
  t.after(() => transport.destroy());
  const env = { VAULT_ADDR: await listening(t, server), VAULT_ROLE_ID: 'role', VAULT_SECRET_ID: 'secret' };
  const read = vaultReader({ env, transport });
  await read('secret/openai');
  good = 'revoked';
  const both = await Promise.all([read('secret/openai'), read('secret/anthropic')]);
  assert.deepEqual([both.map(({ value }) => value), logins], [[{ api_key: 'k' }, { api_key: 'k' }], 2]);
  await assert.rejects(read('secret/denied'), /Vault answered 403: permission denied/);
  assert.equal(logins, 3);
});

test('a token of the environment is renewed at half of its lease; one that cannot be is used as it is', async (t) => {
  const asked: string[] = [];
  const server = createServer(({ url = '', method, headers }, response) => {
    const token = headers['x-vault-token'];
    asked.push(`${method} ${url} ${token}`);
    if (!url.endsWith('/renew-self')) return response.end(JSON.stringify({ data: { key: 'k' } }));
    if (token === 'hvs.leased')
      return response.end(JSON.stringify({ auth: { client_token: token, lease_duration: 0.2 } }));
    response.statusCode = 400;
    return response.end(JSON.stringify({ errors: ['lease is not renewable'] }));
  });
  const transport = createTransport();
  t.after(() => transport.destroy());
  const address = await listening(t, server);
  for (const [token, renewals] of [
    ['hvs.leased', 2],
    ['hvs.root', 1],
  ] as const) {
    asked.length = 0;
    const read = vaultReader({ env: { VAULT_ADDR: address, VAULT_TOKEN: token }, transport });
    assert.deepEqual((await read('secret/one')).value, { key: 'k' });
    const renewal = `POST /v1/auth/token/renew-self ${token}`;
    assert.equal(asked.filter((one) => one === renewal).length, 1);
    await setTimeout(120);
    await read('secret/one');
    assert.equal(asked.filter((one) => one === renewal).length, renewals);
  }
});

test('a file of certificates that was not there is read once it is', async (t) => {
  const server = createServer((_, response) => response.end(JSON.stringify({ data: { key: 'k' } })));
  const transport = createTransport();
  t.after(() => transport.destroy());
  const file = join(temporaryFolder(t), 'ca.pem');
  const address = await listening(t, server);
  const read = vaultReader({ env: { VAULT_ADDR: address, VAULT_TOKEN: 'hvs.t', VAULT_CACERT: file }, transport });
  await assert.rejects(read('secret/one'), /VAULT_CACERT names cannot be read/);
  writeFileSync(file, '');
  assert.deepEqual((await read('secret/one')).value, { key: 'k' });
});
