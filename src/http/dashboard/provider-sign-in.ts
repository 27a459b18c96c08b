import type { OperatorRow } from '../../books/auth/account-store.ts';
import type { Identity } from '../../books/auth/identity.ts';
import type { InvitationParts } from '../../books/auth/invitations.ts';
import { operatorAtLogin } from '../../books/auth/operator-at-login.ts';
import type { ProviderLogin } from '../../books/auth/session-store.ts';
import type { Proof } from '../../books/auth/sessions.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import type { GroupRoles, ScimConfig } from '../../config/schema/schema-dashboard.ts';
import { sendWhole } from '../../inference/spine/sink.ts';
import { isFailure } from '../../kernel/failure.ts';
import type { Sealer } from '../../kernel/seal.ts';
import { basePathOf } from '../../kernel/web/base-path.ts';
import type { Exchange } from '../exchange.ts';
import { linkBaseOf, linkPathOf } from '../link-base.ts';
import { sendPlainPage } from '../plain-page.ts';
import { pageHeaders } from '../static-files.ts';
import { cookieName, cookieValue } from './cookie.ts';
import { type DoorParts, sessionSecret } from './session-door.ts';
import type { OpenedSession } from './sign-in.ts';

/** Parts of logins at a provider: a browser goes there, and comes back with proof. */
export interface ProviderSignInParts extends DoorParts, InvitationParts {
  /** Counts logins that failed on other replicas; null: there are none. */
  tally: SharedTally | null;
  scim(): ScimConfig | null;
  /** Seals what the browser keeps while it is at the provider: any replica may get it back. */
  sealer: Sealer;
  /** The ring of this process knows the operator once it resolves. */
  refresh(): Promise<unknown>;
  open(exchange: Exchange, proof: Proof, address: string | null, before: string | null): Promise<OpenedSession>;
  onTrouble(message: string): void;
}

/** Login that a browser has begun. */
export interface Begun {
  /** Place of ours that it goes to afterwards. */
  to: string;
  untilMs: number;
  /** Secret of its session before: the cookie of that does not come back with it from another site. */
  before?: string | null;
}

/** Words for a browser that asks too often. */
export const tooManyFailed = 'Too many logins failed. Try again in a minute.';
/** Words for one whose login is unknown, or too old. */
export const notBegunHere = 'This login did not begin in this browser, or it took too long. Begin again.';
/** Longest time that a login may take at the provider. */
export const loginMaxMs = 10 * 60_000;

/** A sealed cookie that says which login a browser has begun. */
export interface BegunCookie<T extends Begun> {
  keep(exchange: Exchange, begun: T): void;
  /** Null: there is none, it was made elsewhere, or it is over. */
  read(exchange: Exchange): T | null;
  drop(exchange: Exchange): void;
}

/**
 * `comesBackBy`: the browser comes from another site. Browsers send a lax cookie along with a link, but not with a form
 * (`post`). There, a cookie needs TLS; without TLS, browsers take a new one that names no rule.
 */
export function createBegunCookie<T extends Begun>(
  of: ProviderLogin,
  comesBackBy: 'link' | 'post',
  { clock, sealer, server }: Pick<ProviderSignInParts, 'clock' | 'sealer' | 'server'>,
): BegunCookie<T> {
  // Each kind seals for itself: a cookie of one is none of the other.
  const sealedFor = of === 'oidc' ? 'login' : `login ${of}`;
  const addressOf = (exchange: Exchange) => linkBaseOf(exchange.request, server());

  function set(exchange: Exchange, value: string, maxAgeS: number): void {
    const address = addressOf(exchange);
    const isSecure = address.startsWith('https:');
    const site = comesBackBy === 'link' ? '; SameSite=Lax' : isSecure ? '; SameSite=None' : '';
    const secure = isSecure ? '; Secure' : '';
    exchange.response.appendHeader(
      'set-cookie',
      `${cookieName(of, address)}=${value}; Path=${basePathOf(address)}/dashboard/${of}; Max-Age=${maxAgeS}; HttpOnly${site}${secure}`,
    );
  }

  return {
    keep(exchange, begun) {
      const all: Begun = { ...begun, before: sessionSecret(exchange.request, server()) };
      const sealed = sealer.seal(Buffer.from(JSON.stringify(all)), sealedFor).toString('base64url');
      set(exchange, sealed, loginMaxMs / 1_000);
    },
    read(exchange) {
      const sealed = cookieValue(exchange.request, cookieName(of, addressOf(exchange)));
      const opened = sealed === null ? null : sealer.open(Buffer.from(sealed, 'base64url'), sealedFor);
      if (opened === null) return null;
      const begun = JSON.parse(opened.toString()) as T;
      return begun.untilMs > clock.wallMs() ? begun : null;
    },
    drop: (exchange) => set(exchange, '', 0),
  };
}

/** The operator whom a provider has confirmed. */
export interface Confirmed {
  identity: Identity;
  roles: GroupRoles;
  login: ProviderLogin;
  /** Place of ours. */
  to: string;
  /** See `Begun`. */
  before: string | null;
  /** Address where another person can log in there; null: there is none. */
  another: string | null;
}

/** Opens the session of a confirmed identity and sends the browser on, or says why it may not. Never rejects. */
export async function enter(
  exchange: Exchange,
  { identity, roles, login, to, before, another }: Confirmed,
  parts: ProviderSignInParts,
): Promise<void> {
  try {
    const operator = await operatorOf(identity, roles, parts);
    await parts.refresh();
    if (operator === null) {
      const who = identity.name || identity.subject;
      const why = identity.groupsWithheld
        ? `The provider sent no groups of ${who}: they are too many. Have it send only those assigned to the application.`
        : `${who} is in none of the groups that may use this dashboard.`;
      return sendLoginPage(exchange, 403, why, another);
    }
    const address = parts.addressOf(exchange.request);
    const opened = await parts.open(exchange, { login, operator: operator.id }, address, before);
    if (isFailure(opened)) return sendLoginPage(exchange, 403, 'This operator was removed.');
    sendTo(exchange, linkPathOf(exchange.request, parts.server()) + to);
  } catch (error) {
    parts.onTrouble(`a login by ${login} could not be stored: ${String(error).slice(0, 300)}`);
    sendLoginPage(exchange, 503, 'The operator cannot be stored now. Try again.');
  }
}

/** Whom a directory has provisioned, it decides about; whom else, their groups. */
async function operatorOf(
  identity: Identity,
  roles: GroupRoles,
  parts: ProviderSignInParts,
): Promise<OperatorRow | null> {
  const scim = parts.scim();
  if (scim === null) return operatorAtLogin(identity, roles, parts);
  const { provisionedOperator } = await import('../../books/auth/scim/directory.ts');
  const known = await provisionedOperator(identity, scim.roles, parts);
  return known === 'unknown' ? operatorAtLogin(identity, roles, parts) : known;
}

/** A place of ours, whatever the link says. */
export function safePlace(to: string | null): string {
  return to !== null && /^\/(dashboard|account)([/?#][\x21-\x5b\x5d-\x7e]*)?$/.test(to) ? to : '/dashboard';
}

export function sendTo({ client }: Exchange, location: string): void {
  sendWhole(client, [...pageHeaders, ...plain, 'location', location], '', 303);
}

const plain = ['content-type', 'text/plain; charset=utf-8', 'cache-control', 'no-store'];

/** `another`: the provider would let the same person in again without asking; null: there is no such place. */
export function sendLoginPage(
  exchange: Exchange,
  status: number,
  message: string,
  another: string | null = null,
): void {
  const links = [{ to: '/dashboard', text: 'Back to the login' }];
  if (another !== null) links.unshift({ to: another, text: 'Log in as another person' });
  sendPlainPage(exchange, { status, title: 'Log in to Culvert', message, links });
}
