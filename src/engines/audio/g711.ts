/** ITU-T G.711, in which telephones speak: 8,000 samples a second, each a byte on a logarithmic scale. */
export type G711Law = 'pcmu' | 'pcma';

export const g711RateHz = 8_000;

/** Samples from -1 to 1. */
export function decodeG711(bytes: Uint8Array, law: G711Law): Float32Array {
  const { levels } = tables[law];
  return Float32Array.from(bytes, (code) => levels[code]! / 32_768);
}

/** Louder samples are clipped. */
export function encodeG711(samples: Float32Array, law: G711Law): Buffer {
  const { sorted, codes } = tables[law];
  const bytes = Buffer.allocUnsafe(samples.length);
  for (let at = 0; at < samples.length; at += 1) bytes[at] = codes[nearest(sorted, samples[at]! * 32_768)]!;
  return bytes;
}

const tables: Readonly<Record<G711Law, Table>> = { pcmu: tableOf(muLawLevel), pcma: tableOf(aLawLevel) };

interface Table {
  /** By code. */
  levels: Int16Array;
  /** Levels in rising order, and the code of each. */
  sorted: Int16Array;
  codes: Uint8Array;
}

function tableOf(levelOf: (code: number) => number): Table {
  const levels = Int16Array.from({ length: 256 }, (_, code) => levelOf(code));
  const codes = Uint8Array.from({ length: 256 }, (_, code) => code).sort((a, b) => levels[a]! - levels[b]!);
  return { levels, codes, sorted: Int16Array.from(codes, (code) => levels[code]!) };
}

/** All bits are sent inverted. */
function muLawLevel(code: number): number {
  const bits = ~code & 0xff;
  const level = (((bits & 15) * 8 + 132) << ((bits >> 4) & 7)) - 132;
  return bits & 128 ? -level : level;
}

/** Every other bit is sent inverted. */
function aLawLevel(code: number): number {
  const bits = code ^ 0x55;
  const segment = (bits >> 4) & 7;
  const level = (bits & 15) * 16 + (segment === 0 ? 8 : 264);
  return (bits & 128 ? 1 : -1) * (level << Math.max(0, segment - 1));
}

/** The place of the level that is nearest; of two equal ones the last. */
function nearest(sorted: Int16Array, value: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle]! <= value) low = middle;
    else high = middle - 1;
  }
  return low + 1 < sorted.length && sorted[low + 1]! - value < value - sorted[low]! ? low + 1 : low;
}
