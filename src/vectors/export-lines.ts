import { collectionNamePattern } from './collection.ts';
import type { ExportEnd, ExportedCollection, ExportedPoint, ExportHead } from './operator.ts';
import type { PointId, StoredPoint } from './point.ts';
import type { VectorStore } from './store.ts';
import { shortestFloat } from './wire/shortest-float.ts';

/** Numbers of one page: written in the thread that serves, which no page may hold up. */
const pageNumbers = 32_768;
const pagePointsMax = 256;
/** Payloads may be of 4 MB each. */
const pageBytes = 16 * 1024 * 1024;
const want = { payload: true, vector: true } as const;

type Exporting = Pick<VectorStore, 'list' | 'inspect' | 'aliases' | 'scroll'>;

/** See `VectorOperator.export`. */
export async function* exportLines(store: Exporting, tenant: string): AsyncGenerator<string> {
  const collections = await store.list(tenant);
  yield line({ culvert_vectors: 1, tenant } satisfies ExportHead);
  let points = 0;
  for (const { name, size, distance, embeddingModel } of collections) {
    const { payloadSchema } = await store.inspect(tenant, name);
    const indexes = Object.entries(payloadSchema).map(([key, { type }]) => [key, type] as const);
    const aliases = (await store.aliases(tenant, name)).map(({ alias }) => alias);
    const collection: ExportedCollection = {
      name,
      vector_size: size,
      distance,
      embedding_model: embeddingModel,
      payload_indexes: Object.fromEntries(indexes),
      // What the engine itself notes by an alias has a name that no caller can give.
      aliases: aliases.filter((alias) => collectionNamePattern.test(alias)),
    };
    yield line({ collection });
    const limit = Math.max(1, Math.min(pagePointsMax, Math.floor(pageNumbers / size)));
    let offset: PointId | null = null;
    do {
      const asked = { filter: null, limit, offset, orderBy: null, want, pageBytes };
      const page: Awaited<ReturnType<Exporting['scroll']>> = await store.scroll(tenant, name, asked);
      if (page.points.length > 0) yield page.points.map((point) => line(exported(point))).join('');
      points += page.points.length;
      offset = page.next;
    } while (offset !== null);
  }
  yield line({ end: { collections: collections.length, points } } satisfies ExportEnd);
}

function exported({ id, payload, vector }: StoredPoint): ExportedPoint {
  return { id, vector: Array.from(vector ?? [], shortestFloat), payload: payload ?? null };
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
