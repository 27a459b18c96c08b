import { hash } from 'node:crypto';
import type { TokenIssuerConfig } from '../../../config/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { AccountFacts } from '../key-directory.ts';
import type { Principal } from '../principal.ts';
import { Guests } from './guests.ts';
import type { TokenCaller } from './token-caller.ts';
import type { TokenVerifier } from './verify-token.ts';

/** Tokens that a process remembers; a forgotten one is verified again. */
const tokensMax = 10_000;
/** Node takes 16 KB of headers. */
const lengthMax = 8_192;
/** Three parts of base64url, the first of which is an object. */
const tokenForm = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

/** Callers with tokens of issuers that the configuration names. */
export interface CallerTokens {
  /** Whose token came; null: none did, or no issuer is configured. Reads the keys of an issuer where they are needed. */
  principal(headers: TokenHeaders): Promise<Principal | Failure> | Principal | Failure | null;
  /** A caller of this process, as its account is now; null: none has this id. */
  principalOf(keyId: string): Principal | Failure | null;
}

interface TokenHeaders {
  readonly authorization?: string | undefined;
}

/** What counts now: the same list of issuers and the same accounts for as long as they do not change. */
interface InForce {
  tokenIssuers?: readonly TokenIssuerConfig[];
  accounts: ReadonlyMap<string, AccountFacts>;
  defaultPlan: string;
}

interface Verified {
  caller: TokenCaller;
  /** Wall-clock ms. */
  expiresMs: number;
}

export function createCallerTokens(clock: Pick<Clock, 'wallMs'>, inForce: () => InForce): CallerTokens {
  const guests = new Guests();
  let issuers: readonly TokenIssuerConfig[] = [];
  let verifier: Promise<TokenVerifier> | null = null;
  /** By the token's hash, oldest first. */
  let verified = new Map<string, Verified>();

  function guest(caller: TokenCaller): Principal | Failure {
    const { accounts, defaultPlan } = inForce();
    return guests.principal(caller, accounts, defaultPlan);
  }

  async function verify(token: string, digest: string): Promise<Principal | Failure> {
    const before = issuers;
    verifier ??= import('./verify-token.ts').then(({ createTokenVerifier }) => createTokenVerifier(before, clock));
    const result = await (await verifier)(token);
    if ('kind' in result) return result;
    // The issuers may have changed meanwhile.
    if (issuers === before) {
      if (verified.size >= tokensMax) for (const [oldest] of verified) if (verified.delete(oldest)) break;
      verified.set(digest, result);
    }
    return guest(result.caller);
  }

  return {
    principal(headers) {
      const { tokenIssuers: now = [] } = inForce();
      if (now !== issuers) [issuers, verifier, verified] = [now, null, new Map()];
      const token = now.length === 0 ? null : sentToken(headers);
      if (token === null) return null;
      const digest = hash('sha256', token, 'base64');
      const known = verified.get(digest);
      if (known !== undefined && known.expiresMs > clock.wallMs()) return guest(known.caller);
      verified.delete(digest);
      return verify(token, digest);
    },
    principalOf(keyId) {
      const caller = guests.byId(keyId);
      return caller === null ? null : guest(caller);
    },
  };
}

function sentToken({ authorization }: TokenHeaders): string | null {
  if (authorization === undefined || authorization.length > lengthMax) return null;
  const [scheme = '', token = '', ...more] = authorization.trim().split(/ +/);
  return scheme.toLowerCase() === 'bearer' && more.length === 0 && tokenForm.test(token) ? token : null;
}
