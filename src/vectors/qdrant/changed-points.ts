import { FailureError, invalid } from '../../kernel/failure.ts';
import type { PointId } from '../point.ts';
import type { WriteOperation } from '../store.ts';
import type { Partition } from './partition.ts';
import { inputsOf } from './write-query.ts';

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

/** Throws a FailureError (400): a collection that was made again since the call was read may have another size. */
export function checkLengths({ collection: { size } }: Partition, operations: readonly WriteOperation[]): void {
  for (const operation of operations) {
    if (operation.kind === 'upsert') checkRows(operation.points, size);
    else if (operation.kind === 'update-vectors') checkRows(operation, size);
  }
}

function checkRows({ ids, vectors }: { ids: readonly PointId[]; vectors: Float32Array }, size: number): void {
  if (vectors.length === ids.length * size) return;
  const message = `points[0].vector: expected ${size} numbers, got ${Math.floor(vectors.length / ids.length)}`;
  throw new FailureError(invalid('points[0].vector', message));
}

/** The same of what is looked for. */
export function checkInputs({ collection: { size } }: Partition, query: Parameters<typeof inputsOf>[0]): void {
  for (const input of inputsOf(query)) {
    if (!(input instanceof Float32Array) || input.length === size) continue;
    throw new FailureError(invalid('query', `query: expected ${size} numbers, got ${input.length}`));
  }
}
