import { checkForm } from '../check-vector.ts';
import type { VectorSpec } from '../collection.ts';
import { isMulti, isSparse, type SparseVector, type VectorValue } from '../point.ts';
import { DamagedRows } from './storage-trouble.ts';

/**
 * A vector as its row holds it: f32 one after another; of sparse ones all indices (u32) and then all values. Little-endian,
 * as every machine that runs this is.
 */
export function encodeVector(value: VectorValue): Uint8Array {
  if (isMulti(value)) return bytesOf(value.numbers);
  if (!isSparse(value)) return bytesOf(value);
  const bytes = new Uint8Array(value.indices.length * 8);
  bytes.set(bytesOf(value.indices));
  bytes.set(bytesOf(value.values), value.indices.byteLength);
  return bytes;
}

/** The input of `encodeVector`; views of `bytes` if possible. Throws `DamagedRows` for bytes that it never made. */
export function decodeVector(spec: VectorSpec, bytes: Uint8Array): VectorValue {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const { buffer, byteOffset, length } = aligned;
  switch (spec.kind) {
    case 'dense':
      if (length !== spec.size * 4) throw new DamagedRows('a vector');
      return new Float32Array(buffer, byteOffset, spec.size);
    case 'multi':
      if (length === 0 || length % (spec.size * 4) !== 0) throw new DamagedRows('a vector');
      return { rows: length / (spec.size * 4), numbers: new Float32Array(buffer, byteOffset, length / 4) };
    case 'sparse':
      if (length % 8 !== 0) throw new DamagedRows('a vector');
      return {
        indices: new Uint32Array(buffer, byteOffset, length / 8),
        values: new Float32Array(buffer, byteOffset + length / 2, length / 8),
      };
  }
}

/** The vector as it is stored: of length 1 if its distance is Cosine. Throws a FailureError (400) for another form. */
export function storable(spec: VectorSpec, value: VectorValue, at: string): VectorValue {
  checkForm(spec, value, at);
  if (spec.kind === 'sparse' || spec.distance !== 'Cosine') return value;
  if (isMulti(value)) return { rows: value.rows, numbers: normalised(value.numbers, spec.size) };
  return normalised(value as Float32Array, spec.size);
}

/** Qdrant's tolerance: a vector of length 0, or 1 already, stays unchanged. */
const lengthTolerance = 1e-6;

/** Rows scaled to length 1, in new memory. */
export function normalised(vectors: Float32Array, size: number): Float32Array {
  const scaled = new Float32Array(vectors);
  for (let start = 0; start < scaled.length; start += size) {
    let squares = 0;
    for (let i = start; i < start + size; i++) squares += scaled[i]! * scaled[i]!;
    if (squares < 2 ** -23 || Math.abs(squares - 1) <= lengthTolerance) continue;
    const factor = 1 / Math.sqrt(squares);
    for (let i = start; i < start + size; i++) scaled[i] = scaled[i]! * factor;
  }
  return scaled;
}

/** Bytes of a row's vector, for the account's storage. */
export function vectorBytes(value: VectorValue): number {
  if (isSparse(value)) return (value as SparseVector).indices.length * 8;
  return isMulti(value) ? value.numbers.byteLength : value.byteLength;
}

function bytesOf(numbers: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
