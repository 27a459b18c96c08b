import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/kernel/clock.ts';
import { openCulvertTables } from '../../src/stores/sqlite/stores.ts';
import { createVectorRegistry } from '../../src/stores/vectors/vector-registry.ts';
import { createEmbeddedStore } from '../../src/vectors/embedded/embedded-store.ts';
import { allShards, shardOf } from '../../src/vectors/embedded/shards/shard-of.ts';
import { createQdrantStore } from '../../src/vectors/qdrant/qdrant-store.ts';
import { type UnsupportedByQdrant, unsupportedByQdrant } from '../../src/vectors/qdrant/unsupported-by-qdrant.ts';
import type { VectorStore } from '../../src/vectors/vector-store.ts';
import { startQdrantProxy } from '../qdrant-proxy.ts';
import { otherKey, startGateway } from '../start-gateway.ts';
import { qdrantMissing, type StartedQdrant, startQdrant } from '../start-qdrant.ts';

/** Calls that a driver may answer with 501: a stated value, so that nothing of it is skipped silently. */
export type Unsupported = UnsupportedByQdrant;

export interface VectorDriver {
  name: string;
  unsupported: readonly Unsupported[];
  /** A real Qdrant counts points that were deleted or written anew until it builds their segment again. */
  idf: 'exact' | 'with-deleted';
  /** Two tenants between which `adopt` moves, of different accounts. */
  tenants: readonly [string, string];
  /** An empty store, closed after the test. */
  open(t: Pick<TestContext, 'after'>): Promise<VectorStore>;
}

export const collectionsMax = 20;

const embedded: VectorDriver = {
  name: 'embedded',
  unsupported: [],
  idf: 'exact',
  tenants: ['acme/laptop', neighbourOf('acme/laptop')],
  async open(t) {
    const dataDir = mkdtempSync(join(tmpdir(), 'culvert-vectors-'));
    const store = createEmbeddedStore({
      dataDir,
      shards: allShards,
      memoryBytes: 64 * 1024 * 1024,
      limit: { take: async () => {}, give() {}, onStoredBytes() {} },
      report() {},
    });
    t.after(async () => {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    });
    return store;
  },
};

/** Another tenant of the same shard: between shards the embedded engine copies, above this port. */
function neighbourOf(tenant: string): string {
  for (let at = 0; ; at += 1) if (shardOf(`beta/key-${at}`) === shardOf(tenant)) return `beta/key-${at}`;
}

/** Against a second gateway, whose root speaks Qdrant's API, everything asked held against Qdrant's description. */
const overCulvert: VectorDriver = {
  name: 'qdrant driver over a second Culvert',
  unsupported: Object.keys(unsupportedByQdrant) as UnsupportedByQdrant[],
  idf: 'exact',
  tenants: ['acme/laptop', 'beta/key'],
  async open(t) {
    const gateway = await startGateway(t);
    const proxy = await startQdrantProxy(t, gateway.url);
    return openQdrant(t, proxy.url, otherKey);
  },
};

const realUrl = process.env.QDRANT_URL ?? '';

/** Why no real Qdrant is asked; false when one is: one that runs, or a program that is started here. */
export const realQdrantMissing =
  realUrl === '' && qdrantMissing !== false ? `${qdrantMissing}, and QDRANT_URL names none` : false;

let startedHere: Promise<StartedQdrant> | null = null;

async function realQdrantUrl(): Promise<string> {
  if (realUrl !== '') return realUrl;
  startedHere ??= startQdrant(null);
  return (await startedHere).url;
}

const overQdrant: VectorDriver = {
  ...overCulvert,
  name: 'qdrant driver over a real Qdrant',
  idf: 'with-deleted',
  async open(t) {
    const proxy = await startQdrantProxy(t, await realQdrantUrl());
    return openQdrant(t, proxy.url, process.env.QDRANT_API_KEY ?? null);
  },
};

function openQdrant(t: Pick<TestContext, 'after'>, url: string, apiKey: string | null): VectorStore {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-registry-'));
  const registry = createVectorRegistry(openCulvertTables(join(folder, 'culvert.db')));
  const limits = { collectionsPerAccount: collectionsMax };
  const store = createQdrantStore({ url, apiKey, registry, clock: systemClock, limits, onTrouble() {} });
  t.after(async () => {
    await store.close();
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

/** Every suite over `VectorStore` runs over each of these. */
export const vectorDrivers: readonly VectorDriver[] = [
  embedded,
  overCulvert,
  ...(realQdrantMissing === false ? [overQdrant] : []),
];
