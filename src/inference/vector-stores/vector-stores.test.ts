import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../test/until.ts';
import type { StoreCaller } from './passages.ts';
import { sealFacts } from './store-facts.ts';
import { createVectorStores, type VectorStoresParts } from './vector-stores.ts';

const sealer = { seal: (text: Buffer) => text, open: (sealed: Buffer) => sealed };
const worker = { name: 'a', living: null, onDeath() {} };
const clock = { wallMs: () => 1, monotonicMs: () => 1 };

test('a store that the database does not take leaves no collection, whatever the database does then', async () => {
  const dropped: string[] = [];
  const locked = async () => {
    throw new Error('locked');
  };
  const parts = {
    rows: { createStore: locked, removeStore: locked },
    ...{ worker, sealer, clock },
    passages: { make: async () => undefined, drop: async ({ id }: { id: string }) => void dropped.push(id) },
  } as never as VectorStoresParts;
  const caller = { principal: { tenant: 'a/b', account: 'a', keyId: 'k' }, requestId: 'r' } as never as StoreCaller;
  const facts = { name: '', description: null, metadata: null, expiresAfterDays: null };
  await assert.rejects(createVectorStores(parts).create(caller, facts, 'model', []), /locked/);
  assert.equal(dropped.length, 1);
});

test('files whose model fails take no place from those of others', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const facts = { name: 'a.txt', attributes: null, chunking: { sizeTokens: 100, overlapTokens: 0 }, error: null };
  const files = Array.from({ length: 20 }, (_, at) => {
    const identity = { id: `vsf_${at}`, tenant: 'a/b' };
    return {
      ...identity,
      store: 'vs_1',
      file: `file-${at}`,
      facts: sealFacts(sealer as never, identity, facts as never),
    };
  });
  const read = new Set<string>();
  const parts = {
    rows: {
      lease: async (_worker: string, _now: number, _until: number, limit: number) => files.splice(0, limit),
      ...{
        findFile: async () => null,
        release: async () => undefined,
        close() {},
        forgetPlaces() {},
        expiredStores: async () => [],
      },
    },
    files: async () => ({ find: async () => ({ bytes: 1 }), read: () => [Buffer.from('a')] }),
    readText: async () => ({ text: 'Hello' }),
    ring: { principalOf: () => ({}) },
    passages: {
      async put(_owner: unknown, { id }: { id: string }) {
        read.add(id);
        return { kind: 'overloaded', message: 'later' };
      },
      removeAttachments() {},
    },
    ...{ worker, sealer, clock, onTrouble: assert.fail },
  } as never as VectorStoresParts;
  const stores = createVectorStores(parts);
  await stores.start();
  for (const count of [8, 16, 20]) {
    await until('they pause', () => read.size === count, 20_000);
    // The pauses begin in this turn of the loop.
    await new Promise(setImmediate);
    t.mock.timers.tick(5_000);
  }
  await stores.stop();
});
