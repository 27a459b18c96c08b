import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { secretBytesMin } from './seal.ts';

/** Signs what goes out and comes back, so that nobody else can make or change it. */
export interface Signer {
  /** 43 characters of base64url. */
  sign(text: string): string;
  /** In constant time, whatever is presented. */
  isSigned(text: string, signature: string): boolean;
}

const keyBytes = 32;
const signatureChars = 43;

/**
 * HMAC-SHA-256 under keys derived from `secrets` for one purpose: a signature for one purpose is worth nothing for
 * another. The first secret signs; the signatures of each are valid. Throws for a short secret.
 */
export function createSigner(secrets: readonly string[], purpose: string): Signer {
  const [current, ...earlier] = secrets.map((secret) => signerUnder(secret, purpose));
  if (current === undefined) throw new Error('the secret to sign with is missing');
  if (earlier.length === 0) return current;
  return {
    sign: current.sign,
    isSigned: (text, signature) => [current, ...earlier].some((signer) => signer.isSigned(text, signature)),
  };
}

function signerUnder(secret: string, purpose: string): Signer {
  if (Buffer.byteLength(secret) < secretBytesMin) {
    throw new Error(`the secret to sign with is too short; it needs at least ${secretBytesMin} bytes`);
  }
  const key = createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', `culvert ${purpose}`, keyBytes)));
  const digest = (text: string) => createHmac('sha256', key).update(text).digest();
  return {
    sign: (text) => digest(text).toString('base64url'),
    isSigned(text, signature) {
      const right = digest(text);
      const presented = Buffer.from(signature, 'base64url');
      return presented.length === right.length && timingSafeEqual(presented, right);
    },
  };
}

/** A text with its signature behind it. `bind` makes what is signed: the text, and who may use it. */
export function withSignature(signer: Signer, text: string, bind: (text: string) => string): string {
  return `${text}.${signer.sign(bind(text))}`;
}

/** The text before such a signature; null: it has none. */
export function withoutSignature(signer: Signer, signed: string, bind: (text: string) => string): string | null {
  const text = signed.slice(0, -signatureChars - 1);
  const signature = signed.slice(-signatureChars);
  return signed === `${text}.${signature}` && signer.isSigned(bind(text), signature) ? text : null;
}
