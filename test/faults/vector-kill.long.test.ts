import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '../../src/kernel/random.ts';
import { pagesOf } from '../../src/vectors/move-tenant.ts';
import type { VectorStore } from '../../src/vectors/vector-store.ts';
import { temporaryStore } from '../fixtures/temporary-vector-store.ts';
import { batchSize, tenantOf, writers } from './vector-writers.ts';

const child = fileURLToPath(new URL('./vector-child.ts', import.meta.url));
const kills = 20;

test(`kill -9 of the vector store with ${writers} writers, ${kills} times: no acknowledged point is lost, no batch is partial`, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-vectors-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const random = seededRandom(7);
  const acknowledged = new Set<string>();
  for (let round = 0; round < kills; round += 1) {
    const acknowledgements = 20 + Math.floor(random.next() * 150);
    const text = await killedAfter(acknowledgements, dataDir, round);
    // The last line may be cut.
    for (const line of text.split('\n').slice(0, -1)) acknowledged.add(line);
  }
  assert(acknowledged.size >= kills * 20);
  const { store } = temporaryStore(t, { dataDir });
  const batches = await everyBatch(store);
  for (const batch of acknowledged) assert.equal(batches.get(batch), batchSize, `batch ${batch}`);
  for (const [batch, points] of batches) assert.equal(points, batchSize, `batch ${batch}`);
});

/** Its output until it was killed: somewhere in a running stream of commits, not at a moment chosen by a clock. */
async function killedAfter(acknowledgements: number, dataDir: string, round: number): Promise<string> {
  const store = spawn(process.execPath, [child, dataDir, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  let lines = 0;
  store.stdout!.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    lines += chunk.split('\n').length - 1;
    if (lines >= acknowledgements) store.kill('SIGKILL');
  });
  const [, signal] = await once(store, 'close');
  assert.equal(signal, 'SIGKILL');
  return text;
}

/** How many points there are of each batch. */
async function everyBatch(store: VectorStore): Promise<Map<string, number>> {
  const batches = new Map<string, number>();
  for (const tenant of new Set(Array.from({ length: writers }, (_, writer) => tenantOf(writer)))) {
    for await (const page of pagesOf(store, tenant, 'docs', 1_000)) {
      for (const { payload } of page) {
        const batch = String(payload!.batch);
        batches.set(batch, (batches.get(batch) ?? 0) + 1);
      }
    }
  }
  return batches;
}
