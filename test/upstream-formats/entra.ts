import { constants, createHash, createPublicKey, verify, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Made for tests alone: good for nothing else. */
export const applicationKey = `-----BEGIN PRIVATE KEY-----
MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQChHfVzw6QCEawQ
1osujpZmybobLfl4JcVaMJ74abHq57uwnWzZvpmoE2892lJDIS/iDVT0Ds8AJJkB
6/uiRh/eJ+CGsYY8ymln7fdfTVmreQVN/cY/pb3zG8RaYGpwPRlRf1n95fMFbkuT
B3aqNvgM742luLhRGA+A6Oqo70+DF26KO8JOBn2qalsNFeGMJQ1S87hL06aK1cbr
0sNm+uWmfs77ESokp+Y0x757OtchGNUkUNY25uJ/qLdlZSWeeFdKkRqS5yMc4lJA
PhZRWBFLd1hsqpMmzQuTgqhBiFiIjoWlY77sj4LDcDLPZ3ocqY7MaJJD0u8NyVFX
hTmKzgWZAgMBAAECggEABsx6VpO7YID5Z05+Wg0XSKgbi9kRTWIepVMm6imfod98
epPyC3AxELgdOhlz3jRQznOskY3saz+gG0YnfK4D2z6IiXaFSRxrfUC77xAXCBbX
w/ZA/t+SF+ekjgHCjBDv+BHtLLse2axRUReACOe/6N/U9NjKIlXnFZP+jvlmPAxY
bvUHYniOaHKtfY66KNa0Ekbxh28TYDvFeIyX4EiJGiGJ0KOZd6r+LVxZAwxinFtv
mbtx+vztBeUpM+8ofSL5qYOGO+RLoADvKPHDhKr+jwQDh2YQaB3/fIgFB96nijRq
/UckyW9tUEfCzXbuXOvG6HvEXWO7VAf0EvQMglBKQQKBgQDQY4IUO1/KX+qT6sRk
sUQhwo0xpHH3z8LYvnkJv1ne0JzV9C9RC5JaGx14QbPzvGX86UXj5k3IY+mcItg/
NrI96JNij85xeyuOZ0xvOGuTrcpI5IRXCEH2mSxv07ChGi1coVlAA6bZHe+qKfrr
0/MGGqUGKWttZ+XnUbhH44zRKQKBgQDF7ZE97ONv2p8SatN7Iuj7ZStYkNTPVTAd
9Z4v4IVb7/ll01RA75IRLpVdj8+WKxHqxnKatE2/6pNEEvuS1ZxGyfmrSqZSuHr/
GlnjmP33HKyX/KOXbAhRg/C2bQnlupFe61AOMxVN5Coc3/PQt1H5MCacPfEi+MII
gnrWrqHu8QKBgQCnAgjfBBKqEyLhtvX8qOCsmcokreE0tMo4gLZqbHOvEcuP4OoG
7to04qREm4uH3EZ0YdPEaO+PmRtBKd/bEY/Z88oi5JOT+R2YPAtS24nDyjVjI9k4
EwMiifHGEYbuJheStDDeD88pFEfePVS+qZeMHdCB1rIk9W6Ya7Lf0mspuQKBgQCk
kWnxHjTg/NrEenQKbzVeSXkn84wuM7uFPYLgdgMMNVSdWIA2WbuOc7gXigpk5rzI
A2aowP/gcY8uy8XHCbsdlLP1u2TdZKxHzcYtmjiXrYzH9nSi411rQZP0amcPTvet
/2OZ2tl84Rgu1/qmcLZExcdko5AKruDOKIcwVxUnUQKBgCIbTIUR66iNvVMM2PX8
nAMo6o1TxXOMogcUrMFYogN0UmHxPxpmkALhyi//18TdzJjwaN//riCeBQiH7Jr4
pj3S97NW/W+eGBJLbAgFXvBk4+YRpy8jhyR7T97B+Oib/1eWd/slVFfbM1vmsGSZ
kl1qC2RxaYIsZA3VoX1mBr0l
-----END PRIVATE KEY-----
`;
/** Self-signed, good for 100 years. */
export const applicationCertificate = `-----BEGIN CERTIFICATE-----
MIIDETCCAfmgAwIBAgIUAsPCcQlj80dX2RfH8jwto5Hqs8gwDQYJKoZIhvcNAQEL
BQAwFzEVMBMGA1UEAwwMY3VsdmVydC10ZXN0MCAXDTI2MTEyMjA0MTMyNFoYDzIx
MjYxMDI5MDQxMzI0WjAXMRUwEwYDVQQDDAxjdWx2ZXJ0LXRlc3QwggEiMA0GCSqG
SIb3DQEBAQUAA4IBDwAwggEKAoIBAQChHfVzw6QCEawQ1osujpZmybobLfl4JcVa
MJ74abHq57uwnWzZvpmoE2892lJDIS/iDVT0Ds8AJJkB6/uiRh/eJ+CGsYY8ymln
7fdfTVmreQVN/cY/pb3zG8RaYGpwPRlRf1n95fMFbkuTB3aqNvgM742luLhRGA+A
6Oqo70+DF26KO8JOBn2qalsNFeGMJQ1S87hL06aK1cbr0sNm+uWmfs77ESokp+Y0
x757OtchGNUkUNY25uJ/qLdlZSWeeFdKkRqS5yMc4lJAPhZRWBFLd1hsqpMmzQuT
gqhBiFiIjoWlY77sj4LDcDLPZ3ocqY7MaJJD0u8NyVFXhTmKzgWZAgMBAAGjUzBR
MB0GA1UdDgQWBBRGZKWMTBpMY2zEGEMQ8E+uK6alWzAfBgNVHSMEGDAWgBRGZKWM
TBpMY2zEGEMQ8E+uK6alWzAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUA
A4IBAQAUhhWM9TuhBgRg18b0PAR+cTVP0RbsZBzqoPe/TLNwr3OfaUpDu5GO75v8
3jaqTVpBQOiDvjIQstUNoBVd1iSLMm0jHAbaUUYuqGjF7C6mtza9ypUU0mlncw4U
84b9zFZ+rAbdGu91UDvI+YwIxPCracKeLiGgQ2Kz0pKkRFsusW7B9FHlurwOKPjL
YJSO5dL9TvPTTMriB6dgN+zKaoe3P7XaKBHGCEihWOYNz5nZyc1XzJoWyuOCFxY4
feC49UFHe/ebEOwHaR1TCg+IL+Ybb25Fl15Mvg2JCNXbXIhwtqP48fKnmjLzzWU1
IWcIeIpC46lynp5/nHcKDICxXtI4
-----END CERTIFICATE-----
${applicationKey}`;

/** Microsoft's Entra ID and the metadata services of a machine and of an app, as their documentation has them. */
export interface Entra {
  url: string;
  /** Requests: `secret`, `certificate`, `federated`, `machine`, `app`; and the scope or resource. */
  asked(): readonly string[];
  /** Answers the machine as if it had no identity. */
  loseIdentity(): void;
  close(): void;
}

export const entraFacts = {
  tenant: 'tenant-1',
  client: 'client-1',
  secret: 'right-secret',
  federated: 'federated-token',
  header: 'app-header',
};

/** Tokens are `token 1`, `token 2`…, good for an hour. */
export async function startEntra(): Promise<Entra> {
  const asked: string[] = [];
  let identity: 'has one' | 'has none' = 'has one';
  const give = (how: string) => {
    asked.push(how);
    return { access_token: `token-${asked.length}`, token_type: 'Bearer' };
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://entra');
    const say = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname === `/${entraFacts.tenant}/oauth2/v2.0/token`) {
      const form = new URLSearchParams(await textOf(request));
      const how = proofIn(form, `${url}${pathname}`);
      if (how === null) return say(401, refusal);
      return say(200, { ...give(`${how} ${form.get('scope')}`), expires_in: 3_599 });
    }
    const resource = searchParams.get('resource');
    if (pathname === '/metadata/identity/oauth2/token') {
      if (request.headers.metadata !== 'true' || searchParams.get('api-version') !== '2018-02-01') return say(400, {});
      if (identity === 'has none') return say(400, noIdentity);
      return say(200, { ...give(`machine ${resource}`), expires_in: '86399', expires_on: String(epochS() + 86_399) });
    }
    if (pathname === '/msi/token' && request.headers['x-identity-header'] === entraFacts.header) {
      if (searchParams.get('api-version') !== '2019-08-01') return say(400, {});
      return say(200, { ...give(`app ${resource}`), expires_on: String(epochS() + 86_399) });
    }
    return say(404, {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked: () => asked,
    loseIdentity: () => {
      identity = 'has none';
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const refusal = {
  error: 'invalid_client',
  error_description:
    'AADSTS7000215: Invalid client secret provided. Trace ID: 1f5 Correlation ID: 2c6 Timestamp: 2026-11-20 12:00:00Z',
};
const noIdentity = { error: 'invalid_request', error_description: 'Identity not found' };

function epochS(): number {
  return Math.floor(Date.now() / 1_000);
}

/** How an application proved itself; null where it did not. */
function proofIn(form: URLSearchParams, tokenUrl: string): string | null {
  if (form.get('grant_type') !== 'client_credentials' || form.get('client_id') !== entraFacts.client) return null;
  if (form.get('client_secret') === entraFacts.secret) return 'secret';
  if (form.get('client_assertion_type') !== 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer') return null;
  const assertion = form.get('client_assertion') ?? '';
  if (assertion === entraFacts.federated) return 'federated';
  return isSigned(assertion, tokenUrl) ? 'certificate' : null;
}

function isSigned(assertion: string, tokenUrl: string): boolean {
  const [head, claims, signature] = assertion.split('.');
  if (head === undefined || claims === undefined || signature === undefined) return false;
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  const certificate = new X509Certificate(applicationCertificate);
  const thumbprint = createHash('sha256').update(certificate.raw).digest('base64url');
  const { aud, iss, sub, exp } = read(claims);
  return (
    read(head)['x5t#S256'] === thumbprint &&
    aud === tokenUrl &&
    iss === entraFacts.client &&
    sub === entraFacts.client &&
    Number(exp) > epochS() &&
    verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      {
        key: createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' })),
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: 32,
      },
      Buffer.from(signature, 'base64url'),
    )
  );
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}
