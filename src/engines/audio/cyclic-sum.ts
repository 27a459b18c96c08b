const tables = new Map<number, Uint32Array>();

/** A cyclic redundancy sum, highest bit first, begun at 0. */
export function cyclicSum(bytes: Uint8Array, { polynomial, bits }: { polynomial: number; bits: 8 | 16 | 32 }): number {
  let table = tables.get(polynomial);
  if (table === undefined) {
    table = tableOf(polynomial, bits);
    tables.set(polynomial, table);
  }
  const mask = bits === 32 ? 0xffffffff : (1 << bits) - 1;
  let sum = 0;
  for (const byte of bytes) sum = ((sum << 8) ^ table[((sum >>> (bits - 8)) ^ byte) & 0xff]!) & mask;
  return sum >>> 0;
}

function tableOf(polynomial: number, bits: number): Uint32Array {
  const top = 2 ** (bits - 1);
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let sum = byte * 2 ** (bits - 8);
    for (let bit = 0; bit < 8; bit += 1) {
      const carries = sum >= top;
      sum = (sum * 2) % 2 ** bits;
      if (carries) sum = (sum ^ polynomial) >>> 0;
    }
    return sum;
  });
}
