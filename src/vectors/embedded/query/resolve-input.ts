import { FailureError } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { formed, vectorOf } from '../../check-vector.ts';
import type { VectorValue } from '../../point.ts';
import { noPoint } from '../../vector-refusals.ts';
import type { VectorInput } from '../../vector-store.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { PointTable } from '../point-table.ts';
import type { VectorRows } from '../vector-rows.ts';

export interface ResolvedInput {
  vector: VectorValue;
  /** Set when it is a point of the collection. */
  slot: number | null;
}

/** Other collections of the tenant, whose points may be examples. Throws a FailureError (404) for an unknown one. */
export interface Lookups {
  lookUp(collection: string): OpenCollection;
}

/** The vectors that a query compares. Throws a FailureError (400) when the collection has none of that name. */
export function vectorsUsed({ vectors, row }: OpenCollection, using = ''): VectorRows {
  vectorOf(row.spec, using, 'using');
  return knownEntry(vectors, using);
}

/** Throws a FailureError: 404 for an unknown id or one without such a vector, 400 for a vector of another form. */
export function resolveInput(
  points: PointTable,
  { cid, lookUp }: OpenCollection & Lookups,
  used: VectorRows,
  input: VectorInput,
  at: string,
): ResolvedInput {
  if ('from' in input && input.from !== undefined) {
    const there = lookUp(input.from.collection);
    const { vector } = resolveInput(
      points,
      { ...there, lookUp },
      vectorsUsed(there, input.from.vector),
      { id: input.id },
      at,
    );
    // A point of the other collection is none of this one's, which may be found.
    return { vector: formed(used.spec, vector, at), slot: null };
  }
  if (!('id' in input)) return { vector: formed(used.spec, input, at), slot: null };
  const slot = points.slotOfId(cid, input.id);
  if (slot === null) throw noPoint(input.id);
  const vector = used.value(slot);
  if (vector !== null) return { vector, slot };
  const name = used.name === '' ? 'vector' : `vector named '${used.name}'`;
  throw new FailureError({ kind: 'not-found', message: `The point with id ${input.id} has no ${name}.` });
}
