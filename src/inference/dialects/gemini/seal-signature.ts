/*
 * Google's clients send `thoughtSignature` back where they found it, and take it for base64. Another vendor's proof goes
 * through them in its place, saying whose it is, and never reaches Google.
 */
const mark = 'culvert:';
/** How sealed text begins, whatever follows: eight characters are not a whole number of base64's groups of three. */
const markBase64 = Buffer.from(mark).toString('base64').slice(0, 10);

export interface Proof {
  vendor: string;
  signature: string;
}

export function sealSignature({ vendor, signature }: Proof): string {
  return Buffer.from(`${mark}${vendor}:${signature}`, 'utf8').toString('base64');
}

/** Null for what this gateway did not seal, such as Google's own. */
export function unsealSignature(text: string): Proof | null {
  if (!text.startsWith(markBase64)) return null;
  const match = /^culvert:([a-z-]{1,32}):(.*)$/s.exec(Buffer.from(text, 'base64').toString('utf8'));
  return match === null ? null : { vendor: match[1]!, signature: match[2]! };
}

/** Whether a body may hold sealed signatures: cheap enough for every request. */
export function mayHoldSealed(raw: Buffer): boolean {
  return raw.includes(markBase64);
}
