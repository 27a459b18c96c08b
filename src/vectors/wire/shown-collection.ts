import type { CollectionInfo, CollectionSpec } from '../collection.ts';
import type { ScoredPoint, StoredPoint } from '../point.ts';
import { shortestFloat } from './shortest-float.ts';

/** A collection in the contract's words. */
export function shownSpec({ name, size, distance, embeddingModel }: CollectionSpec): object {
  return { name, vector_size: size, distance, ...(embeddingModel !== null && { embedding_model: embeddingModel }) };
}

/**
 * The contract's words beside Qdrant's, whose clients read `status` and `config`. What Qdrant tells of its own index and
 * files stands as it has it by default.
 */
export function shownInfo(info: CollectionInfo): object {
  const { size, distance, points, indexed, payloadSchema } = info;
  return {
    ...shownSpec(info),
    points_count: points,
    status: 'green',
    optimizer_status: 'ok',
    indexed_vectors_count: indexed,
    segments_count: 1,
    config: {
      params: {
        vectors: { size, distance },
        shard_number: 1,
        replication_factor: 1,
        write_consistency_factor: 1,
        on_disk_payload: true,
      },
      hnsw_config: { m: 16, ef_construct: 100, full_scan_threshold: 10_000 },
      optimizer_config: { default_segment_number: 1, flush_interval_sec: 5 },
    },
    payload_schema: Object.fromEntries(
      Object.entries(payloadSchema).map(([key, { type, points: count }]) => [key, { data_type: type, points: count }]),
    ),
  };
}

/** A point as `retrieve` and `scroll` show it: what was asked for, and `{}` for a payload that is not there. */
export function shownPoint({ id, payload, vector }: StoredPoint): object {
  return {
    id,
    ...(payload !== undefined && { payload: payload ?? {} }),
    ...(vector !== undefined && { vector: vector === null ? null : numbersOf(vector) }),
  };
}

/** A found point. Points have no versions here. */
export function shownScored(point: ScoredPoint): object {
  const { orderValue } = point;
  const scored = { ...shownPoint(point), version: 0, score: shortestFloat(point.score) };
  return orderValue === undefined ? scored : { ...scored, order_value: orderValue };
}

function numbersOf(vector: Float32Array): number[] {
  const numbers = new Array<number>(vector.length);
  for (let i = 0; i < vector.length; i++) numbers[i] = shortestFloat(vector[i]!);
  return numbers;
}
