import type { Caller } from '../../api/caller.ts';
import { ApiError, call } from '../../api/request.ts';

/** One vector that each point of a collection may have. */
interface VectorParams {
  size: number;
  distance: string;
  embedding_model?: string;
  multivector_config?: object;
}

export interface Collection {
  name: string;
  /** Dimensions of the vector without a name; absent when all have one. */
  vector_size?: number;
  distance?: string;
  embedding_model?: string;
  vectors?: Readonly<Record<string, VectorParams>>;
  sparse_vectors?: Readonly<Record<string, { embedding_model?: string }>>;
}

export interface CollectionInfo extends Collection {
  points_count: number;
  payload_schema: Readonly<Record<string, unknown>>;
}

export interface Point {
  id: string | number;
  payload?: Record<string, unknown> | null;
  vector?: unknown;
  /** Absent where nothing was searched. */
  score?: number;
}

/** A kind of vector of a collection. */
export interface VectorKind {
  /** '' for the one without a name. */
  name: string;
  form: 'dense' | 'multivector' | 'sparse';
  /** Numbers; null for a sparse one. */
  size: number | null;
  distance: string | null;
  /** That embeds texts; null: the caller brings vectors. */
  model: string | null;
}

/** The one without a name first. */
export function vectorKindsOf(collection: Collection): VectorKind[] {
  const { vector_size, distance, embedding_model: model = null, vectors = {}, sparse_vectors = {} } = collection;
  return [
    ...(vector_size === undefined
      ? []
      : [{ name: '', form: 'dense' as const, size: vector_size, distance: distance ?? null, model }]),
    ...Object.entries(vectors).map(([name, one]): VectorKind => {
      const form = one.multivector_config === undefined ? 'dense' : 'multivector';
      return { name, form, size: one.size, distance: one.distance, model: one.embedding_model ?? null };
    }),
    ...Object.entries(sparse_vectors).map(([name, one]): VectorKind => {
      return { name, form: 'sparse', size: null, distance: null, model: one.embedding_model ?? null };
    }),
  ];
}

/** A call of `/v1/vectors`; returns the `result` of the answer. */
export async function vectors<Result>(
  caller: Caller,
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Result> {
  // A browser takes a name of dots alone for a way to another address.
  if (/\/\.{1,2}(?:\/|$)/.test(path)) {
    throw new ApiError(404, { error: { message: 'A browser cannot open a name of dots alone. Use the API.' } });
  }
  const options = { headers: caller.headers, ...(body !== undefined && { body }), ...(signal && { signal }) };
  const { result } = await call<{ result: Result }>(method, `/v1/vectors${path}`, options);
  return result;
}

export const collectionsKey = '/v1/vectors/collections';

export function collectionPath(name: string): string {
  return `/collections/${encodeURIComponent(name)}`;
}
