import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  registerClient,
  startAuthorization,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/sdk/shared/auth.js';
import { checkResourceAllowed } from '@modelcontextprotocol/sdk/shared/auth-utils.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isLoopback } from '../../config/loopback-host.ts';
import type { McpServerConfig } from '../../config/schema.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { writtenOrigins } from './authorization-fetch.ts';
import { tokensOf } from './granted-tokens.ts';
import type { Authorization, Client, Grant, McpGrants, Pending } from './grants.ts';
import { sessionFault } from './session.ts';

/** Longest time that a login may take. */
const loginMs = 10 * 60_000;
const stateChars = 43;
/** Token that may follow `Bearer ` in a header. */
const headerToken = /^[\x21-\x7e]+$/;

export interface LoginTarget {
  name: string;
  config: Pick<McpServerConfig, 'oauth' | 'headers'> & { url: string };
  /** Where the browser comes back. */
  redirectUri: string;
  /** To the MCP server and its authorization servers. */
  fetch: FetchLike;
}

/** A login at an MCP server by authorization code (OAuth 2.1, PKCE), as MCP's authorization says. */
export interface BegunLogin {
  /** Address that a browser opens. */
  url: string;
  /** Wall-clock ms. */
  endsMs: number;
}

/**
 * Finds the authorization server, becomes a client of it, and remembers the login. Throws a FailureError that says what
 * the MCP server or the authorization server lacks.
 */
export async function beginLogin(
  target: LoginTarget,
  grants: McpGrants,
  by: string,
  nowMs: number,
): Promise<BegunLogin> {
  const { name, redirectUri } = target;
  const found = await orUnreachable(name, () => authorizationOf(target, grants));
  const state = randomBase62(stateChars);
  const { authorizationUrl, codeVerifier } = await orUnreachable(name, () =>
    startAuthorization(found.issuer, {
      metadata: found.metadata,
      clientInformation: found.client.information,
      redirectUrl: redirectUri,
      state,
      resource: found.resource,
      ...(found.scope !== null && { scope: found.scope }),
    }),
  );
  await grants.begin(state, { ...found, server: name, verifier: codeVerifier, by }, loginMs);
  return { url: authorizationUrl.href, endsMs: nowMs + loginMs };
}

/** Null: no login of this `state` waits. */
export async function pendingLogin(params: URLSearchParams, grants: McpGrants): Promise<Pending | null> {
  const state = params.get('state') ?? '';
  return new RegExp(`^[0-9A-Za-z]{${stateChars}}$`).test(state) ? grants.redeem(state) : null;
}

/** Gets the tokens for what the browser brought back. Throws a FailureError. */
export async function finishLogin(
  pending: Pending,
  params: URLSearchParams,
  fetch: FetchLike,
  nowMs: number,
): Promise<Grant> {
  const { server, verifier, by: _, ...authorization } = pending;
  const { issuer, metadata, client, resource } = authorization;
  const refusal = params.get('error');
  if (refusal !== null) {
    const shown = /^[a-z_]{1,40}$/.test(refusal) ? ` (${refusal})` : '';
    throw failed(server, `its authorization server refused the login${shown}`);
  }
  // RFC 9207: an answer of another server would send the code there.
  const namedIssuer = params.get('iss');
  const issuerRequired = (metadata as JsonObject).authorization_response_iss_parameter_supported === true;
  if (namedIssuer === null ? issuerRequired : namedIssuer !== metadata.issuer) {
    throw failed(server, 'the answer to the login comes from another authorization server');
  }
  const authorizationCode = params.get('code');
  if (authorizationCode === null) throw failed(server, 'the answer to the login has no code');
  const given = await orUnreachable(server, () =>
    exchangeAuthorization(issuer, {
      metadata,
      clientInformation: client.information,
      authorizationCode,
      codeVerifier: verifier,
      redirectUri: client.redirectUri,
      resource,
      fetchFn: fetch,
    }),
  );
  if (given.token_type.toLowerCase() !== 'bearer' || !headerToken.test(given.access_token))
    throw failed(server, 'its authorization server gave no bearer token');
  return { ...authorization, scope: given.scope ?? authorization.scope, tokens: tokensOf(given, nowMs) };
}

async function authorizationOf(target: LoginTarget, grants: McpGrants): Promise<Authorization> {
  const { name, config, redirectUri, fetch } = target;
  const { url, oauth } = config;
  const challenge = await challengeOf(config, fetch);
  const resource = await discoverOAuthProtectedResourceMetadata(url, challenge, fetch).catch((error: unknown) => {
    if (sessionFault(error).reason !== 'broken') throw error;
    // Older servers have none, and are their own authorization servers.
    return null;
  });
  if (resource !== null && !checkResourceAllowed({ requestedResource: url, configuredResource: resource.resource })) {
    throw failed(name, 'its metadata is that of another resource');
  }
  const { authorization_servers: listed = [] } = resource ?? {};
  const named = listed.length > 0 ? listed : [oauth?.issuer ?? new URL(url).origin];
  const issuer = named.find((one) => oauth?.issuer === undefined || isSame(one, oauth.issuer));
  if (issuer === undefined) throw failed(name, 'it names other authorization servers than oauth.issuer');
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch });
  if (metadata === undefined) throw failed(name, 'it names no authorization server, so nobody can log in there');
  checkMetadata(name, metadata, issuer, writtenOrigins(config));
  const requestedScope = oauth?.scope ?? challenge.scope ?? resource?.scopes_supported?.join(' ');
  // Without it some give no refresh token.
  const more =
    metadata.scopes_supported?.includes('offline_access') && oauth?.scope === undefined ? ['offline_access'] : [];
  const scope = requestedScope === undefined ? null : [...new Set([...requestedScope.split(' '), ...more])].join(' ');
  const authorization = { url, issuer, metadata, resource: resource?.resource ?? url, scope };
  return { ...authorization, client: await clientOf(target, authorization, grants, redirectUri) };
}

/** The server's answer to a request without a token. */
async function challengeOf(
  { url, headers: configured }: LoginTarget['config'],
  fetch: FetchLike,
): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  const headers = { ...configured, accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' });
  await response.body?.cancel();
  return response.status === 401 ? extractWWWAuthenticateParams(response) : {};
}

function checkMetadata(
  name: string,
  metadata: AuthorizationServerMetadata,
  issuer: string,
  written: ReadonlySet<string>,
): void {
  if (!isSame(metadata.issuer, issuer)) {
    throw failed(name, 'the metadata of its authorization server is that of another one');
  }
  if (!metadata.code_challenge_methods_supported?.includes('S256')) {
    throw failed(name, 'its authorization server does not say that it supports PKCE (S256), which MCP requires');
  }
  const { authorization_endpoint, token_endpoint, registration_endpoint } = metadata;
  for (const address of [issuer, authorization_endpoint, token_endpoint, registration_endpoint]) {
    if (address === undefined) continue;
    const { protocol, hostname, origin } = new URL(address);
    const mayBePlain = protocol === 'http:' && (isLoopback(hostname) || written.has(origin));
    if (protocol !== 'https:' && !mayBePlain) {
      throw failed(
        name,
        'its authorization server has an address without encryption. If that is right, set oauth.issuer',
      );
    }
  }
}

/** The configured one, the one of the last login, or a new one by dynamic registration (RFC 7591). */
async function clientOf(
  { name, config: { oauth }, fetch }: LoginTarget,
  { issuer, metadata, scope }: Omit<Authorization, 'client'>,
  grants: McpGrants,
  redirectUri: string,
): Promise<Client> {
  if (oauth?.client_id !== undefined) {
    const { client_id, client_secret } = oauth;
    const information = { client_id, ...(client_secret !== undefined && { client_secret }) };
    return { information, origin: 'configured', redirectUri };
  }
  const before = (await grants.find(name))?.grant;
  // A client that the authorization server no longer knows ends with the grant.
  if (before?.tokens && isSame(before.issuer, issuer) && before.client.origin === 'registered') {
    if (before.client.redirectUri === redirectUri) return before.client;
  }
  if (metadata.registration_endpoint === undefined) {
    const message = `The authorization server of '${name}' offers no registration of clients. Register one there with the redirect address ${redirectUri}, and set oauth.client_id.`;
    throw new FailureError({ kind: 'conflict', message });
  }
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const information = await registerClient(issuer, {
    metadata,
    clientMetadata: {
      client_name: 'Culvert',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      // Servers of MCP's SDK for Python refuse HTTP Basic without the id in the body, where the SDK here has none.
      token_endpoint_auth_method:
        ['client_secret_post', 'client_secret_basic'].find((method) => methods.includes(method)) ?? 'none',
    },
    ...(scope !== null && { scope }),
    fetchFn: fetch,
  }).catch((error: unknown) => {
    if (!(error instanceof OAuthError)) throw error;
    throw failed(
      name,
      `its authorization server registers no client for ${redirectUri} (${error.errorCode}). Register one there, and set oauth.client_id`,
    );
  });
  return { information, origin: 'registered', redirectUri };
}

/** A slash at the end does not count. */
function isSame(one: string, other: string): boolean {
  return one.replace(/\/$/, '') === other.replace(/\/$/, '');
}

async function orUnreachable<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const { reason, message } = sessionFault(error);
    throw failed(
      name,
      reason === 'broken' ? 'an answer on the way could not be read' : `a server on the way ${message}`,
    );
  }
}

function failed(server: string, why: string): FailureError {
  const failure: Failure = { kind: 'mcp-failed', server, message: `Nobody is logged in at '${server}': ${why}.` };
  return new FailureError(failure);
}
