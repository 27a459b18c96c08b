import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { listening } from '../../../../test/listening.ts';
import { createTransport } from '../../transport/send.ts';
import { createManagedSecrets } from './managed-secrets.ts';

test('a lease is kept while it lasts: each read of it would make another user of a database', async (t) => {
  let made = 0;
  let state: 'up' | 'away' = 'up';
  const server = createServer(({ url }, response) => {
    response.statusCode = state === 'up' ? 200 : 503;
    if (url === '/v1/secret/openai') return response.end(JSON.stringify({ data: { key: 'k' }, lease_duration: 60 }));
    if (url?.endsWith('/renew-self')) return response.end('{}');
    const lease = { lease_id: `lease-${made}`, lease_duration: 3_600 };
    if (state === 'up') made += 1;
    return response.end(JSON.stringify({ data: { password: `p${made}` }, ...lease }));
  });
  const transport = createTransport();
  t.after(() => transport.destroy());
  const env = { VAULT_ADDR: await listening(t, server), VAULT_TOKEN: 'hvs.t' };
  const clock = fakeClock();
  const secrets = createManagedSecrets({ env, transport }, clock);
  const leased = 'vault:database/creds/reader#password';
  const read = async (which: 'due' | 'all') => {
    const { values, againMs } = await secrets.read([leased, 'vault:secret/openai#key'], which);
    const value = values.get(leased)!;
    return [value.ok ? value.text : value.message, againMs / 1_000];
  };
  assert.deepEqual(await read('all'), ['p1', 300]);
  // Every five minutes, for the sake of the other one.
  for (let minutes = 5; minutes < 40; minutes += 5) {
    clock.advance(300_000);
    assert.deepEqual(await read('due'), ['p1', 300]);
  }
  clock.advance(300_000);
  assert.deepEqual(await read('due'), ['p2', 300], 'after two thirds of the lease');
  assert.deepEqual(await read('all'), ['p3', 300], 'a reload');
  // A renewal that fails is tried again soon: five minutes may be all that is left.
  clock.advance(2_400_000);
  state = 'away';
  assert.deepEqual(await read('due'), [`the secret ${leased} cannot be read: Vault answered 503`, 30]);
  state = 'up';
  clock.advance(30_000);
  assert.deepEqual(await read('due'), ['p4', 300]);
});
