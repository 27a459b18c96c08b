import { type CollectionSpec, type VectorSpec, vectorNamesOf, vectorSpecOf } from './collection.ts';
import { refuse } from './filter/refuse.ts';
import { isMulti, isSparse, type VectorBatch, type VectorValue } from './point.ts';

/** Throws a FailureError (400) where the vector is not what the collection has under that name. */
export function checkForm(spec: VectorSpec, value: VectorValue, at: string): void {
  const found = isSparse(value) ? 'sparse' : isMulti(value) ? 'multi' : 'dense';
  if (found !== spec.kind) refuse(at, `expected a ${spec.kind} vector, got a ${found} one`);
  if (spec.kind === 'sparse' || isSparse(value)) return;
  const [numbers, rows] = isMulti(value) ? [value.numbers, value.rows] : [value, 1];
  if (numbers.length !== rows * spec.size) refuse(at, `expected ${spec.size} numbers, got ${numbers.length / rows}`);
}

/** The same for all vectors of a write: a collection that was made again since the call was read may be another. */
export function checkBatch(spec: CollectionSpec, { ids, vectors, without, named = [] }: VectorBatch): void {
  const none = vectors.length === 0 && (spec.size === 0 || without?.size === ids.length);
  if (!none && (spec.size === 0 || vectors.length !== ids.length * spec.size)) {
    refuse('points', `expected ${spec.size} numbers a vector, got ${vectors.length / ids.length}`);
  }
  for (const { name, values } of named) {
    const known = vectorOf(spec, name, 'points');
    for (const [i, value] of values.entries()) {
      if (value !== null) checkForm(known, value, `points[${i}].vector.${name}`);
    }
  }
}

/** The spec of the vector of that name. Throws a FailureError (400) that names those that the collection has. */
export function vectorOf(spec: CollectionSpec, name: string, at: string): VectorSpec {
  const found = vectorSpecOf(spec, name);
  if (found !== null) return found;
  const names = vectorNamesOf(spec).map((one) => (one === '' ? 'an unnamed one' : `'${one.slice(0, 64)}'`));
  const what = name === '' ? 'no unnamed vector' : `no vector named '${name.slice(0, 64)}'`;
  const has = names.length === 0 ? 'none at all' : names.join(', ');
  return refuse(at, `the collection '${spec.name}' has ${what}; it has ${has}`);
}

/** A single vector is a multivector of one row. */
export function formed(spec: VectorSpec, value: VectorValue, at: string): VectorValue {
  const single = spec.kind === 'multi' && !isMulti(value) && !isSparse(value);
  const normalized = single ? { rows: 1, numbers: value } : value;
  checkForm(spec, normalized, at);
  return normalized;
}
