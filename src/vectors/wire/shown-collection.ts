import type { CollectionInfo, CollectionSpec, NamedSpecs, VectorSpec } from '../collection.ts';
import { isMulti, isSparse, type ScoredPoint, type StoredPoint, type VectorValue } from '../point.ts';
import { shortestFloat } from './shortest-float.ts';
import type { QueryForm } from './vector-request.ts';

type Shown = Record<string, object>;

/** A collection in the contract's words, and its named vectors in Qdrant's. */
export function shownSpec({ name, size, distance, embeddingModel, named }: CollectionSpec): object {
  return {
    name,
    ...(size > 0 && { vector_size: size, distance }),
    ...(embeddingModel !== null && { embedding_model: embeddingModel }),
    ...(named !== undefined && shownNamed(named)),
  };
}

function shownNamed(named: NamedSpecs): { vectors: Shown; sparse_vectors?: Shown } {
  const entries = Object.entries(named);
  const sparse = entries.flatMap(([name, spec]) => (spec.kind === 'sparse' ? [[name, shownSparse(spec)]] : []));
  const dense = entries.flatMap(([name, spec]) => (spec.kind === 'sparse' ? [] : [[name, shownParams(spec)]]));
  return {
    vectors: Object.fromEntries(dense),
    ...(sparse.length > 0 && { sparse_vectors: Object.fromEntries(sparse) }),
  };
}

function shownSparse({ modifier, embeddingModel }: Extract<VectorSpec, { kind: 'sparse' }>): object {
  return {
    ...(modifier !== 'none' && { modifier }),
    ...(embeddingModel !== null && { embedding_model: embeddingModel }),
  };
}

function shownParams(spec: Exclude<VectorSpec, { kind: 'sparse' }>): object {
  const { size, distance } = spec;
  if (spec.kind === 'multi') return { size, distance, multivector_config: { comparator: 'max_sim' } };
  return { size, distance, ...(spec.embeddingModel !== null && { embedding_model: spec.embeddingModel }) };
}

/** Qdrant's `params.vectors` and `params.sparse_vectors`: one vector's where it has no name and is the only one. */
function shownVectors({ size, distance, named = {}, settings = {} }: CollectionSpec): object {
  const { vectors, sparse_vectors: sparse } = shownNamed(named);
  const all = Object.entries({ ...(size > 0 && { '': { size, distance } }), ...vectors });
  const dense = Object.fromEntries(all.map(([name, one]) => [name, { ...one, ...settings.vectors?.[name] }]));
  const alone = all.length === 1 && all[0]?.[0] === '';
  const sparseWithSettings = Object.entries(sparse ?? {}).map(([name, one]) => {
    return [name, { ...one, ...settings.sparse_vectors?.[name] }] as const;
  });
  return {
    vectors: alone ? dense[''] : dense,
    ...(sparse !== undefined && { sparse_vectors: Object.fromEntries(sparseWithSettings) }),
  };
}

/**
 * The contract's words and Qdrant's, whose clients read `status` and `config`. Facts of Qdrant's own index and files
 * are shown as they were set, or with Qdrant's default.
 */
export function shownInfo(info: CollectionInfo): object {
  const { points, payloadSchema } = info;
  return {
    ...shownSpec(info),
    points_count: points,
    status: 'green',
    optimizer_status: 'ok',
    // No point waits for an index, so nobody has to wait for indexing.
    indexed_vectors_count: points,
    segments_count: 1,
    config: shownConfig(info),
    payload_schema: Object.fromEntries(
      Object.entries(payloadSchema).map(([key, { type, points: count, params }]) => [
        key,
        { data_type: type, ...(params !== undefined && { params }), points: count },
      ]),
    ),
  };
}

function shownConfig(info: CollectionInfo): object {
  const { hnsw_config, optimizers_config, quantization_config, wal_config, metadata, ...storage } = info.settings ?? {};
  const { on_disk_payload, payload, id_tracker } = storage;
  return {
    params: {
      ...shownVectors(info),
      shard_number: 1,
      replication_factor: 1,
      write_consistency_factor: 1,
      on_disk_payload: on_disk_payload ?? true,
      ...(payload !== undefined && { payload }),
      ...(id_tracker !== undefined && { id_tracker }),
    },
    hnsw_config: { m: 16, ef_construct: 100, full_scan_threshold: 10_000, ...hnsw_config },
    optimizer_config: { ...optimizerDefaults, ...optimizers_config },
    // Clients that migrate a collection read it without looking whether it is there.
    wal_config: { ...walDefaults, ...wal_config },
    quantization_config: quantization_config ?? null,
    ...(metadata !== undefined && { metadata }),
  };
}

/** Members that Qdrant's description requires. */
const optimizerDefaults = { default_segment_number: 1, flush_interval_sec: 5 };
const walDefaults = { wal_capacity_mb: 32, wal_segments_ahead: 0 };

/** A point in `retrieve` and `scroll`: the requested parts, and `{}` for a missing payload. */
export function shownPoint({ id, payload, vector, named }: StoredPoint): object {
  return {
    id,
    ...(payload !== undefined && { payload: payload ?? {} }),
    ...((vector !== undefined || named !== undefined) && { vector: shownVectorsOf(vector ?? null, named) }),
  };
}

/** The unnamed vector where it is the only one, else an object of all; `{}` for a point that has none. */
function shownVectorsOf(vector: Float32Array | null, named: StoredPoint['named'] = {}): unknown {
  const values = Object.entries(named).map(([name, value]) => [name, shownValue(value)] as const);
  if (vector !== null && values.length === 0) return numbersOf(vector);
  if (vector === null && values.length === 1 && values[0]?.[0] === '') return values[0][1];
  return Object.fromEntries(vector === null ? values : [['', numbersOf(vector)], ...values]);
}

export function shownValue(value: VectorValue): number[] | number[][] | { indices: number[]; values: number[] } {
  if (isSparse(value)) return { indices: Array.from(value.indices), values: numbersOf(value.values) };
  if (!isMulti(value)) return numbersOf(value);
  const size = value.numbers.length / value.rows;
  return Array.from({ length: value.rows }, (_, i) => numbersOf(value.numbers.subarray(i * size, (i + 1) * size)));
}

/** A found point. Points have no versions here. */
export function shownScored(point: ScoredPoint): object {
  const { id, payload, vector, named, orderValue } = point;
  const score = shortestFloat(point.score);
  const bare = payload === undefined && vector === undefined && named === undefined;
  const scored = bare ? { id, version: 0, score } : { ...shownPoint(point), version: 0, score };
  return orderValue === undefined ? scored : { ...scored, order_value: orderValue };
}

/** A list of points in the words of `form`. */
export function shownPoints(points: readonly object[], form: QueryForm): unknown {
  return form === 'query' ? { points } : points;
}

function numbersOf(vector: Float32Array): number[] {
  return Array.from(vector, shortestFloat);
}
