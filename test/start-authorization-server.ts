import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { listening } from './listening.ts';
import { startMcpServer, type TestMcpOptions } from './start-mcp-server.ts';

/* An OAuth 2.1 authorization server for MCP servers: codes with PKCE, dynamic registration, rotating refresh tokens. */

export interface TestAuthorizationServer {
  url: string;
  /** Host and port, for `fetch.allow_private`. */
  place: string;
  /** Paths of all requests so far. */
  asked: string[];
  registered: { redirect_uris: string[]; token_endpoint_auth_method: string; scope?: string }[];
  /** Queries of the addresses that browsers opened. */
  opened: URLSearchParams[];
  /** Bodies of token requests, with how the client named itself. */
  tokenRequests: { body: URLSearchParams; authorization: string | undefined }[];
  /** Everything secret that it gave out. */
  given: string[];
  accepts(authorization: string | undefined): boolean;
  /** The access tokens given so far are refused from now on. */
  expire(): void;
  /** So are its refresh tokens, as when somebody takes the permission back. */
  revoke(): void;
  /** Behaviour from now on. */
  mode: {
    registers: boolean | 'nobody';
    /** Ways in which clients may name themselves, as that of MCP's SDK for Python has them: each wants the id in the body. */
    methods: readonly string[] | null;
    /** Whether the MCP server names it. */
    isNamed: boolean;
    /** Instead of an access token. */
    token: string | null;
    answer: 'code' | 'access_denied';
    iss: string | null;
    refreshes: boolean;
    fails: boolean;
    /** Seconds that its access tokens say they live; other types, as some servers write them. */
    expiresIn: unknown;
    /** A renewal gives the access token that the client has already. */
    keepsAccess: boolean;
    /** A permission that the MCP server misses; null: none. */
    misses: string | null;
    /** Called before tokens are given. */
    onTokens: () => void;
  };
}

interface Code {
  clientId: string;
  challenge: string;
  redirectUri: string;
  resource: string;
}

export async function startAuthorizationServer(t: { after(done: () => void): void }): Promise<TestAuthorizationServer> {
  const access = new Set<string>();
  const refresh = new Set<string>();
  const codes = new Map<string, Code>();
  const clients = new Map<string, { secret: string | null }>([['configured', { secret: 'the-client-secret' }]]);
  const server = createServer(async (request, response) => {
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const { pathname, searchParams } = new URL(request.url ?? '/', state.url);
    state.asked.push(pathname);
    let text = '';
    for await (const chunk of request) text += chunk;
    switch (pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: state.url,
          authorization_endpoint: `${state.url}/authorize?tenant=1`,
          token_endpoint: `${state.url}/token`,
          ...(state.mode.registers !== false && { registration_endpoint: `${state.url}/register` }),
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          scopes_supported: ['tools', 'offline_access'],
          authorization_response_iss_parameter_supported: true,
          ...(state.mode.methods !== null && { token_endpoint_auth_methods_supported: state.mode.methods }),
        });
      case '/register': {
        if (state.mode.registers === 'nobody') return json(400, { error: 'invalid_redirect_uri' });
        const client = { client_id: randomUUID(), client_secret: randomUUID() };
        clients.set(client.client_id, { secret: client.client_secret });
        state.given.push(client.client_secret);
        const wanted = JSON.parse(text) as TestAuthorizationServer['registered'][number];
        state.registered.push(wanted);
        return json(201, { ...wanted, ...client });
      }
      case '/authorize': {
        state.opened.push(searchParams);
        const back = new URL(searchParams.get('redirect_uri')!);
        if (state.mode.answer === 'code') {
          const code = randomUUID();
          codes.set(code, {
            clientId: searchParams.get('client_id')!,
            challenge: searchParams.get('code_challenge')!,
            redirectUri: back.href,
            resource: searchParams.get('resource')!,
          });
          back.searchParams.set('code', code);
        } else back.searchParams.set('error', state.mode.answer);
        back.searchParams.set('iss', state.mode.iss ?? state.url);
        back.searchParams.set('state', searchParams.get('state')!);
        return response.writeHead(302, { location: back.href }).end();
      }
      case '/token': {
        const body = new URLSearchParams(text);
        const { authorization } = request.headers;
        state.tokenRequests.push({ body, authorization });
        if (state.mode.fails) return json(503, { error: 'temporarily_unavailable' });
        const inBody = [body.get('client_id') ?? '', body.get('client_secret') ?? ''];
        const inHeader = Buffer.from(authorization?.split(' ')[1] ?? '', 'base64')
          .toString()
          .split(':');
        const [id = '', secret = ''] = state.mode.methods === null ? inHeader : inBody;
        const client = clients.get(id);
        if (client === undefined || client.secret !== secret) return json(401, { error: 'invalid_client' });
        if (body.get('grant_type') === 'refresh_token') {
          // Each works once.
          if (!refresh.delete(body.get('refresh_token')!)) return json(400, { error: 'invalid_grant' });
        } else {
          const code = codes.get(body.get('code')!);
          codes.delete(body.get('code')!);
          const challenge = createHash('sha256').update(body.get('code_verifier')!).digest('base64url');
          const isRight =
            code?.challenge === challenge &&
            code.clientId === id &&
            code.redirectUri === body.get('redirect_uri') &&
            code.resource === body.get('resource');
          if (!isRight) return json(400, { error: 'invalid_grant' });
        }
        state.mode.onTokens();
        const isKept = state.mode.keepsAccess && body.get('grant_type') === 'refresh_token';
        const [token, next] = [isKept ? [...access].at(-1)! : `access-${randomUUID()}`, `refresh-${randomUUID()}`];
        access.add(token);
        if (state.mode.refreshes) refresh.add(next);
        state.given.push(token, next);
        const answer = {
          access_token: state.mode.token ?? token,
          token_type: 'Bearer',
          expires_in: state.mode.expiresIn,
          scope: 'tools',
        };
        return json(200, { ...answer, ...(state.mode.refreshes && { refresh_token: next }) });
      }
      default:
        return json(404, {});
    }
  });
  const url = await listening(t, server);
  const state: TestAuthorizationServer = {
    url,
    place: new URL(url).host,
    asked: [],
    registered: [],
    opened: [],
    tokenRequests: [],
    given: [],
    accepts: (authorization) => access.has(authorization?.replace(/^Bearer /, '') ?? ''),
    expire: () => access.clear(),
    revoke() {
      access.clear();
      refresh.clear();
    },
    mode: {
      registers: true,
      methods: null,
      isNamed: true,
      token: null,
      answer: 'code',
      iss: null,
      refreshes: true,
      fails: false,
      expiresIn: 3_600,
      keepsAccess: false,
      misses: null,
      onTokens: () => undefined,
    },
  };
  return state;
}

/** A real MCP server that takes the tokens of that authorization server alone, and says where they are. */
export async function startProtectedMcpServer(
  t: { after(done: () => Promise<void>): void },
  issuer: Pick<TestAuthorizationServer, 'url' | 'accepts' | 'mode'>,
  options: TestMcpOptions = {},
) {
  let refused = 0;
  const server = await startMcpServer(t, {
    ...options,
    before(request, response) {
      const base = `http://${request.headers.host}`;
      if (request.url === '/.well-known/oauth-protected-resource/mcp') {
        const body = { resource: `${base}/mcp`, authorization_servers: issuer.mode.isNamed ? [issuer.url] : [] };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        return true;
      }
      const { misses } = issuer.mode;
      if (issuer.accepts(request.headers.authorization) && misses === null) return false;
      if (misses !== null) {
        const lack = `Bearer error="insufficient_scope", scope="${misses}"`;
        response.writeHead(403, { 'www-authenticate': lack }).end();
        return true;
      }
      const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp", scope="tools"`;
      refused += 1;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    },
  });
  return { ...server, refused: () => refused };
}

/** Follows the address of a login as a browser does, to the page where it ends. */
export async function openLogin(url: string): Promise<{ status: number; text: string; callback: string }> {
  const sent = await fetch(url, { redirect: 'manual' });
  const callback = sent.headers.get('location')!;
  const page = await fetch(callback);
  return { status: page.status, text: await page.text(), callback };
}
