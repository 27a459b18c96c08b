import { hash } from 'node:crypto';
import type { TokenIssuerConfig } from '../../../config/schema/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import type { Principal } from '../principal.ts';
import type { TokenCaller } from './token-caller.ts';
import type { TokenVerifier } from './verify-token.ts';

/** Tokens that a process remembers; a forgotten one is verified again. */
const tokensMax = 10_000;
/** Node takes 16 KB of headers. */
const lengthMax = 8_192;
/** Three parts of base64url, the first of which is an object. */
const tokenForm = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;
/** Clients send it so; a token that was verified is found without a look at its form. */
const usualBeginning = 'Bearer eyJ';

/** Callers with tokens of issuers that the configuration names. */
export interface CallerTokens {
  /** Whose token came; null: none did, or no issuer is configured. Reads the keys of an issuer where they are needed. */
  principal(headers: TokenHeaders): Promise<Principal | Failure> | Principal | Failure | null;
}

interface TokenHeaders {
  readonly authorization?: string | readonly string[] | undefined;
}

interface Verified {
  caller: TokenCaller;
  /** Wall-clock ms. */
  expiresMs: number;
}

/**
 * `issuersNow`: the same list for as long as it does not change. `guest` gives what a caller may do now, or why nothing.
 */
export function createCallerTokens(
  clock: Clock,
  issuersNow: () => readonly TokenIssuerConfig[],
  guest: (caller: TokenCaller) => Principal | Failure,
): CallerTokens {
  let issuers: readonly TokenIssuerConfig[] = [];
  let verifier: Promise<TokenVerifier> | null = null;
  /** By the header's hash, oldest first. */
  let verified = new Map<string, Verified>();

  async function verify(token: string, digest: string): Promise<Principal | Failure> {
    const before = issuers;
    verifier ??= import('./verify-token.ts').then(({ createTokenVerifier }) => createTokenVerifier(before, clock));
    const result = await (await verifier)(token);
    if (isFailure(result)) return result;
    // The issuers may have changed meanwhile.
    if (issuers === before) putNewest(verified, digest, result, tokensMax);
    return guest(result.caller);
  }

  return {
    principal(headers) {
      const now = issuersNow();
      if (now !== issuers) [issuers, verifier, verified] = [now, null, new Map()];
      const { authorization } = headers;
      if (now.length === 0 || typeof authorization !== 'string' || authorization.length > lengthMax) return null;
      if (!authorization.startsWith(usualBeginning) && sentToken(authorization) === null) return null;
      const digest = hash('sha256', authorization, 'base64');
      const known = verified.get(digest);
      if (known !== undefined && known.expiresMs > clock.wallMs()) return guest(known.caller);
      verified.delete(digest);
      const token = sentToken(authorization);
      return token === null ? null : verify(token, digest);
    },
  };
}

/** The token of a header; null: it has none, or something else. */
function sentToken(authorization: string): string | null {
  const [scheme = '', token = '', ...more] = authorization.trim().split(/ +/);
  return scheme.toLowerCase() === 'bearer' && more.length === 0 && tokenForm.test(token) ? token : null;
}
