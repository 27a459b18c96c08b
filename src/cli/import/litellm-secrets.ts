import { createDecipheriv, hash } from 'node:crypto';

const gcmPrefix = 'v2:gcm:';
const gcmNonceBytes = 12;
const gcmTagBytes = 16;
/** NaCl's secret box: a nonce, then Poly1305's tag, then what it seals. */
const boxNonceBytes = 24;
const boxBytesMin = boxNonceBytes + 16;

/**
 * Decrypts values of LiteLLM's database: NaCl's secret box, or AES-256-GCM behind `v2:gcm:`, in both cases under the
 * SHA-256 of `saltKey`. A text that is no ciphertext comes back as it is, as LiteLLM takes it; null: it is one, and
 * this key does not open it.
 */
export async function openLiteLlmSecrets(saltKey: string | null): Promise<(value: string) => string | null> {
  const key = saltKey === null ? null : hash('sha256', saltKey, 'buffer');
  const { xsalsa20poly1305 } = await import('@noble/ciphers/salsa.js');
  return (value) => {
    if (!looksSealed(value)) return value;
    if (key === null) return null;
    try {
      if (value.startsWith(gcmPrefix)) return openGcm(Buffer.from(value.slice(gcmPrefix.length), 'base64url'), key);
      const bytes = Buffer.from(value, 'base64url');
      const opened = xsalsa20poly1305(key, bytes.subarray(0, boxNonceBytes)).decrypt(bytes.subarray(boxNonceBytes));
      return Buffer.from(opened).toString('utf8');
    } catch {
      return null;
    }
  };
}

/** Names of models and addresses are no base64 of such a length: they hold slashes, dots or colons. */
function looksSealed(value: string): boolean {
  if (value.startsWith(gcmPrefix)) return true;
  if (!/^[A-Za-z0-9_+/-]+={0,2}$/.test(value) || value.length % 4 !== 0) return false;
  return Buffer.from(value, 'base64url').length >= boxBytesMin;
}

function openGcm(bytes: Buffer, key: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, gcmNonceBytes));
  decipher.setAuthTag(bytes.subarray(-gcmTagBytes));
  const text = decipher.update(bytes.subarray(gcmNonceBytes, -gcmTagBytes), undefined, 'utf8');
  return text + decipher.final('utf8');
}
