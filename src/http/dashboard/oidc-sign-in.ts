import { createOpenIdLogin, type LoginSecrets, type OpenIdLogin } from '../../books/auth/oidc/openid-login.ts';
import type { OidcConfig } from '../../config/schema/schema-dashboard.ts';
import { isFailure } from '../../kernel/failure.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { Exchange } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { createLoginThrottle } from './login-throttle.ts';
import * as signIn from './provider-sign-in.ts';

export interface OidcSignInParts extends signIn.ProviderSignInParts {
  oidc(): OidcConfig | undefined;
}

/** Login by an OpenID provider, in two steps of the browser. */
export type OidcSignIn = ReturnType<typeof createOidcSignIn>;

/** How long a logout waits for the provider, which this process may not have asked yet. */
const logoutMaxMs = 3_000;
const callbackPath = '/dashboard/oidc/callback';
const notConfigured = 'This server has no login by OpenID Connect.';

export function createOidcSignIn(parts: OidcSignInParts) {
  const { clock, server, addressOf } = parts;
  const throttle = createLoginThrottle(clock, parts.tally, 'logins');
  const cookie = signIn.createBegunCookie<signIn.Begun & LoginSecrets>('oidc', 'link', parts);
  let known: { config: OidcConfig; login: OpenIdLogin } | null = null;

  function login(config: OidcConfig): OpenIdLogin {
    if (known?.config !== config) known = { config, login: createOpenIdLogin(config, clock) };
    return known.login;
  }

  /** The log gets the provider's message; the browser gets words of our own. */
  function failed(exchange: Exchange, status: number, message: string, error?: unknown): void {
    if (error !== undefined) parts.onTrouble(`login by OpenID Connect failed: ${reasonOf(error)}`);
    signIn.sendLoginPage(exchange, status, message);
  }

  async function endSessionUrl(exchange: Exchange): Promise<string | null> {
    const config = parts.oidc();
    if (config === undefined) return null;
    const url = login(config).endSessionUrl(`${linkBaseOf(exchange.request, server())}/dashboard`);
    const found = url.catch((error: unknown) => {
      parts.onTrouble(`a logout did not reach the OpenID provider: ${reasonOf(error)}`);
      return null;
    });
    return withinMs(logoutMaxMs, found, null);
  }

  return {
    async start(exchange: Exchange): Promise<void> {
      const config = parts.oidc();
      if (config === undefined) return failed(exchange, 404, notConfigured);
      try {
        const base = linkBaseOf(exchange.request, server());
        const { url, secrets } = await login(config).begin(base + callbackPath);
        const to = signIn.safePlace(new URLSearchParams(exchange.search).get('to'));
        cookie.keep(exchange, { ...secrets, to, untilMs: clock.wallMs() + signIn.loginMaxMs });
        signIn.sendTo(exchange, url);
      } catch (error) {
        failed(exchange, 502, 'The OpenID provider does not answer right now. Try again in a moment.', error);
      }
    },
    async callback(exchange: Exchange): Promise<void> {
      const config = parts.oidc();
      if (config === undefined) return failed(exchange, 404, notConfigured);
      const address = addressOf(exchange.request);
      if ((await throttle.refusal(address)) !== null) return failed(exchange, 429, signIn.tooManyFailed);
      const state = cookie.read(exchange);
      cookie.drop(exchange);
      if (state === null) return failed(exchange, 400, signIn.notBegunHere);
      const attempt = await throttle.attempt(address);
      if (isFailure(attempt)) return failed(exchange, 429, signIn.tooManyFailed);
      try {
        const base = linkBaseOf(exchange.request, server());
        const identity = await login(config).finish(`${base}${callbackPath}?${exchange.search}`, state);
        attempt.passed();
        const another = await endSessionUrl(exchange);
        const { to, before = null } = state;
        await signIn.enter(exchange, { identity, roles: config.roles, login: 'oidc', to, before, another }, parts);
      } catch (error) {
        attempt.failed();
        failed(exchange, 401, 'The OpenID provider did not confirm this login. Begin again.', error);
      }
    },
    /** Address where a browser that has logged out here logs out at the provider; null: none, or it does not answer. */
    endSessionUrl,
  };
}

/** Without what the client library quotes of answers. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [code, message]
    .filter((one) => typeof one === 'string')
    .join(': ')
    .slice(0, 300);
}
