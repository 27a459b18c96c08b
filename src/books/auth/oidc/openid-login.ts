import * as oidc from 'openid-client';
import type { OidcConfig } from '../../../config/schema/schema-dashboard.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { hasText, isObject, textIn } from '../../../kernel/json.ts';
import { claimAt, groupsIn, type Identity } from '../identity.ts';

/** Secret that the browser must bring back with the code. Nobody else may know it. */
export interface LoginSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

/** OpenID Connect, authorization code with PKCE. Rejects when the provider cannot be reached or refuses. */
export type OpenIdLogin = ReturnType<typeof createOpenIdLogin>;

const answerMaxS = 10;
const clockToleranceS = 30;
/** The provider's document is read again after this time: its addresses may change. The client takes care of keys. */
const discoveryMs = 60 * 60_000;

export function createOpenIdLogin(config: OidcConfig, clock: Clock) {
  let discovered: { configuration: oidc.Configuration; atMs: number } | null = null;

  async function provider(): Promise<oidc.Configuration> {
    const nowMs = clock.monotonicMs();
    if (discovered !== null && nowMs - discovered.atMs < discoveryMs) return discovered.configuration;
    const { issuer, client_id, client_secret } = config;
    const server = new URL(issuer);
    const metadata = { ...(client_secret !== undefined && { client_secret }), [oidc.clockTolerance]: clockToleranceS };
    const execute = server.protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
    const auth = client_secret === undefined ? oidc.None() : secretAuth(client_secret);
    const configuration = await oidc.discovery(server, client_id, metadata, auth, { execute, timeout: answerMaxS });
    discovered = { configuration, atMs: nowMs };
    return configuration;
  }

  return {
    /** Address that the browser goes to. */
    async begin(redirectUri: string): Promise<{ url: string; secrets: LoginSecrets }> {
      const configuration = await provider();
      const secrets = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: config.scopes.join(' '),
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, secrets };
    },
    /** `callbackUrl`: the redirect URI with the parameters that the provider added. */
    async finish(callbackUrl: string, { state, nonce, verifier }: LoginSecrets): Promise<Identity> {
      const configuration = await provider();
      const tokens = await oidc.authorizationCodeGrant(configuration, new URL(callbackUrl), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
      });
      const claims = tokens.claims()!;
      const { issuer, userinfo_endpoint } = configuration.serverMetadata();
      const isWhole = claimAt(claims, config.groups_claim) !== undefined || userinfo_endpoint === undefined;
      const more = isWhole ? {} : await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      const all: Record<string, unknown> = { ...more, ...claims };
      const listed = claimAt(all, config.groups_claim);
      return {
        issuer,
        subject: claims.sub,
        name: nameIn(all),
        username: textIn(all.preferred_username),
        email: verifiedEmailIn(all),
        groups: groupsIn(listed),
        ...(listed === undefined && withholds(all, config.groups_claim) && { groupsWithheld: true }),
      };
    },
    /** Address where a browser ends its session at the provider; null: there is none. */
    async endSessionUrl(returnTo: string): Promise<string | null> {
      const configuration = await provider();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo }).href;
    },
  };
}

/** Client authentication in the way that the provider supports. Basic is the default (OpenID Connect Discovery §3). */
function secretAuth(clientSecret: string): oidc.ClientAuth {
  const basic = oidc.ClientSecretBasic(clientSecret);
  const post = oidc.ClientSecretPost(clientSecret);
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

function nameIn(claims: Readonly<Record<string, unknown>>): string {
  const named = [claims.email, claims.preferred_username, claims.name, claims.sub];
  return named.find(hasText) ?? '';
}

/** Entra ID names a place of Graph in place of more than 200 groups, or says `hasgroups`. */
function withholds({ _claim_names: elsewhere, hasgroups }: Readonly<Record<string, unknown>>, name: string): boolean {
  return (isObject(elsewhere) && Object.hasOwn(elsewhere, name)) || hasgroups === true || hasgroups === 'true';
}

function verifiedEmailIn({ email, email_verified }: Readonly<Record<string, unknown>>): string | null {
  // Some providers write it as a text.
  const isVerified = email_verified === true || email_verified === 'true';
  return typeof email === 'string' && isVerified ? email : null;
}
