import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

test('files of a vector store are read to their end after kills, and each passage is there once', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  // So that a server of several processes has not read them before all of these are ready.
  upstream.script('/v1/embeddings', ['always delay=500ms']);
  const config = {
    storage: { data_dir: temporaryFolder(t) },
    providers: { mock: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { embed: { type: 'embedding', targets: ['mock/text-embedding-3-small'] } },
    vectors: { stores: { embedding_model: 'embed' } },
  };
  let gateway = await startGatewayProcess(t, config);
  const at = gateway.url;
  const { files, vectorStores } = new OpenAI({ baseURL: `${at}/v1`, apiKey: testKey, maxRetries: 0 });
  const text = Array.from({ length: 6_000 }, (_, line) => `Line ${line} of a long text.`).join('\n');
  const ids: string[] = [];
  for (let one = 0; one < 3; one++) {
    const file = await toFile(Buffer.from(text), `${one}.txt`);
    ids.push((await files.create({ file, purpose: 'assistants' })).id);
  }
  const { id: store } = await vectorStores.create({});
  const strategy = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;
  const batch = await vectorStores.fileBatches.create(store, { file_ids: ids, chunking_strategy: strategy });
  const count = async () => {
    const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
    const url = `${at}/v1/vectors/collections/${store}/points/count`;
    const response = await fetch(url, { method: 'POST', headers, body: '{}' });
    return ((await response.json()) as { result: { count: number } }).result.count;
  };
  let seen = 0;
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
    await until('some more passages are there', async () => (await count()) > seen + 100);
    seen = await count();
    gateway.process.kill(signal);
    await once(gateway.process, 'exit');
    gateway = await startGatewayProcess(t, config, { at });
  }
  const before = await vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: store });
  assert.equal(before.status, 'in_progress', 'it was killed while it read');
  const ended = await vectorStores.fileBatches.poll(store, batch.id, { pollIntervalMs: 100 });
  assert.deepEqual([ended.status, ended.file_counts.completed], ['completed', 3]);
  let pieces = 0;
  for (const file of ids) {
    const { data } = await vectorStores.files.content(file, { vector_store_id: store });
    assert.equal(data.map((part) => part.text).join(''), text);
    pieces += data.length;
  }
  assert.equal(await count(), pieces);
});
