import { FailureError, invalid } from '../../kernel/failure.ts';
import type { PointId } from '../point.ts';
import type { WriteOperation } from '../store.ts';
import type { Partition } from './partition.ts';
import { inputsOf } from './write-query.ts';

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
