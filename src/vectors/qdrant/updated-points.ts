import type { PointId } from '../point.ts';
import type { WriteOperation } from '../store.ts';

/**
 * Points whose vectors are updated by a call which has not written them itself before: those must exist already. A point
 * that the same call deletes by a filter first is not seen here; Qdrant refuses it then.
 */
export function updatedBeforeWritten(operations: readonly WriteOperation[]): readonly PointId[] {
  const written = new Set<PointId>();
  const needed = new Set<PointId>();
  for (const operation of operations) {
    if (operation.kind === 'upsert') for (const id of operation.points.ids) written.add(id);
    else if (operation.kind === 'delete' && 'ids' in operation.which) {
      for (const id of operation.which.ids) written.delete(id);
    } else if (operation.kind === 'update-vectors') {
      for (const id of operation.ids) if (!written.has(id)) needed.add(id);
    }
  }
  return [...needed];
}
