import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, testKey } from '../start-gateway.ts';

for (const engine of ['embedded', 'qdrant'] as const) {
  test(`${engine}: what Qdrant is told of its index, and the metadata of a collection, is kept and shown again`, async (t) => {
    const over = async () => ({ engine, url: (await startGateway(t)).url, api_key: testKey });
    const gateway = await startGateway(t, engine === 'qdrant' ? { vectors: await over() } : {});
    const call = async (method: string, json?: unknown) => {
      const answer = await gateway.fetch('/v1/vectors/collections/docs', {
        method,
        headers: { 'content-type': 'application/json' },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      return { status: answer.status, body: (await answer.json()) as { result: { config: Record<string, unknown> } } };
    };
    const made = await call('PUT', {
      vectors: {
        title: { size: 2, distance: 'Dot', on_disk: true, datatype: 'float16', hnsw_config: { m: 20 } },
        body: { size: 3, distance: 'Cosine', memory: 'cold' },
      },
      payload: { memory: 'cached' },
      sparse_vectors: { words: { index: { on_disk: true, memory: 'pinned' } } },
      quantization_config: { scalar: { type: 'int8' } },
      metadata: { team: 'search' },
    });
    assert.equal(made.status, 200);
    interface Config {
      params: {
        vectors: Record<string, { hnsw_config?: object }>;
        sparse_vectors: object;
        on_disk_payload: boolean;
        payload: object;
      };
      quantization_config: object | null;
      metadata: object;
    }
    const config = async () => (await call('GET')).body.result.config as unknown as Config;
    const before = await config();
    assert.deepEqual(before.params.vectors, {
      title: { size: 2, distance: 'Dot', on_disk: true, datatype: 'float16', hnsw_config: { m: 20 } },
      body: { size: 3, distance: 'Cosine', memory: 'cold' },
    });
    assert.deepEqual(before.params.sparse_vectors, { words: { index: { on_disk: true, memory: 'pinned' } } });
    assert.deepEqual(before.params.payload, { memory: 'cached' });
    assert.deepEqual(before.quantization_config, { scalar: { type: 'int8' } });
    assert.deepEqual(before.metadata, { team: 'search' });
    const change = {
      metadata: { owner: 'us', team: null },
      quantization_config: 'Disabled',
      params: { on_disk_payload: false, payload: { memory: 'cold' } },
      vectors: { title: { hnsw_config: { ef_construct: 50 } } },
    };
    assert.equal((await call('PATCH', change)).status, 200);
    const after = await config();
    assert.deepEqual(after.metadata, { owner: 'us' });
    assert.equal(after.quantization_config, null);
    assert.equal(after.params.on_disk_payload, false);
    assert.deepEqual(after.params.payload, { memory: 'cold' });
    assert.deepEqual(after.params.vectors.title?.hnsw_config, { m: 20, ef_construct: 50 });
    for (const body of [
      { quantization_config: 'off' },
      { params: 1 },
      { vectors: { title: { on_disk: 'no' } } },
      { vectors: { title: { memory: 'pinned' } } },
    ]) {
      assert.equal((await call('PATCH', body)).status, 400, JSON.stringify(body));
    }
  });
}
