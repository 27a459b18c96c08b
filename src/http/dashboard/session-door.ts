import { type KeyRing, noKeySent } from '../../books/auth/key-ring.ts';
import type { Operator } from '../../books/auth/operator.ts';
import type { Principal } from '../../books/auth/principal.ts';
import { isCsrf, type Session, type Sessions } from '../../books/auth/sessions.ts';
import type { Config } from '../../config/schema.ts';
import { type Failure, forbidden, isFailure, unauthenticated } from '../../kernel/failure.ts';
import { type Exchange, headerOf } from '../exchange.ts';
import { cookieName, cookieValue, sessionAddressOf } from './cookie.ts';
import { crossSiteFailure } from './same-site.ts';

/** Lets in browsers that send no key, but the dashboard's cookie. */
export type SessionDoor = ReturnType<typeof createSessionDoor>;

const csrfHeader = 'x-culvert-csrf';
const keyHeader = 'x-culvert-key';

const sessionOver = unauthenticated('Your session has ended. Log in again.');
const noCsrf = forbidden(`The header ${csrfHeader} is missing or wrong. GET /dashboard/session gives its value.`);
const noOperator = forbidden(
  'This session belongs to an API key, which does not open the admin API. Log in as an operator.',
);
const noKeyNamed = unauthenticated(
  `The session of an operator must name the key that it acts for: send its id in ${keyHeader}.`,
);

export interface DoorParts {
  sessions: Sessions;
  ring: Pick<KeyRing, 'principalOf'>;
  /** Why an operator of this role may not call /v1 for a key; null when it may. */
  mayNotCall(operator: Operator): Failure | null;
  addressOf(request: Exchange['request']): string | null;
  server(): Config['server'];
}

/** The secret of the session that a browser sends; null: none. */
export function sessionSecret(request: Exchange['request'], server: Config['server']): string | null {
  return cookieValue(request, cookieName('session', sessionAddressOf(request, server)));
}

/** The session of a browser, and proof that a page of ours sent this. */
export async function sessionOf(
  { sessions, addressOf, server }: DoorParts,
  exchange: Exchange,
  csrf: 'needed' | 'not-needed',
): Promise<Session | Failure> {
  const { request } = exchange;
  const secret = sessionSecret(request, server());
  if (secret === null) return noKeySent;
  const foreign = crossSiteFailure(exchange, server());
  if (foreign !== null) return foreign;
  const session = await sessions.find(secret, () => addressOf(request));
  if (session === null) return sessionOver;
  return csrf === 'needed' && !isCsrf(session, headerOf(exchange, csrfHeader)) ? noCsrf : session;
}

export function createSessionDoor(parts: DoorParts) {
  return {
    /** For /admin/v1. */
    async operator(exchange: Exchange): Promise<Operator | Failure> {
      const { method } = exchange.request;
      const session = await sessionOf(parts, exchange, method === 'GET' || method === 'HEAD' ? 'not-needed' : 'needed');
      if (isFailure(session)) return session;
      return session.who.to === 'admin' ? session.who.operator : noOperator;
    },
    /** For /v1: a key's session is that key; an operator names the key that it speaks for in `x-culvert-key`. */
    async principal(exchange: Exchange): Promise<Principal | Failure> {
      // A look at models by GET counts as a call too.
      const session = await sessionOf(parts, exchange, 'needed');
      if (isFailure(session)) return session;
      if (session.who.to === 'v1') return session.who.principal;
      const keyId = headerOf(exchange, keyHeader);
      if (keyId === undefined) return noKeyNamed;
      const { operator } = session.who;
      return parts.mayNotCall(operator) ?? allowedFor(operator, parts.ring.principalOf(keyId));
    },
  };
}

function allowedFor({ accounts }: Operator, principal: Principal | Failure): Principal | Failure {
  // The session is a good one: a 401 would ask for another login.
  if (isFailure(principal))
    return principal.kind === 'unauthenticated' ? { ...principal, kind: 'forbidden' } : principal;
  // The same answer as for a missing key: nothing tells that another account has it.
  return accounts === null || accounts.includes(principal.account) ? principal : noSuchKey;
}

const noSuchKey = forbidden('The API key no longer works: it was revoked or removed.');
