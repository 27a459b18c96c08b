/** MurmurHash3 of 32 bits, seed 0: what BM25 models of Qdrant and FastEmbed number terms by. */
export function murmur3(bytes: Uint8Array): number {
  const words = bytes.length >>> 2;
  let hash = 0;
  for (let i = 0; i < words; i++) {
    const at = i * 4;
    const block = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    hash ^= mixed(block);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let i = bytes.length - 1; i >= words * 4; i--) tail = (tail << 8) | bytes[i]!;
  if ((bytes.length & 3) !== 0) hash ^= mixed(tail);
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mixed(block: number): number {
  const first = Math.imul(block, 0xcc9e2d51);
  return Math.imul((first << 15) | (first >>> 17), 0x1b873593);
}
