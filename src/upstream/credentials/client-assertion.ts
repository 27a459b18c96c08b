import { constants, createHash, createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto';

const lifetimeS = 600;

/**
 * The token by which an application shows Entra ID that it has the private key of its certificate.
 * https://learn.microsoft.com/entra/identity-platform/certificate-credentials. `pem` holds both. Throws where it does not.
 */
export function clientAssertion(
  pem: string,
  { clientId, tokenUrl, nowMs }: { clientId: string; tokenUrl: string; nowMs: number },
): string {
  const { certificate, key } = readPem(pem);
  const nowS = Math.floor(nowMs / 1_000);
  const head = {
    alg: 'PS256',
    typ: 'JWT',
    'x5t#S256': createHash('sha256').update(certificate.raw).digest('base64url'),
  };
  const claims = { aud: tokenUrl, iss: clientId, sub: clientId, jti: randomUUID(), nbf: nowS, exp: nowS + lifetimeS };
  const signed = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  const signature = sign('sha256', Buffer.from(signed), { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  return `${signed}.${signature.toString('base64url')}`;
}

function readPem(pem: string) {
  try {
    return { certificate: new X509Certificate(pem), key: createPrivateKey(pem) };
  } catch {
    throw new Error('the certificate is no PEM file with a certificate and its private key');
  }
}
