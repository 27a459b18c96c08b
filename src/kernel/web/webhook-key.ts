import { secretBytesMin } from '../seal.ts';

const prefix = 'whsec_';
/** Rules of the Standard Webhooks specification for a `whsec_` secret, which is random by construction. */
const randomBytesMin = 24;

/**
 * The bytes that a webhook secret signs with: `whsec_` and base64 is decoded, as Standard Webhooks does; anything else
 * counts as its UTF-8 bytes. Null for one that is too short (faults.md S9) or not base64.
 */
export function webhookKey(secret: string): Buffer | null {
  if (!secret.startsWith(prefix)) {
    const bytes = Buffer.from(secret);
    return bytes.length < secretBytesMin ? null : bytes;
  }
  const text = secret.slice(prefix.length);
  const bytes = Buffer.from(text, 'base64');
  // Node skips characters that are not base64. A mangled secret must not sign with the rest of it.
  const whole = bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  return whole && bytes.length >= randomBytesMin ? bytes : null;
}
