import type { JsonValue } from '../../kernel/json.ts';
import type { VectorSpec } from '../collection.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import type { MultiVector, SparseVector, VectorValue } from '../point.ts';
import { shown } from './read-scalars.ts';

/** Numbers of one vector that are not 0. */
const sparseNumbersMax = 65_536;
/** Qdrant's bound. */
const multiNumbersMax = 1_048_576;
const indexMax = 2 ** 32 - 1;

/** Numbers beyond 32-bit floats are refused: they would be infinite, and so would every score. */
export function copyNumbers(numbers: readonly JsonValue[], into: Float32Array, at: string): void {
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i];
    if (typeof number !== 'number') refuse(`${at}[${i}]`, `expected a number, got ${kindOf(number)}`);
    into[i] = number;
    if (!Number.isFinite(into[i])) {
      refuse(`${at}[${i}]`, `expected a number within ±3.4e38 (32-bit floats), got ${shown(number)}`);
    }
  }
}

/** `{indices, values}`, in any order. */
export function readSparseVector(value: JsonValue | undefined, at: string): SparseVector {
  if (Array.isArray(value)) refuse(at, 'expected a sparse vector, {"indices", "values"}, got an array');
  const { indices, values } = readObject(value, at, ['indices', 'values']);
  if (!Array.isArray(indices)) refuse(`${at}.indices`, `expected an array, got ${kindOf(indices)}`);
  if (!Array.isArray(values)) refuse(`${at}.values`, `expected an array, got ${kindOf(values)}`);
  if (indices.length !== values.length) {
    refuse(`${at}.values`, `expected ${indices.length} numbers, one for each index, got ${values.length}`);
  }
  if (indices.length > sparseNumbersMax) {
    refuse(`${at}.indices`, `at most ${sparseNumbersMax} numbers, got ${indices.length}`);
  }
  const read: SparseVector = { indices: new Uint32Array(indices.length), values: new Float32Array(indices.length) };
  let ascends = true;
  for (const [i, index] of indices.entries()) {
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index > indexMax) {
      refuse(`${at}.indices[${i}]`, `expected a whole number from 0 to ${indexMax}, got ${shown(index)}`);
    }
    read.indices[i] = index;
    ascends &&= i === 0 || index > read.indices[i - 1]!;
  }
  copyNumbers(values, read.values, `${at}.values`);
  return ascends ? read : inOrder(read, at);
}

function inOrder({ indices, values }: SparseVector, at: string): SparseVector {
  const pairs = Array.from(indices, (index, i) => ({ index, value: values[i] ?? 0 })).sort((a, b) => a.index - b.index);
  const ordered = {
    indices: Uint32Array.from(pairs, ({ index }) => index),
    values: Float32Array.from(pairs, ({ value }) => value),
  };
  const twice = ordered.indices.findIndex((index, i) => i > 0 && index === ordered.indices[i - 1]);
  if (twice >= 0) refuse(`${at}.indices`, `the list has the index ${ordered.indices[twice]} twice`);
  return ordered;
}

/** An array of vectors of `size` numbers each, or one such vector. */
export function readMultiVector(value: JsonValue | undefined, at: string, size: number): MultiVector {
  if (!Array.isArray(value)) refuse(at, `expected an array of vectors of ${size} numbers, got ${kindOf(value)}`);
  const rows = value.length > 0 && !Array.isArray(value[0]) ? [value] : value;
  if (rows.length === 0) refuse(at, 'a multivector needs at least one vector');
  if (rows.length * size > multiNumbersMax) {
    refuse(at, `a multivector has at most ${multiNumbersMax} numbers, this one has ${rows.length * size}`);
  }
  const numbers = new Float32Array(rows.length * size);
  for (const [i, row] of rows.entries()) {
    const place = rows === value ? `${at}[${i}]` : at;
    if (!Array.isArray(row)) refuse(place, `expected an array of ${size} numbers, got ${kindOf(row)}`);
    if (row.length !== size) refuse(place, `expected ${size} numbers, got ${row.length}`);
    copyNumbers(row, numbers.subarray(i * size, (i + 1) * size), place);
  }
  return { rows: rows.length, numbers };
}

/** A vector of any form, copied. Throws a FailureError (400). */
export function readVectorForm(spec: VectorSpec, value: JsonValue | undefined, at: string): VectorValue {
  if (spec.kind === 'sparse') return readSparseVector(value, at);
  if (spec.kind === 'multi') return readMultiVector(value, at, spec.size);
  if (!Array.isArray(value)) refuse(at, `expected an array of ${spec.size} numbers, got ${kindOf(value)}`);
  if (value.length !== spec.size) refuse(at, `expected ${spec.size} numbers, got ${value.length}`);
  const numbers = new Float32Array(spec.size);
  copyNumbers(value, numbers, at);
  return numbers;
}
