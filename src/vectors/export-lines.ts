import type { JsonObject } from '../kernel/json.ts';
import { collectionNamePattern, type Distance, type NamedSpecs, type PayloadType } from './collection.ts';
import type { CollectionSettings } from './collection-settings.ts';
import { pagesOf } from './move-tenant.ts';
import type { StoredPoint } from './point.ts';
import type { VectorStore } from './vector-store.ts';
import { shortestFloat } from './wire/shortest-float.ts';
import { shownValue } from './wire/shown-collection.ts';

/** First line of an export. */
export interface ExportHead {
  /** Form of the lines. */
  culvert_vectors: 1;
  tenant: string;
}

export type ExportedVector =
  | readonly number[]
  | { indices: readonly number[]; values: readonly number[] }
  | readonly (readonly number[])[];

/** Last line of an export. */
export interface ExportEnd {
  end: { collections: number; points: number };
}

export interface ExportedPoint {
  id: number | string;
  /** The unnamed one; empty where the point has none. */
  vector: readonly number[];
  /** Named ones, as the API shows them. */
  vectors?: Readonly<Record<string, ExportedVector>>;
  payload: JsonObject | null;
}

export interface ExportedCollection {
  name: string;
  /** 0: it has no unnamed vector. */
  vector_size: number;
  distance: Distance;
  embedding_model: string | null;
  /** By name; absent: none. */
  named_vectors?: NamedSpecs;
  /** Absent: none. */
  settings?: CollectionSettings;
  /** Type by key. */
  payload_indexes: Readonly<Record<string, PayloadType>>;
  /** Parameters of those that have some, by key. */
  text_indexes?: Readonly<Record<string, JsonObject>>;
  aliases: readonly string[];
}

/** Numbers of one page: written in the thread that serves, which no page may hold up. */
const pageNumbers = 32_768;
const pagePointsMax = 256;

type Exporting = Pick<VectorStore, 'list' | 'inspect' | 'aliases' | 'scroll'>;

/** See `VectorOperator.export`. */
export async function* exportLines(store: Exporting, tenant: string): AsyncGenerator<string> {
  const collections = await store.list(tenant);
  yield line({ culvert_vectors: 1, tenant } satisfies ExportHead);
  let points = 0;
  for (const { name, size, distance, embeddingModel, named, settings } of collections) {
    const { payloadSchema } = await store.inspect(tenant, name);
    const indexes = Object.entries(payloadSchema).map(([key, { type }]) => [key, type] as const);
    const texts = Object.entries(payloadSchema).flatMap(([key, { params }]) =>
      params ? [[key, params] as const] : [],
    );
    const aliases = (await store.aliases(tenant, name)).map(({ alias }) => alias);
    const collection: ExportedCollection = {
      name,
      vector_size: size,
      distance,
      embedding_model: embeddingModel,
      ...(named !== undefined && { named_vectors: named }),
      ...(settings !== undefined && { settings }),
      payload_indexes: Object.fromEntries(indexes),
      // The engine marks its own aliases with names that no caller can give.
      ...(texts.length > 0 && { text_indexes: Object.fromEntries(texts) }),
      aliases: aliases.filter((alias) => collectionNamePattern.test(alias)),
    };
    yield line({ collection });
    const limit = Math.max(1, Math.min(pagePointsMax, Math.floor(pageNumbers / numbersOf({ size, named }))));
    for await (const page of pagesOf(store, tenant, name, limit)) {
      if (page.length > 0) yield page.map((point) => line(exported(point))).join('');
      points += page.length;
    }
  }
  yield line({ end: { collections: collections.length, points } } satisfies ExportEnd);
}

/** Rough size of one point. */
function numbersOf({ size, named = {} }: { size: number; named: NamedSpecs | undefined }): number {
  const sizes = Object.values(named).map((spec) => (spec.kind === 'sparse' ? sparseNumbers : spec.size));
  return sizes.reduce((sum, one) => sum + one, Math.max(1, size));
}

const sparseNumbers = 256;

function exported({ id, payload, vector, named }: StoredPoint): ExportedPoint {
  return {
    id,
    vector: Array.from(vector ?? [], shortestFloat),
    ...(named !== undefined && {
      vectors: Object.fromEntries(Object.entries(named).map(([name, value]) => [name, shownValue(value)])),
    }),
    payload: payload ?? null,
  };
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
