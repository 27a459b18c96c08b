/*
 * A proof that an answer's vendor wants back with the next turn (Gemini's thought signatures, Responses' encrypted
 * reasoning, the thoughts themselves where the caller asked not to see them) travels through Messages callers as the
 * signature or data of a thinking block. It says whose it is, so that it goes back there alone: Anthropic refuses
 * signatures that are not its own.
 */

const prefix = 'culvert.';
const sealedPattern = /^culvert\.([a-z][a-z-]{0,31})\.([\w-]*)$/;

/** Vendor of `sealed` text that is a thought itself, not a proof over one. */
export const thoughtItself = 'thought';

export interface Sealed {
  /** Id of the dialect it goes back to, or `thoughtItself`. */
  vendor: string;
  payload: string;
}

/** ASCII letters, digits, `.`, `_` and `-` only. */
export function seal({ vendor, payload }: Sealed): string {
  return `${prefix}${vendor}.${Buffer.from(payload, 'utf8').toString('base64url')}`;
}

/** Null for a text that this gateway did not seal, such as Anthropic's. */
export function unseal(text: string): Sealed | null {
  if (!text.startsWith(prefix)) return null;
  const match = sealedPattern.exec(text);
  if (match === null) return null;
  const [, vendor = '', payload = ''] = match;
  return { vendor, payload: Buffer.from(payload, 'base64url').toString('utf8') };
}

/*
 * Gemini proves a thought on the call that it led to, and refuses the next turn without. A `tool_use` block has no
 * member for that, and clients keep its id whatever it is: so the proof travels in the id, in the characters that
 * Anthropic takes there.
 */

const mark = '__cv_';
const marked = /__cv_([a-z][a-z-]{0,31})_(?=[\w-])/;
/** Above this an id is no longer what clients expect one to be; Gemini's proofs are some KB at most. */
const proofCharsMax = 32_768;

/** The id for the caller: `id`, with `proof` behind it where there is one that fits. */
export function withProof(id: string, proof: Sealed | null): string {
  if (proof === null || proof.payload.length > proofCharsMax) return id;
  return `${id}${mark}${proof.vendor}_${Buffer.from(proof.payload, 'utf8').toString('base64url')}`;
}

/** The input of `withProof`. */
export function withoutProof(id: string): { id: string; proof: Sealed | null } {
  // One pattern over all of it takes quadratic time where a caller repeats the mark.
  const tail = id.includes(mark) ? (id.split(/[^\w-]/).at(-1) ?? '') : '';
  const match = marked.exec(tail);
  if (match === null) return { id, proof: null };
  const [{ length }, vendor = ''] = match;
  const payload = Buffer.from(tail.slice(match.index + length), 'base64url').toString('utf8');
  return { id: id.slice(0, id.length - tail.length + match.index), proof: { vendor, payload } };
}
