/** FNV-1a, 32 bit, over UTF-16 code units: quick and good enough to spread conversations over a few targets. */
export function hashText(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Of a conversation's beginning, how much is hashed: its first messages tell it apart well before that. */
const hashedCharsMax = 4_096;

/**
 * The number by which a conversation finds its target again: of the tenant and of the caller's session, or of the
 * conversation's first messages as text. Not secret, not unique.
 */
export function affinityOf(tenant: string, session: string): number {
  const start = session.length > hashedCharsMax ? session.slice(0, hashedCharsMax) : session;
  return hashText(start, hashText('\n', hashText(tenant)));
}

/**
 * One option's draw in the contest for a conversation (weighted rendezvous hashing): the highest wins, every option
 * wins as often as its weight says, and when one leaves or joins only its own conversations move.
 */
export function rendezvousScore(affinity: number, key: number, weight: number): number {
  // Murmur3's finalizer: FNV alone leaves neighbours alike.
  let mixed = affinity ^ Math.imul(key, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  const uniform = (((mixed ^ (mixed >>> 16)) >>> 0) + 1) / 4_294_967_298;
  return -weight / Math.log(uniform);
}
