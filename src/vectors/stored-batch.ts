import { directMember } from '../kernel/known-entry.ts';
import type { CollectionSpec } from './collection.ts';
import type { NamedColumn, PointBatch, StoredPoint } from './point.ts';

/** Points that were read whole, to be written elsewhere unchanged. */
export function batchOf(points: readonly StoredPoint[], spec: CollectionSpec): PointBatch {
  const { size } = spec;
  const without = new Set<number>();
  const vectors = new Float32Array(points.length * size);
  points.forEach(({ vector }, i) => {
    if (vector == null) without.add(i);
    else vectors.set(vector, i * size);
  });
  return {
    ids: points.map(({ id }) => id),
    vectors,
    ...(size > 0 && without.size > 0 && { without }),
    named: namedColumns(points, spec),
    payloads: points.map(({ payload }) => (payload == null ? null : JSON.stringify(payload))),
  };
}

function namedColumns(points: readonly StoredPoint[], { named = {} }: CollectionSpec): NamedColumn[] {
  return Object.keys(named).map((name) => ({
    name,
    values: points.map((point) => directMember(point.named ?? {}, name) ?? null),
  }));
}
