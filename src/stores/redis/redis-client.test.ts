import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedisClient } from './redis-client.ts';

test('clients of different servers are of one class: making another one took longer than connecting', async () => {
  const clients = await Promise.all(
    ['redis://127.0.0.1:1', 'redis://user:secret@127.0.0.1:2/3'].map((url) => createRedisClient({ url })),
  );
  const [first, second] = clients.map((client) => client.duplicate().constructor);
  assert.equal(first, second);
  assert.equal(clients[1]?.options.database, 3);
});
