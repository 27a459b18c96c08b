import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreCaller } from './passages.ts';
import { createVectorStores, type VectorStoresParts } from './vector-stores.ts';

test('a store that the database does not take leaves no collection, whatever the database does then', async () => {
  const dropped: string[] = [];
  const locked = async () => {
    throw new Error('locked');
  };
  const parts = {
    rows: { createStore: locked, removeStore: locked },
    worker: { name: 'a', living: null, onDeath() {} },
    sealer: { seal: (text: Buffer) => text },
    clock: { wallMs: () => 1, monotonicMs: () => 1 },
    passages: { make: async () => undefined, drop: async ({ id }: { id: string }) => void dropped.push(id) },
  } as never as VectorStoresParts;
  const caller = { principal: { tenant: 'a/b', account: 'a', keyId: 'k' }, requestId: 'r' } as never as StoreCaller;
  const facts = { name: '', description: null, metadata: null, expiresAfterDays: null };
  await assert.rejects(createVectorStores(parts).create(caller, facts, 'model', []), /locked/);
  assert.equal(dropped.length, 1);
});
