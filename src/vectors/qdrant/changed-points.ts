import type { PointId } from '../point.ts';
import type { WriteOperation } from '../store.ts';

/**
 * Points that a call changes, by id, without having written them itself before: those must exist already. That the same
 * call deletes one of them by a filter first is not seen here.
 */
export function changedBeforeWritten(operations: readonly WriteOperation[]): readonly PointId[] {
  const written = new Set<PointId>();
  const needed = new Set<PointId>();
  const need = (ids: readonly PointId[]) => {
    for (const id of ids) if (!written.has(id)) needed.add(id);
  };
  for (const operation of operations) {
    switch (operation.kind) {
      case 'upsert':
        for (const id of operation.points.ids) written.add(id);
        break;
      case 'update-vectors':
        need(operation.ids);
        break;
      case 'set-payload':
      case 'overwrite-payload':
      case 'delete-payload':
        if ('ids' in operation.which) need(operation.which.ids);
        break;
      case 'delete':
        if ('ids' in operation.which) for (const id of operation.which.ids) written.delete(id);
        break;
      case 'clear-payload':
        break;
    }
  }
  return [...needed];
}
