import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import type { TokenIssuerConfig } from '../src/config/schema/schema-callers.ts';

export interface TokenIssuer {
  issuer: string;
  /** Paths that were asked for. */
  asked: string[];
  /** Decides on the answer: its keys, an error, nothing at all, or this text in place of its keys. */
  state: { up: boolean; hangs: boolean; text: string | null; keys: JWK[] };
  /** A token that ends in an hour, by its first key. A claim that is null is left out. */
  sign(claims: Record<string, unknown>, options?: { kid?: string | null }): Promise<string>;
  close(): Promise<void>;
}

/** Signs tokens, and serves its discovery document and its public keys on a free port. */
export async function startTokenIssuer(
  audience: string,
  alg: TokenIssuerConfig['algorithms'][number] = 'ES256',
): Promise<TokenIssuer> {
  const asked: string[] = [];
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const state: TokenIssuer['state'] = {
    up: true,
    hangs: false,
    text: null,
    keys: [{ ...(await exportJWK(publicKey)), kid: 'key-0', alg, use: 'sig' }],
  };
  const server = createServer((request, response) => {
    asked.push(request.url!);
    if (state.hangs) return;
    const isDocument = request.url === '/.well-known/openid-configuration';
    const body = isDocument ? { issuer, jwks_uri: `${issuer}/keys` } : { keys: state.keys };
    const text = isDocument ? null : state.text;
    response.writeHead(state.up ? 200 : 503, { 'content-type': 'application/json' }).end(text ?? JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    asked,
    state,
    async sign(claims, { kid = 'key-0' } = {}) {
      const nowS = Math.floor(Date.now() / 1_000);
      const all = { iss: issuer, aud: audience, sub: 'ada', iat: nowS, exp: nowS + 3_600, ...claims };
      const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) as JWTPayload;
      return new SignJWT(payload).setProtectedHeader({ alg, ...(kid !== null && { kid }) }).sign(privateKey);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
