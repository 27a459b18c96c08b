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

/** Null for what this gateway did not seal, such as Anthropic's own. */
export function unseal(text: string): Sealed | null {
  if (!text.startsWith(prefix)) return null;
  const match = sealedPattern.exec(text);
  return match === null ? null : { vendor: match[1]!, payload: Buffer.from(match[2]!, 'base64url').toString('utf8') };
}
