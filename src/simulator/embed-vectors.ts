import { seededRandom } from '../kernel/random.ts';
import type { FaultSpec } from './faults/fault-spec.ts';
import type { Prompt } from './prompt.ts';

/** One vector of an answer, whatever the dialect calls it. */
export interface SimulatedVector {
  /** Index of the input. */
  index: number;
  /** An array, or the little-endian float32 bytes in base64 where the prompt wants those. */
  json: string;
}

const simulatedDimensions = 1_024;
/** Above every provider's, and small enough to be made for 2,048 texts without harm. */
export const dimensionsMax = 16_384;

/** One for each of the prompt's `items`, with the faults that the spec asks for. */
export function vectorsOf(prompt: Prompt, spec: FaultSpec): SimulatedVector[] {
  const { items = [] } = prompt;
  const dimensions = spec['vector-size'] ?? prompt.dimensions ?? simulatedDimensions;
  const count = spec.vectors ?? items.length;
  const jsonOf = prompt.encoding === 'base64' ? base64Json : arrayJson;
  const made: SimulatedVector[] = [];
  for (let at = 0; at < count; at += 1) {
    const isLast = at === count - 1;
    const numbers = unitVector(items[at] ?? '', dimensions);
    if (isLast && spec.ragged) numbers.pop();
    const index = spec['same-index'] ? 0 : at;
    const literal = isLast ? spec.nan : undefined;
    made.push({ index, json: jsonOf(numbers, literal) });
  }
  return spec.shuffle ? made.reverse() : made;
}

/**
 * A direction made of the text alone: equal texts get equal vectors, others ones that have nothing to do with each
 * other. Fewer dimensions are the first of more, of length 1 again. Seven decimals, as real servers write them.
 */
export function unitVector(text: string, dimensions: number): number[] {
  // Two rows of chance: 32 bits alone would give one of a hundred thousand texts the vector of another.
  const first = seededRandom(hashOf(text, 0x811c9dc5));
  const second = seededRandom(hashOf(text, 0x9dc5811c));
  const numbers: number[] = [];
  let squares = 0;
  for (let at = 0; at < dimensions; at += 1) {
    const number = first.next() + second.next() - 1;
    squares += number * number;
    numbers.push(number);
  }
  const length = Math.sqrt(squares) || 1;
  return numbers.map((number) => Math.round((number / length) * 1e7) / 1e7);
}

/** FNV-1a over UTF-16 code units. */
function hashOf(text: string, start: number): number {
  let hash = start;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** `literal` replaces the first number, unquoted, as Python's json writes NaN. */
function arrayJson(numbers: readonly number[], literal: string | undefined): string {
  if (literal === undefined) return `[${numbers.join(',')}]`;
  return `[${[literal, ...numbers.slice(1)].join(',')}]`;
}

function base64Json(numbers: readonly number[], literal: string | undefined): string {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [at, number] of numbers.entries()) bytes.writeFloatLE(number, at * 4);
  if (literal !== undefined && numbers.length > 0) bytes.writeFloatLE(Number.NaN, 0);
  return `"${bytes.toString('base64')}"`;
}
