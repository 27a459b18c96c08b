import { seededRandom } from '../../src/kernel/random.ts';
import type { VectorStore } from '../../src/vectors/vector-store.ts';
import { type TestPoint, upsert } from './vector-suite.ts';

export const tenant = 'acme/laptop';
export const owner = { tenant, account: 'acme' };
export const spec = { name: 'docs', size: 4, distance: 'Dot', embeddingModel: null } as const;
export const uuids = ['5c56c793-69f3-4fbf-87e6-c4bf54c28c26', '0a1b2c3d-0000-4000-8000-000000000001'] as const;

const random = seededRandom(12);
const cities = ['Rome', 'Oslo', 'Kyiv', 'Lima'] as const;
/** Sixty points of all kinds of ids and payloads. */
export const points: readonly TestPoint[] = Array.from({ length: 60 }, (_, at) => ({
  id: at < 2 ? uuids[at]! : at,
  vector: Array.from({ length: 4 }, () => Math.fround(random.next() * 2 - 1)),
  payload:
    at % 7 === 6
      ? null
      : {
          n: at,
          city: cities[at % 4]!,
          tags: at % 3 === 0 ? [] : [`t${at % 5}`, at % 5],
          deep: { list: [{ a: at % 2, b: at % 3 }, { a: 1 }], on: at % 2 === 0 },
          ...(at % 5 === 0 && { nothing: null }),
        },
}));

/** With these points in its collection `docs`. */
export async function filled(store: VectorStore, given: readonly TestPoint[] = points): Promise<VectorStore> {
  await store.create(owner, spec);
  await store.write(tenant, 'docs', [upsert(given)]);
  return store;
}
