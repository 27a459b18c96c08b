import type { OperatorRow } from '../../books/auth/account-store.ts';
import type { InvitationParts } from '../../books/auth/invitations.ts';
import {
  createOpenIdLogin,
  type Identity,
  type LoginSecrets,
  type OpenIdLogin,
} from '../../books/auth/oidc/openid-login.ts';
import { operatorAtLogin } from '../../books/auth/oidc/operator-at-login.ts';
import type { Proof } from '../../books/auth/sessions.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import type { OidcConfig, ScimConfig } from '../../config/schema-dashboard.ts';
import { sendWhole } from '../../inference/spine/sink.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { Exchange } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { sendPlainPage } from '../plain-page.ts';
import { pageHeaders } from '../static-files.ts';
import { cookieName, cookieValue } from './cookie.ts';
import { createLoginThrottle } from './login-throttle.ts';
import type { DoorParts } from './session-door.ts';
import type { OpenedSession } from './sign-in.ts';

export interface OidcSignInParts extends DoorParts, InvitationParts {
  /** Counts logins that failed on other replicas; null: there are none. */
  tally: SharedTally | null;
  oidc(): OidcConfig | undefined;
  scim(): ScimConfig | null;
  /** Seals what the browser keeps while it is at the provider: any replica may get it back. */
  sealer: Sealer;
  /** The ring of this process knows the operator once it resolves. */
  refresh(): Promise<unknown>;
  open(exchange: Exchange, proof: Proof, address: string | null): Promise<OpenedSession>;
  onTrouble(message: string): void;
}

/** Login by an OpenID provider, in two steps of the browser. */
export interface OidcSignIn {
  start(exchange: Exchange): Promise<void>;
  callback(exchange: Exchange): Promise<void>;
  /** Address where a browser that has logged out here logs out at the provider. */
  endSessionUrl(exchange: Exchange): string | null;
}

const cookiePath = '/dashboard/oidc';
const callbackPath = `${cookiePath}/callback`;
const sealedFor = 'login';
/** Longest time that a login may take there. */
const loginMaxMs = 10 * 60_000;

interface Begun extends LoginSecrets {
  to: string;
  untilMs: number;
}

export function createOidcSignIn(parts: OidcSignInParts): OidcSignIn {
  const { clock, sealer, server, addressOf } = parts;
  const throttle = createLoginThrottle(clock, parts.tally, 'logins');
  let known: { config: OidcConfig; login: OpenIdLogin } | null = null;

  function login(config: OidcConfig): OpenIdLogin {
    if (known?.config !== config) known = { config, login: createOpenIdLogin(config, clock) };
    return known.login;
  }

  function begun(exchange: Exchange): Begun | null {
    const sealed = cookieValue(exchange.request, cookieName('oidc', linkBaseOf(exchange.request, server())));
    const opened = sealed === null ? null : sealer.open(Buffer.from(sealed, 'base64url'), sealedFor);
    if (opened === null) return null;
    const state = JSON.parse(opened.toString()) as Begun;
    return state.untilMs > clock.wallMs() ? state : null;
  }

  /** Lax: the browser comes back from another site. */
  function keep(exchange: Exchange, value: string, maxAgeS: number): void {
    const address = linkBaseOf(exchange.request, server());
    const secure = address.startsWith('https:') ? '; Secure' : '';
    exchange.response.appendHeader(
      'set-cookie',
      `${cookieName('oidc', address)}=${value}; Path=${cookiePath}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure}`,
    );
  }

  /** The log gets the provider's message; the browser gets words of our own. */
  function failed(exchange: Exchange, status: number, message: string, error?: unknown): void {
    if (error !== undefined) parts.onTrouble(`login by OpenID Connect failed: ${reasonOf(error)}`);
    sendPage(exchange, status, message);
  }

  function endSessionUrl(exchange: Exchange): string | null {
    const config = parts.oidc();
    if (config === undefined) return null;
    return login(config).endSessionUrl(`${linkBaseOf(exchange.request, server())}/dashboard`);
  }

  return {
    async start(exchange) {
      const config = parts.oidc();
      if (config === undefined) return failed(exchange, 404, 'This server has no login by OpenID Connect.');
      try {
        const base = linkBaseOf(exchange.request, server());
        const { url, secrets } = await login(config).begin(base + callbackPath);
        const to = safePlace(new URLSearchParams(exchange.search).get('to'));
        const state: Begun = { ...secrets, to, untilMs: clock.wallMs() + loginMaxMs };
        const sealed = sealer.seal(Buffer.from(JSON.stringify(state)), sealedFor).toString('base64url');
        keep(exchange, sealed, loginMaxMs / 1_000);
        sendTo(exchange, url);
      } catch (error) {
        failed(exchange, 502, 'The OpenID provider does not answer right now. Try again in a moment.', error);
      }
    },
    async callback(exchange) {
      const config = parts.oidc();
      if (config === undefined) return failed(exchange, 404, 'This server has no login by OpenID Connect.');
      const address = addressOf(exchange.request);
      if ((await throttle.refusal(address)) !== null) {
        return failed(exchange, 429, 'Too many logins failed. Try again in a minute.');
      }
      const state = begun(exchange);
      keep(exchange, '', 0);
      const again = 'This login did not begin in this browser, or it took too long. Begin again.';
      if (state === null) return failed(exchange, 400, again);
      const attempt = await throttle.attempt(address);
      if ('kind' in attempt) return failed(exchange, 429, 'Too many logins failed. Try again in a minute.');
      try {
        const base = linkBaseOf(exchange.request, server());
        const identity = await login(config).finish(`${base}${callbackPath}?${exchange.search}`, state);
        const operator = await operatorOf(identity, config, parts);
        await parts.refresh();
        attempt.passed();
        if (operator === null) {
          const who = `${identity.name || identity.subject} is in none of the groups that may use this dashboard.`;
          return sendPage(exchange, 403, who, endSessionUrl(exchange));
        }
        const opened = await parts.open(exchange, { login: 'oidc', operator: operator.id }, address);
        if ('kind' in opened) return failed(exchange, 403, 'This operator was removed.');
        sendTo(exchange, state.to);
      } catch (error) {
        if (error instanceof FailureError) {
          attempt.passed();
          return failed(exchange, 503, 'The operator cannot be stored now. Try again.', error);
        }
        attempt.failed();
        failed(exchange, 401, 'The OpenID provider did not confirm this login. Begin again.', error);
      }
    },
    endSessionUrl,
  };
}

/** Whom a directory has provisioned, it decides about; whom else, their groups. */
async function operatorOf(
  identity: Identity,
  { roles }: OidcConfig,
  parts: OidcSignInParts,
): Promise<OperatorRow | null> {
  const scim = parts.scim();
  if (scim === null) return operatorAtLogin(identity, roles, parts);
  const { provisionedOperator } = await import('../../books/auth/scim/directory.ts');
  const known = await provisionedOperator(identity, scim.roles, parts);
  return known === 'unknown' ? operatorAtLogin(identity, roles, parts) : known;
}

/** A place of ours, whatever the link says. */
function safePlace(to: string | null): string {
  return to !== null && /^\/(dashboard|account)([/?#][\x21-\x5b\x5d-\x7e]*)?$/.test(to) ? to : '/dashboard';
}

/** Without what the client library quotes of answers. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [code, message]
    .filter((one) => typeof one === 'string')
    .join(': ')
    .slice(0, 300);
}

function sendTo({ client }: Exchange, location: string): void {
  sendWhole(client, [...pageHeaders, ...plain, 'location', location], '', 303);
}

const plain = ['content-type', 'text/plain; charset=utf-8', 'cache-control', 'no-store'];

/** `logout`: the provider would let the same person in again without asking; null: there is no such place. */
function sendPage(exchange: Exchange, status: number, message: string, logout: string | null = null): void {
  const links = [{ to: '/dashboard', text: 'Back to the login' }];
  if (logout !== null) links.unshift({ to: logout, text: 'Log in as another person' });
  sendPlainPage(exchange, { status, title: 'Log in to Culvert', message, links });
}
