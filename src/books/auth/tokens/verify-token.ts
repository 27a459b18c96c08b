import { hash } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload } from 'jose';
import type { TokenIssuerConfig } from '../../../config/schema/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, isFailure, unauthenticated } from '../../../kernel/failure.ts';
import { hasText } from '../../../kernel/json.ts';
import { claimAt } from '../identity.ts';
import { createIssuerKeys, KeysUnread } from './issuer-keys.ts';
import { signedClaims } from './signed-claims.ts';
import type { TokenCaller } from './token-caller.ts';

/** A token's caller, and the wall-clock ms until which it may call; or why it may not. */
export type TokenVerifier = (token: string) => Promise<{ caller: TokenCaller; expiresMs: number } | Failure>;

const clockToleranceS = 30;
/** A token without an end is verified again after this time. */
const endlessMs = 5 * 60_000;
const modelsMax = 1_000;
const nameCharsMax = 80;
const userCharsMax = 256;

/** Verifies tokens (RFC 7519) of these issuers. Their keys are read when the first token comes. */
export function createTokenVerifier(issuers: readonly TokenIssuerConfig[], clock: Clock): TokenVerifier {
  const byIssuer = new Map(issuers.map((config) => [config.issuer, { config, keys: createIssuerKeys(config, clock) }]));
  return async (token) => {
    const issuer = issuerIn(token);
    const known = byIssuer.get(issuer.replace(/(?<!\/)\/+$/, ''));
    if (known === undefined) return refusal('No issuer of this server signed the token.');
    const { config, keys } = known;
    try {
      const payload = await signedClaims(token, keys, {
        issuer: [config.issuer, `${config.issuer}/`],
        audience: config.audience,
        algorithms: config.algorithms,
        clockTolerance: clockToleranceS,
        currentDate: new Date(clock.wallMs()),
        requiredClaims: ['sub'],
      });
      const caller = callerOf(payload, config);
      if (isFailure(caller)) return caller;
      const endMs = payload.exp === undefined ? clock.wallMs() + endlessMs : payload.exp * 1_000;
      return { caller, expiresMs: Math.min(endMs, clock.wallMs() + endlessMs) };
    } catch (error) {
      return failureOf(error);
    }
  };
}

function issuerIn(token: string): string {
  try {
    const { iss } = decodeJwt<{ iss: unknown }>(token);
    return typeof iss === 'string' ? iss : '';
  } catch {
    return '';
  }
}

function callerOf(payload: JWTPayload, config: TokenIssuerConfig): TokenCaller | Failure {
  const { iss = '' } = payload;
  const sub: unknown = payload.sub;
  const account = typeof config.account === 'string' ? config.account : claimAt(payload, config.account.claim);
  if (typeof account !== 'string' || account === '') {
    return refusal(`The token has no claim '${claimOf(config.account)}' that names its account.`);
  }
  if (typeof sub !== 'string' || sub === '') return refusal("The token has no claim 'sub'.");
  const models = modelsIn(payload, config.models);
  if (models !== null && !Array.isArray(models)) return models as Failure;
  const id = hash('sha256', `${iss}\n${sub}\n${account}`, 'hex').slice(0, 24);
  return {
    keyId: `token_${id}`,
    name: cleaned(claimAt(payload, config.name), nameCharsMax) ?? cleaned(sub, nameCharsMax) ?? id,
    account,
    plan: planIn(payload, config.plans),
    models,
    source: { issuer: config.issuer },
    ...(config.user !== undefined && { user: cleaned(claimAt(payload, config.user), userCharsMax) }),
  };
}

function claimOf(account: TokenIssuerConfig['account']): string {
  return typeof account === 'string' ? '' : account.claim;
}

/** A list that the token should have and has not lets it use none. */
function modelsIn(payload: JWTPayload, allowed: TokenIssuerConfig['models']): string[] | Failure | null {
  if (allowed === undefined) return null;
  if (Array.isArray(allowed)) return allowed;
  return textsIn(claimAt(payload, allowed.claim));
}

function planIn(payload: JWTPayload, plans: TokenIssuerConfig['plans']): string | null {
  if (plans === undefined) return null;
  const values = new Set(textsIn(claimAt(payload, plans.claim)));
  const [, plan = null] = Object.entries(plans.by).find(([value]) => values.has(value)) ?? [];
  return plan;
}

/** A list of texts, or one text with spaces between its parts, as `scope` has them. */
function textsIn(claim: unknown): string[] {
  const listed: unknown[] = Array.isArray(claim) ? claim : typeof claim === 'string' ? claim.split(/\s+/) : [];
  return listed.filter(hasText).slice(0, modelsMax);
}

/** Untrusted text, as lists may show it; null: none is left. */
function cleaned(value: unknown, charsMax: number): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(/[\p{C}\u2028\u2029]/gu, '').trim();
  return text === '' ? null : text.slice(0, charsMax);
}

function failureOf(error: unknown): Failure {
  if (error instanceof KeysUnread) return { kind: 'overloaded', message: error.message };
  if (error instanceof errors.JWTExpired) return refusal('The token has expired. Get a new one from its issuer.');
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'missing') return refusal(`The token has no claim '${error.claim}'.`);
    if (error.claim === 'nbf')
      return refusal("The token is not valid yet, by its claim 'nbf' and this server's clock.");
    return refusal(`The claim '${error.claim}' of the token does not fit this server.`);
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return refusal(
      "No public key of the issuer fits the 'kid' and 'alg' of the token. A new key counts here within 30 seconds.",
    );
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return refusal('The token is signed in a way that is not allowed.');
  return refusal('The signature of the token is not valid.');
}

function refusal(message: string): Failure {
  return unauthenticated(message);
}
