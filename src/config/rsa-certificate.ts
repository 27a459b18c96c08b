import { createPrivateKey, X509Certificate } from 'node:crypto';

/**
 * PEM of an X.509 certificate with an RSA key, which is the only kind that signs SAML here; null when it is none. `text`
 * is PEM, or base64 of DER as metadata of SAML has it.
 */
export function rsaCertificate(text: string): string | null {
  const isPem = text.includes('-----BEGIN');
  try {
    const certificate = new X509Certificate(isPem ? text : Buffer.from(text.replace(/\s+/g, ''), 'base64'));
    return certificate.publicKey.asymmetricKeyType === 'rsa' ? certificate.toString() : null;
  } catch {
    return null;
  }
}

/** PEM (PKCS #8) of an RSA private key without a passphrase; null when `text` is none. */
export function rsaPrivateKey(text: string): string | null {
  try {
    const key = createPrivateKey(text);
    return key.asymmetricKeyType === 'rsa' ? key.export({ type: 'pkcs8', format: 'pem' }).toString() : null;
  } catch {
    return null;
  }
}
