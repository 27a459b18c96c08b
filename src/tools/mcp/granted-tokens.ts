import { setTimeout as pause } from 'node:timers/promises';
import { extractWWWAuthenticateParams, refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  OAuthError,
  ServerError,
  TemporarilyUnavailableError,
  TooManyRequestsError,
} from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { Grant, McpGrants, StoredGrant, Tokens } from './grants.ts';
import { McpFault, McpFaultError } from './mcp-fault.ts';
import { sessionFault } from './session.ts';

/** A token is renewed so long before its end, or in the last tenth of its time. */
const earlyMs = 60_000;
/** A process that renews and dies is replaced after this time. */
const leaseMs = 15_000;
const leaseLookMs = 100;
/** New tokens that the store could not take are written again so often. */
const writeAgainMs = 1_000;
/** A server that refused a new token, or the want of one, is not asked again for so long. */
const refusedMs = 60_000;

export interface GrantedTokensParts {
  server: string;
  url: string;
  /** `required`: its configuration says so. `if-asked`: the server says so when it is asked without a token. */
  login: 'required' | 'if-asked';
  grants: McpGrants;
  /** To the authorization server. */
  fetch: FetchLike;
  clock: Clock;
}

/** Sends the tokens of an operator's login along, and renews them. Rejects with `McpFaultError`. */
export function withGrantedTokens(parts: GrantedTokensParts, send: FetchLike): FetchLike {
  const tokens = new GrantedTokens(parts);
  const sendWith = (token: string | null, url: string | URL, init: RequestInit | undefined) => {
    const headers = new Headers(init?.headers);
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    return send(url, { ...init, headers });
  };
  return async (url, init) => {
    const token = await tokens.current();
    const response = await sendWith(token, url, init);
    if (response.status === 403 && token !== null) refuseLackOfScope(response);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    const next = await tokens.afterRefusal(token);
    const second = await sendWith(next, url, init);
    if (second.status === 401) tokens.giveUp(next);
    return second;
  };
}

type UsableGrant = Grant & { tokens: Tokens };

class GrantedTokens {
  readonly #parts: GrantedTokensParts;
  #renewing: Promise<string> | null = null;
  /** Not kept yet. They are the only ones that work, since a refresh token may work once. */
  #unwritten: { row: StoredGrant['row']; grant: UsableGrant } | null = null;
  /** Null: without a token. */
  #refused: { token: string | null; untilMs: number } = { token: null, untilMs: 0 };

  constructor(parts: GrantedTokensParts) {
    this.#parts = parts;
  }

  /** Null: nobody has logged in, and no call has shown yet that a login is needed. */
  async current(): Promise<string | null> {
    const { login, clock } = this.#parts;
    const isNeeded = login === 'required' || this.#isRefused(null);
    const grant = this.#unwritten?.grant ?? this.#usable(await this.#stored(isNeeded));
    if (grant === null && isNeeded) throw needsLogin(noLogin);
    if (grant === null) return null;
    return isOver(grant.tokens, clock.wallMs()) ? this.#renewed(grant.tokens.access) : grant.tokens.access;
  }

  /** Asks the store itself before anybody has to log in: an operator may just have done so at another process. */
  async #stored(isNeeded: boolean): Promise<StoredGrant | null> {
    const { server, grants } = this.#parts;
    const recent = await grants.recent(server);
    const isOfUse = recent === null ? !isNeeded : recent.row.ended === null;
    return isOfUse ? recent : grants.find(server).catch(() => recent);
  }

  /** The server answered 401 to this token. */
  async afterRefusal(refused: string | null): Promise<string> {
    if (refused === null) {
      this.giveUp(null);
      const token = await this.current();
      if (token === null) throw needsLogin(noLogin);
      return token;
    }
    // The next one would be refused too.
    if (this.#isRefused(refused)) throw needsLogin('refuses the token that its authorization server has just given');
    return this.#renewed(refused);
  }

  giveUp(token: string | null): void {
    this.#refused = { token, untilMs: this.#parts.clock.monotonicMs() + refusedMs };
  }

  #isRefused(token: string | null): boolean {
    return this.#refused.token === token && this.#parts.clock.monotonicMs() < this.#refused.untilMs;
  }

  /** For all who wait at once. */
  #renewed(refused: string): Promise<string> {
    this.#renewing ??= this.#renew(refused).finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async #renew(refused: string): Promise<string> {
    const { server, grants, clock } = this.#parts;
    await this.#write();
    const giveUpMs = clock.monotonicMs() + leaseMs + 5_000;
    while (clock.monotonicMs() < giveUpMs) {
      const stored = await grants.find(server);
      const grant = this.#usable(stored);
      if (stored === null || grant === null) throw needsLogin(noLogin);
      const { tokens } = grant;
      // Another process was first.
      if (tokens.access !== refused && !isOver(tokens, clock.wallMs())) return tokens.access;
      if (tokens.refresh === null) {
        await this.#end(stored, grant, 'its token has expired, and its authorization server gave no refresh token');
        continue;
      }
      if (await grants.lease(stored.row, leaseMs)) {
        // It may be the same token, with a new time.
        const access = await this.#ask(stored, grant, tokens.refresh);
        if (access !== null) return access;
      } else await pause(leaseLookMs);
    }
    throw new McpFaultError(new McpFault('unreachable', 'could not be asked: its token is being renewed elsewhere'));
  }

  /** By the process that has the lease. Null: what is kept has changed, and tells more. */
  async #ask(stored: StoredGrant, grant: Grant, refreshToken: string): Promise<string | null> {
    const { grants, fetch, clock } = this.#parts;
    const { issuer, metadata, client, resource } = grant;
    let given: OAuthTokens;
    try {
      given = await refreshAuthorization(issuer, {
        metadata,
        clientInformation: client.information,
        refreshToken,
        resource,
        fetchFn: fetch,
      });
    } catch (error) {
      if (isFinal(error)) {
        await this.#end(stored, grant, `its authorization server does not renew the token (${error.errorCode})`);
        return null;
      }
      // Otherwise it expires.
      await grants.release(stored.row).catch(() => undefined);
      const why = error instanceof OAuthError ? error.errorCode : sessionFault(error).reason;
      const message = `could not be asked: its authorization server does not renew the token right now (${why})`;
      throw new McpFaultError(new McpFault('unreachable', message));
    }
    const tokens = tokensOf(given, clock.wallMs());
    this.#unwritten = { row: stored.row, grant: { ...grant, tokens } };
    return (await this.#write().catch(() => this.#writeLater())) ? tokens.access : null;
  }

  /** Keeps new tokens, if there are some. False: a newer login, or nobody's, is in their place. */
  async #write(): Promise<boolean> {
    const { server, grants } = this.#parts;
    const renewed = this.#unwritten;
    if (renewed === null) return true;
    let written = await grants.replace(renewed.row, renewed.grant, null);
    if (written === null) {
      const now = await grants.find(server);
      // Another process has meanwhile found the earlier tokens used up.
      const isSame = now !== null && now.row.ended !== null && now.row.loginMs === renewed.row.loginMs;
      if (isSame) written = await grants.replace(now.row, renewed.grant, null);
    }
    if (this.#unwritten === renewed) this.#unwritten = null;
    return written !== null;
  }

  #writeLater(): true {
    setTimeout(() => {
      this.#write().catch((error: unknown) => {
        // Anything else than a store that is away lasts.
        if (error instanceof FailureError) this.#writeLater();
      });
    }, writeAgainMs).unref();
    return true;
  }

  /** Keeps who we are there, for the next login. */
  async #end(stored: StoredGrant, grant: Grant, why: string): Promise<void> {
    await this.#parts.grants.replace(stored.row, { ...grant, tokens: null }, why);
  }

  /** Null: none, or it was given for another address. */
  #usable(stored: StoredGrant | null): UsableGrant | null {
    if (stored === null) return null;
    const { row, grant } = stored;
    if (grant === null) throw needsLogin('needs a new login: another storage.secret has sealed the last one');
    if (grant.url !== this.#parts.url) return null;
    if (grant.tokens === null) throw needsLogin(`needs a new login: ${row.ended}`);
    return grant as UsableGrant;
  }
}

/** A step up: the login works, but not for this. */
function refuseLackOfScope(response: Response): void {
  const { error, scope = '' } = extractWWWAuthenticateParams(response);
  if (error !== 'insufficient_scope') return;
  const named = /^[\x21-\x7e ]{1,500}$/.test(scope) ? ` (${scope})` : '';
  const message = `refused: the login has too few permissions${named}. An operator adds them to oauth.scope and logs in again`;
  throw new McpFaultError(new McpFault('refused', message));
}

const noLogin = 'needs a login by an operator';

function needsLogin(message: string): McpFaultError {
  return new McpFaultError(new McpFault('needs-login', message));
}

function isOver({ issuedMs, expiresMs }: Tokens, nowMs: number): boolean {
  return expiresMs !== null && nowMs >= expiresMs - Math.min(earlyMs, (expiresMs - issuedMs) / 10);
}

/** The authorization server will not say anything else next time. */
function isFinal(error: unknown): error is OAuthError {
  const passing = [ServerError, TemporarilyUnavailableError, TooManyRequestsError];
  return error instanceof OAuthError && !passing.some((kind) => error instanceof kind);
}

export function tokensOf(given: OAuthTokens, nowMs: number): Tokens {
  const { access_token: access, refresh_token: refresh = null, expires_in: seconds = 0 } = given;
  // Some write 0 or null for a token that lasts until it is taken back.
  return { access, refresh, issuedMs: nowMs, expiresMs: seconds < 1 ? null : nowMs + seconds * 1_000 };
}
