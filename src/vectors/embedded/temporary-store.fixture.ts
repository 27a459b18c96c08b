import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { seededRandom } from '../../kernel/random.ts';
import type { CollectionSpec } from '../collection.ts';
import type { PointId } from '../point.ts';
import type { PointQuery, Target, WriteOperation } from '../vector-store.ts';
import { createEmbeddedStore, type EmbeddedOptions, type EmbeddedStore } from './embedded-store.ts';
import { allShards } from './shard-of.ts';

export interface TemporaryStore {
  store: EmbeddedStore;
  dataDir: string;
  logged: string[];
  /** Closes it and opens the same folder again. */
  reopen(): Promise<EmbeddedStore>;
}

/** A store over a folder that goes with the test. */
export function temporaryStore(t: TestContext, options: Partial<EmbeddedOptions> = {}): TemporaryStore {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'culvert-vectors-'));
  const logged: string[] = [];
  const open = () =>
    createEmbeddedStore({
      dataDir,
      shards: allShards,
      memoryBytes: 64 * 1024 * 1024,
      limit: { take: async () => {}, give: () => {}, onStoredBytes: () => {} },
      tell: (message) => logged.push(message),
      random: seededRandom(1),
      ...options,
    });
  const made: TemporaryStore = {
    store: open(),
    dataDir,
    logged,
    async reopen() {
      await made.store.close();
      made.store = open();
      return made.store;
    },
  };
  t.after(async () => {
    await made.store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return made;
}

export const alice = { tenant: 'alice', account: 'acme' };
export const bob = { tenant: 'bob', account: 'acme' };

export function spec(name: string, size = 2, more: Partial<CollectionSpec> = {}): CollectionSpec {
  return { name, size, distance: 'Cosine', embeddingModel: null, ...more };
}

/** Points as `[id, vector, payload?]`. */
export function upsert(...points: [PointId, number[], object?][]): WriteOperation {
  return {
    kind: 'upsert',
    points: {
      ids: points.map(([id]) => id),
      vectors: Float32Array.from(points.flatMap(([, vector]) => vector)),
      payloads: points.map(([, , payload]) => (payload === undefined ? null : JSON.stringify(payload))),
    },
  };
}

export function ask(target: Target, more: Partial<PointQuery> = {}): PointQuery {
  return {
    target,
    filter: null,
    limit: 10,
    offset: 0,
    scoreThreshold: null,
    exact: false,
    want: { payload: false, vector: false },
    ...more,
  };
}

export function near(vector: number[], more: Partial<PointQuery> = {}): PointQuery {
  return ask({ kind: 'nearest', vector: Float32Array.from(vector), mmr: null }, more);
}

export const everything = { payload: true, vector: true };
