import type { JsonValue } from '../../kernel/json.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import { reportedCount } from '../neutral/usage.ts';
import type { DecodedEmbeddings } from './format.ts';

/** No model makes longer ones; it bounds what one answer may make us keep. */
const sizeMax = 65_536;

/**
 * Vectors as upstreams write them, each an array of numbers or base64 of little-endian float32, as rows. `inputTokens`: the
 * upstream's count, if it is one. A Fault when there are not `count` vectors, all of one length, of finite numbers.
 */
export function readRows(
  vectors: readonly (JsonValue | undefined)[],
  count: number,
  inputTokens: JsonValue | undefined,
): DecodedEmbeddings | Fault {
  if (vectors.length !== count) return malformed(`answered ${vectors.length} vectors for ${count} inputs`);
  const first = vectors[0];
  const size = typeof first === 'string' ? Math.floor(base64Bytes(first) / 4) : Array.isArray(first) ? first.length : 0;
  if (size === 0 || size > sizeMax) return malformed('answered something other than vectors');
  const rows = new Float64Array(count * size);
  for (let i = 0; i < count; i++) {
    const vector = vectors[i];
    const wrong = typeof vector === 'string' ? fillBase64(rows, i, size, vector) : fillNumbers(rows, i, size, vector);
    if (wrong !== null) return malformed(wrong);
  }
  return { rows, size, inputTokens: reportedCount(inputTokens) };
}

function fillNumbers(rows: Float64Array, row: number, size: number, vector: JsonValue | undefined): string | null {
  if (!Array.isArray(vector)) return 'answered something other than vectors';
  if (vector.length !== size) return 'answered vectors of different lengths';
  const start = row * size;
  for (let i = 0; i < size; i++) {
    const number = vector[i];
    if (typeof number !== 'number' || !Number.isFinite(number)) return 'answered a vector that holds no number';
    rows[start + i] = number;
  }
  return null;
}

function fillBase64(rows: Float64Array, row: number, size: number, text: string): string | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== base64Bytes(text) || bytes.length % 4 !== 0) return 'answered base64 that cannot be read';
  if (bytes.length !== size * 4) return 'answered vectors of different lengths';
  const start = row * size;
  for (let i = 0; i < size; i++) {
    const number = bytes.readFloatLE(i * 4);
    if (!Number.isFinite(number)) return 'answered a vector that holds no number';
    rows[start + i] = number;
  }
  return null;
}

/** Length in bytes of a base64 text, if it is one. */
function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

export function malformed(message: string): Fault {
  return fault('malformed', message);
}
