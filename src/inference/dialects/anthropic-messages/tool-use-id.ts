import type { Sealed } from './seal.ts';

/*
 * Gemini proves a thought on the call that it led to, and refuses the next turn without. A `tool_use` block has no
 * member for that, and clients keep its id whatever it is: so the proof travels in the id, in the characters that
 * Anthropic takes there.
 */

const mark = '__cv_';
const pattern = /^(.*?)__cv_([a-z][a-z-]{0,31})_([\w-]+)$/s;
/** Above this an id is no longer what clients expect one to be; Gemini's proofs are some KB at most. */
const proofCharsMax = 32_768;

/** The id for the caller: `id`, with `proof` behind it where there is one that fits. */
export function withProof(id: string, proof: Sealed | null): string {
  if (proof === null || proof.payload.length > proofCharsMax) return id;
  return `${id}${mark}${proof.vendor}_${Buffer.from(proof.payload, 'utf8').toString('base64url')}`;
}

/** What `withProof` was given. */
export function withoutProof(id: string): { id: string; proof: Sealed | null } {
  const match = id.includes(mark) ? pattern.exec(id) : null;
  if (match === null) return { id, proof: null };
  return {
    id: match[1]!,
    proof: { vendor: match[2]!, payload: Buffer.from(match[3]!, 'base64url').toString('utf8') },
  };
}
