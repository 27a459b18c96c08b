import { checkBatch, formed, vectorOf } from '../check-vector.ts';
import type { PointId } from '../point.ts';
import type { Target, WriteOperation } from '../vector-store.ts';
import type { Partition } from './partition.ts';
import { inputsOf, type Searched, searchesOf } from './write-query.ts';

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
        if (operation.updateMode !== 'update_only') for (const id of operation.points.ids) written.add(id);
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
      case 'delete-vectors':
        break;
    }
  }
  return [...needed];
}

/** Throws a FailureError (400): a collection that was made again since the call was read may have other vectors. */
export function checkVectors({ collection }: Partition, operations: readonly WriteOperation[]): void {
  for (const operation of operations) {
    if (operation.kind === 'upsert') checkBatch(collection, operation.points);
    else if (operation.kind === 'update-vectors') checkBatch(collection, operation);
  }
}

/** The same for search results. */
export function checkInputs({ collection }: Partition, query: Searched): void {
  for (const { target, using = '' } of searchesOf(query)) {
    if (!comparing.has(target.kind)) continue;
    const spec = vectorOf(collection, using, 'using');
    for (const input of inputsOf(target)) if (!('id' in input)) formed(spec, input, 'query');
  }
}

const comparing: ReadonlySet<Target['kind']> = new Set(['nearest', 'recommend', 'discover', 'context']);
