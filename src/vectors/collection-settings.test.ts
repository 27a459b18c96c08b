import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alice, spec, temporaryStore } from '../../test/fixtures/temporary-vector-store.ts';
import { changedSettings } from './collection-settings.ts';

test('settings are merged as Qdrant merges them', () => {
  const first = changedSettings(undefined, {
    metadata: { team: 'search', stage: { name: 'test' } },
    hnsw_config: { m: 8, ef_construct: 64 },
    quantization_config: { scalar: { type: 'int8', quantile: 0.9 } },
    vectors: { title: { on_disk: true, quantization_config: { scalar: { type: 'int8' } } } },
  });
  const second = changedSettings(first, {
    metadata: { team: null, stage: { level: 2 } },
    hnsw_config: { m: 32 },
    quantization_config: { binary: { always_ram: true } },
    vectors: { title: { on_disk: false, quantization_config: 'Disabled' }, parts: { hnsw_config: { m: 4 } } },
  });
  assert.deepEqual(second, {
    metadata: { stage: { level: 2 } },
    hnsw_config: { m: 32, ef_construct: 64 },
    quantization_config: { binary: { always_ram: true } },
    vectors: { title: { on_disk: false }, parts: { hnsw_config: { m: 4 } } },
  });
  assert.deepEqual(first?.metadata, { team: 'search', stage: { name: 'test' } });
  assert.equal(changedSettings({ quantization_config: { turbo: {} } }, { quantization_config: 'Disabled' }), undefined);
});

test('settings are there after a restart, and go with what they belong to', async (t) => {
  const world = temporaryStore(t);
  const metadata = { team: 'search' };
  await world.store.create(alice, spec('plain', 2, { settings: { metadata } }));
  const named = { title: { kind: 'dense', size: 3, distance: 'Dot', embeddingModel: null } } as const;
  await world.store.create(alice, spec('named', 0, { named }));
  await world.store.configure(alice.tenant, 'named', { vectors: { title: { on_disk: true } } });
  await world.store.write(alice.tenant, 'named', [
    {
      kind: 'upsert',
      points: {
        ids: [1],
        vectors: new Float32Array(),
        payloads: [null],
        named: [{ name: 'title', values: [new Float32Array([1, 2, 3])] }],
      },
    },
  ]);
  const store = await world.reopen();
  assert.deepEqual((await store.find(alice.tenant, 'plain'))?.settings, { metadata });
  const { settings, named: stored, points } = await store.inspect(alice.tenant, 'named');
  assert.deepEqual([settings, stored, points], [{ vectors: { title: { on_disk: true } } }, named, 1]);
  await store.configure(alice.tenant, 'plain', { metadata: { team: null } });
  assert.deepEqual(await store.find(alice.tenant, 'plain'), spec('plain'));
});
