import { type CryptoKey, createLocalJWKSet, errors, type JWSHeaderParameters } from 'jose';
import type { TokenIssuerConfig } from '../../../config/schema/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { isObject } from '../../../kernel/json.ts';
import { boundedText } from '../../../kernel/web/bounded-text.ts';

const answerMaxMs = 5_000;
const documentBytesMax = 256 * 1024;
/** Keys are read again after this time. */
const freshMs = 10 * 60_000;
/** Keys that were read are used for so long while their issuer cannot be reached. */
const usedMs = 24 * 60 * 60_000;
/** While there are keys, the issuer is asked again at most so often, for whatever tokens come. */
const pauseMs = 30_000;
/** While there are none. */
const firstPauseMs = 3_000;

/** The keys of an issuer, or the one that a token names, cannot be used at the moment. */
export class KeysUnread extends Error {
  constructor(issuer: string) {
    super(`The keys of ${issuer} cannot be read at the moment.`);
  }
}

/** The key that has signed a token with this header. */
export type IssuerKeys = (header: JWSHeaderParameters) => Promise<CryptoKey>;

/**
 * The public keys of an issuer, which it is asked for when the first token comes, when they are old, and for a key that
 * it did not have. Rejects with `KeysUnread`, with `JWKSNoMatchingKey`, or with `JWKSMultipleMatchingKeys`, which lists
 * those to try. One reading serves all who wait, and callers with known keys wait for none.
 */
export function createIssuerKeys(
  issuer: Pick<TokenIssuerConfig, 'issuer' | 'jwks_url'>,
  clock: Pick<Clock, 'monotonicMs'>,
): IssuerKeys {
  let keys: IssuerKeys | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** Whether the last reading brought keys. */
  let isReached = false;
  let reading: Promise<void> | null = null;

  async function read(): Promise<void> {
    try {
      keys = createLocalJWKSet((await readKeys(issuer)) as Parameters<typeof createLocalJWKSet>[0]);
      readAtMs = clock.monotonicMs();
      isReached = true;
    } catch {
      isReached = false;
    } finally {
      triedAtMs = clock.monotonicMs();
      reading = null;
    }
  }

  /** A reading that runs or may begin now; null: the last one was too short ago. */
  function readAgain(): Promise<void> | null {
    const pause = keys === null ? firstPauseMs : pauseMs;
    if (reading === null && clock.monotonicMs() - triedAtMs >= pause) reading = read();
    return reading;
  }

  async function known(): Promise<IssuerKeys> {
    const ageMs = clock.monotonicMs() - readAtMs;
    if (ageMs > freshMs) {
      const again = readAgain();
      if (ageMs > usedMs) keys = null;
      if (keys === null) await again;
    }
    if (keys === null) throw new KeysUnread(issuer.issuer);
    return keys;
  }

  return async (header) => {
    try {
      return await (await known())(header);
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw new KeysUnread(issuer.issuer);
    }
    await readAgain();
    if (keys === null || !isReached) throw new KeysUnread(issuer.issuer);
    return keys(header);
  };
}

async function readKeys({ issuer, jwks_url: url }: Pick<TokenIssuerConfig, 'issuer' | 'jwks_url'>): Promise<unknown> {
  const signal = AbortSignal.timeout(answerMaxMs);
  return readDocument(url ?? (await keysAddress(issuer, signal)), signal);
}

/** Where the discovery document of an issuer says that its keys are (OpenID Connect Discovery §4). */
async function keysAddress(issuer: string, signal: AbortSignal): Promise<string> {
  const document = await readDocument(`${issuer}/.well-known/openid-configuration`, signal);
  const address = isObject(document) ? document.jwks_uri : undefined;
  if (typeof address !== 'string' || !URL.canParse(address)) throw new Error('no jwks_uri');
  // A document over TLS must not lead to keys that anybody on the way can change.
  if (issuer.startsWith('https:') && !address.startsWith('https:')) throw new Error('jwks_uri without TLS');
  return address;
}

/** A document of JSON, which is refused above its bound before all of it is in memory. */
async function readDocument(url: string, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(url, { redirect: 'error', signal, headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`${answer.status} without a document`);
  return JSON.parse(await boundedText(answer, documentBytesMax));
}
