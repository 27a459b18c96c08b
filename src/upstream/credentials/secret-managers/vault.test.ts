import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
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
