import type { Distance } from '../../src/vectors/collection.ts';
import { allShards, createEmbeddedStore } from '../../src/vectors/embedded/embedded-store.ts';
import type { Filter } from '../../src/vectors/filter/filter.ts';
import { readFilter } from '../../src/vectors/filter/read-filter.ts';
import type { PointQuery, VectorStore } from '../../src/vectors/vector-store.ts';
import { scratchFolder } from '../gateway/processes.ts';
import type { Engine } from './engine.ts';
import { dimensions } from './points.ts';

export const tenant = 'bench';
const owner = { tenant, account: tenant };

/** Our store as a worker has it, in this thread and over a folder of its own. `cores`: threads of a large search. */
export function openStore(memoryBytes: number, cores = 1): VectorStore {
  return createEmbeddedStore({
    dataDir: scratchFolder(),
    shards: allShards,
    memoryBytes,
    passCores: { cores, used: new SharedArrayBuffer(4), arena: 0 },
    limit: { take: async () => undefined, give: () => undefined, onStoredBytes: () => undefined },
    report: (message) => console.error(message),
  });
}

/** One collection of it. */
export async function openCollection(store: VectorStore, name: string, distance: Distance): Promise<Engine> {
  await store.create(owner, { name, size: dimensions, distance, embeddingModel: null });
  return {
    name: 'Culvert',
    async write(from, vectors, payloads) {
      const ids = payloads.map((_, row) => from + row);
      await store.write(tenant, name, [{ kind: 'upsert', points: { ids, vectors, payloads } }]);
    },
    async search(query, k, group) {
      const [hits] = await store.query(tenant, name, [nearest(query, k, group === null ? null : inGroup(group))]);
      return hits!.map(({ id }) => Number(id));
    },
    close: () => undefined,
  };
}

export function nearest(vector: Float32Array, limit: number, filter: Filter | null): PointQuery {
  return {
    target: { kind: 'nearest', vector, mmr: null },
    filter,
    limit,
    offset: 0,
    scoreThreshold: null,
    exact: false,
    want: { payload: false, vector: false },
  };
}

function inGroup(group: number): Filter {
  return readFilter({ must: [{ key: 'group', match: { value: group } }] }, 'filter');
}
