import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomFillSync } from 'node:crypto';

/** Below this a secret could be guessed: code that signs or encrypts with one refuses to begin (faults.md S9). */
export const secretBytesMin = 32;

/** Encrypts what a store keeps, so that a copy of the database alone tells nothing. */
export interface Sealer {
  /** `context` says where the sealed bytes belong, and must be given again to open them: rows cannot be swapped. */
  seal(plain: Uint8Array, context: string): Buffer;
  /** Null when they were sealed with another secret or context, or were changed. */
  open(sealed: Uint8Array, context: string): Buffer | null;
}

/** First byte of everything sealed: AES-256-GCM, nonce of 12 bytes, tag of 16 at the end. */
const form = 1;
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/**
 * AES-256-GCM under keys derived from `secrets` for one purpose, such as `replies`: a text sealed for one purpose opens
 * for no other. The first secret seals, and each of them opens. Nonces are random, which is safe up to 2^32 sealings a
 * purpose. Throws for a short secret.
 */
export function createSealer(secrets: readonly string[], purpose: string): Sealer {
  const [current, ...earlier] = secrets.map((secret) => sealerUnder(secret, purpose));
  if (current === undefined) throw new Error('the secret to seal with is missing');
  if (earlier.length === 0) return current;
  return {
    seal: current.seal,
    open(sealed, context) {
      for (const sealer of [current, ...earlier]) {
        const plain = sealer.open(sealed, context);
        if (plain !== null) return plain;
      }
      return null;
    },
  };
}

function sealerUnder(secret: string, purpose: string): Sealer {
  checkSecret(secret);
  // Of plain bytes Node makes such a key at every call, for more than all else here costs.
  const key = createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', `culvert ${purpose}`, keyBytes)));
  return {
    seal(plain, context) {
      const head = Buffer.alloc(1 + nonceBytes);
      head[0] = form;
      const nonce = nextNonce();
      nonce.copy(head, 1);
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      cipher.setAAD(Buffer.from(context));
      return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, context) {
      if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== form) return null;
      const nonce = sealed.subarray(1, 1 + nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
      try {
        const plain = decipher.update(sealed.subarray(1 + nonceBytes, sealed.length - tagBytes));
        return Buffer.concat([plain, decipher.final()]);
      } catch {
        return null;
      }
    },
  };
}

/** Random bytes, taken from the system for many nonces at a time: each call costs more than the bytes. */
const nonces = Buffer.alloc(nonceBytes * 256);
let noncesUsed = nonces.length;

/** Valid until the next call. */
function nextNonce(): Buffer {
  if (noncesUsed === nonces.length) {
    randomFillSync(nonces);
    noncesUsed = 0;
  }
  noncesUsed += nonceBytes;
  return nonces.subarray(noncesUsed - nonceBytes, noncesUsed);
}

/** Throws for a secret that is empty or shorter than `secretBytesMin`. */
function checkSecret(secret: string | Uint8Array): void {
  const bytes = typeof secret === 'string' ? Buffer.byteLength(secret) : secret.length;
  if (bytes < secretBytesMin)
    throw new Error(`a secret of ${bytes} bytes is too short; it needs at least ${secretBytesMin}`);
}
