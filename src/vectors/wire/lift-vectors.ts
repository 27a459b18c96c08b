import { backslash, closeBrace, closeBracket, openBrace, openBracket, quote } from '../../kernel/json-marks.ts';
import { kernelBytes } from '../embedded/kernels/kernel-bytes.ts';
import { createLinearMemory, instantiate, type LinearMemory, pageBytes } from '../embedded/kernels/linear-memory.ts';

/** Places of vectors in a body: members of this name, in objects so deep (1: the outermost). */
export interface VectorMember {
  name: string;
  depth: 1 | 3;
}

/** A body without its vectors: `[0]` replaces the first of them, `[1]` the second, and so on. */
export interface LiftedBody {
  rest: Buffer;
  vectors: Float32Array[];
}

interface NumberKernel {
  /** See json.wat. */
  readNumbers(text: number, out: number, end: number, powers: number): number;
}

interface Loaded {
  kernel: NumberKernel;
  memory: LinearMemory;
}

/** Fewer numbers are read as fast with the rest of a body. */
const numbersMin = 64;
/** Bytes of one array; more than the longest vector has. */
const arrayBytesMax = 2 * 1024 * 1024;
/** A body has about one number in so many bytes, or fewer. */
const bytesPerNumber = 8;

/** Places in the memory of the kernel. */
const powersAt = 0;
const endAt = 336;
const textAt = 512;
/** Behind the text, where numbers must not go on. */
const gapBytes = 16;

/** Undefined: it was not asked for yet. Null: the machine cannot. */
let loaded: Loaded | null | undefined;

/**
 * Reads the vectors of a body that is probably JSON without making arrays of their numbers: in half of the time that
 * `JSON.parse` takes, and little is left to be collected. Null unless each is a plain array of numbers within 32-bit floats:
 * then the whole body is parsed, and says what is wrong. Strings and nesting outside of vectors are looked at just as far as
 * it takes to find them.
 */
export function liftVectors(bytes: Uint8Array, { name, depth }: VectorMember): LiftedBody | null {
  if (loaded === undefined) loaded = load();
  if (loaded === null) return null;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const parts: Buffer[] = [];
  const vectors: Float32Array[] = [];
  /** Memory of one piece for all vectors of a write. */
  let room = new Float32Array();
  let copied = 0;
  let open = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === openBrace || byte === openBracket) open += 1;
    else if (byte === closeBrace || byte === closeBracket) open -= 1;
    if (byte !== quote) continue;
    const key = at + 1;
    at = closingQuote(text, key);
    if (open !== depth || at - key !== name.length || text.toString('latin1', key, at) !== name) continue;
    const from = arrayBehind(text, at + 1);
    if (from === -1) continue;
    const read = readNumbers(loaded, text, from);
    if (read === null) return null;
    const { numbers, end } = read;
    if (numbers.length > room.length) {
      const others = depth === 1 ? 0 : (text.length - from) / bytesPerNumber;
      room = new Float32Array(Math.max(numbers.length, others));
    }
    room.set(numbers);
    parts.push(text.subarray(copied, from), Buffer.from(`${vectors.length}]`));
    vectors.push(room.subarray(0, numbers.length));
    room = room.subarray(numbers.length);
    copied = end;
    at = end - 1;
  }
  return vectors.length === 0 ? null : { rest: Buffer.concat([...parts, text.subarray(copied)]), vectors };
}

/** The array whose bracket is before `from`; a view, good until the next call. Null: it is not plain. */
function readNumbers(
  { kernel, memory }: Loaded,
  text: Buffer,
  from: number,
): { numbers: Float32Array; end: number } | null {
  const length = text.indexOf(closeBracket, from) + 1 - from;
  if (length <= 0 || length > arrayBytesMax) return null;
  // A number and its comma take two bytes, and four as a float.
  const outAt = Math.ceil((textAt + length + gapBytes) / gapBytes) * gapBytes;
  const pages = Math.ceil((outAt + length * 2) / pageBytes) - memory.buffer.byteLength / pageBytes;
  if (pages > 0) memory.grow(pages);
  const place = new Uint8Array(memory.buffer, textAt, outAt - textAt);
  place.set(text.subarray(from, from + length));
  place.fill(0, length, length + gapBytes);
  const count = kernel.readNumbers(textAt, outAt, endAt, powersAt);
  if (count < numbersMin) return null;
  const end = new Uint32Array(memory.buffer, endAt, 1)[0]! - textAt + from;
  return { numbers: new Float32Array(memory.buffer, outAt, count), end };
}

function load(): Loaded | null {
  try {
    const memory = createLinearMemory(Math.ceil((arrayBytesMax * 4) / pageBytes));
    const powers = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
    new Float64Array(memory.buffer, powersAt, 23).set(powers);
    const whole = powers.slice(0, 9).map(BigInt);
    // 64 bits hold 1.8e19.
    const most = whole.map((power) => (18n * 10n ** 18n) / power);
    new BigUint64Array(memory.buffer, powersAt + 184, 18).set([...whole, ...most]);
    return { kernel: instantiate(kernelBytes.json, memory) as NumberKernel, memory };
  } catch {
    return null;
  }
}

/** At the end of the text when there is none. */
function closingQuote(text: Buffer, from: number): number {
  let at = from;
  for (; at < text.length && text[at] !== quote; at += 1) if (text[at] === backslash) at += 1;
  return at;
}

/** Where the array begins that is the value of the key before `from`, behind its bracket; −1: it is something else. */
function arrayBehind(text: Buffer, from: number): number {
  let at = from;
  for (const byte of [0x3a, openBracket]) {
    while (text[at] === 0x20 || text[at] === 0x0a || text[at] === 0x0d || text[at] === 0x09) at += 1;
    if (text[at] !== byte) return -1;
    at += 1;
  }
  return at;
}
