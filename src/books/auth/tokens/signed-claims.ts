import { KeyObject, verify } from 'node:crypto';
import {
  type CryptoKey,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  UnsecuredJWT,
} from 'jose';
import type { IssuerKeys } from './issuer-keys.ts';

/** Keys of an issuer without ids, each of which may have signed a token. */
const keysTriedMax = 10;
const rsaBitsMin = 2_048;

interface Way {
  hash: string | null;
  /** ECDSA: bytes of each of the signature's two numbers (RFC 7518 §3.4). */
  numberBytes?: number;
}

/**
 * Signatures that are verified on this thread. jose gives each to the thread pool, which costs 130 to 220 µs of the
 * processor, of which the signature takes 20 to 65 (decision 0057).
 */
const ways: Readonly<Record<string, Way>> = {
  RS256: { hash: 'sha256' },
  RS384: { hash: 'sha384' },
  RS512: { hash: 'sha512' },
  ES256: { hash: 'sha256', numberBytes: 32 },
  ES384: { hash: 'sha384', numberBytes: 48 },
  ES512: { hash: 'sha512', numberBytes: 66 },
  EdDSA: { hash: null },
};
const unsecuredHeader = Buffer.from('{"alg":"none"}').toString('base64url');

const keyObjects = new WeakMap<CryptoKey, KeyObject>();

/** The claims of a token that one of these keys has signed. Throws jose's errors, and what `keys` throws. */
export async function signedClaims(
  token: string,
  keys: IssuerKeys,
  options: JWTVerifyOptions & { algorithms: string[] },
): Promise<JWTPayload> {
  const { alg = '', ...header } = decodeProtectedHeader(token);
  const way = Object.hasOwn(ways, alg) ? ways[alg] : undefined;
  if (way === undefined || 'crit' in header || 'b64' in header) {
    const check = async (key: CryptoKey | IssuerKeys) => (await jwtVerify(token, key, options)).payload;
    return check(keys).catch(byAnyKey(check));
  }
  if (!options.algorithms.includes(alg)) throw new errors.JOSEAlgNotAllowed('alg');
  const [head = '', payload = '', signature = ''] = token.split('.');
  const check = async (key: CryptoKey) => {
    if (!isSigned(`${head}.${payload}`, signature, key, way)) throw new errors.JWSSignatureVerificationFailed();
    // The signature is right, so what is left to check are the claims.
    return UnsecuredJWT.decode(`${unsecuredHeader}.${payload}.`, options).payload;
  };
  return keys({ ...header, alg })
    .then(check)
    .catch(byAnyKey(check));
}

/** Takes the error that lists several keys, and gives the claims by the first of them that has signed. */
function byAnyKey(check: (key: CryptoKey) => Promise<JWTPayload>): (error: unknown) => Promise<JWTPayload> {
  return async (error) => {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (tried++ === keysTriedMax) break;
      try {
        return await check(key);
      } catch (failed) {
        if (!(failed instanceof errors.JWSSignatureVerificationFailed)) throw failed;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  };
}

function isSigned(signed: string, signature: string, key: CryptoKey, way: Way): boolean {
  let object = keyObjects.get(key);
  if (object === undefined) {
    object = KeyObject.from(key);
    keyObjects.set(key, object);
  }
  const { modulusLength = rsaBitsMin } = object.asymmetricKeyDetails ?? {};
  if (modulusLength < rsaBitsMin) return false;
  const bytes = Buffer.from(signature, 'base64url');
  const sent = way.numberBytes === undefined ? bytes : inDer(bytes, way.numberBytes);
  return sent !== null && verify(way.hash, Buffer.from(signed, 'latin1'), object, sent);
}

/**
 * An ECDSA signature of a token as DER has it (SEC 1, C.8); null: it has another length. Node converts it too, by
 * `dsaEncoding`, which takes 27 µs more.
 */
function inDer(signature: Buffer, numberBytes: number): Buffer | null {
  if (signature.length !== 2 * numberBytes) return null;
  const numbers = [integerInDer(signature.subarray(0, numberBytes)), integerInDer(signature.subarray(numberBytes))];
  const length = numbers.reduce((sum, { length: bytes }) => sum + bytes, 0);
  // Numbers of ES512 make it longer than the short form of a length can say.
  return Buffer.concat([Buffer.from(length < 0x80 ? [0x30, length] : [0x30, 0x81, length]), ...numbers]);
}

/** A number of at most 66 bytes without zeros before it, and with one where its first bit would make it negative. */
function integerInDer(number: Buffer): Buffer {
  let from = 0;
  while (from < number.length - 1 && number[from] === 0) from++;
  const sign = (number[from] ?? 0) >= 0x80 ? [0] : [];
  return Buffer.concat([Buffer.from([0x02, number.length - from + sign.length, ...sign]), number.subarray(from)]);
}
