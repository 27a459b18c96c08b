// An embedded vector store in a process of its own, for the test that kills it.
// node vector-child.ts <data folder> <round>
// Eight writers, each call a batch of five points; what was acknowledged is said line by line, `writer call`.
import { writeSync } from 'node:fs';
import { allShards, createEmbeddedStore } from '../../src/vectors/embedded/embedded-store.ts';
import { batchSize, tenantOf, writers } from './vector-writers.ts';

const [dataDir = '', round = ''] = process.argv.slice(2);
const store = createEmbeddedStore({
  dataDir,
  shards: allShards,
  memoryBytes: 16 * 1024 * 1024,
  limit: { take: async () => {}, give() {}, onStoredBytes() {} },
  report() {},
});

const spec = { name: 'docs', size: 4, distance: 'Dot', embeddingModel: null } as const;
for (let writer = 0; writer < writers; writer += 1) {
  const tenant = tenantOf(writer);
  if ((await store.find(tenant, 'docs')) === null) await store.create({ tenant, account: 'acme' }, spec);
}
for (let writer = 0; writer < writers; writer += 1) void write(writer);

async function write(writer: number): Promise<void> {
  const tenant = tenantOf(writer);
  for (let call = 0; ; call += 1) {
    // Ids that no other round or writer has, growing, so that a batch is five neighbours.
    const first = (Number(round) * 100_000 + call) * writers * batchSize + writer * batchSize;
    const ids = Array.from({ length: batchSize }, (_, i) => first + i);
    const payloads = ids.map(() => JSON.stringify({ batch: `${round} ${writer} ${call}` }));
    await store.write(tenant, 'docs', [
      { kind: 'upsert', points: { ids, vectors: new Float32Array(4 * batchSize).fill(call), payloads } },
    ]);
    writeSync(1, `${round} ${writer} ${call}\n`);
  }
}
