import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The used part of oidc-provider; it brings no types along. */
type ProviderConstructor = new (
  issuer: string,
  configuration: Record<string, unknown>,
) => { callback(): RequestListener };

export interface OpenIdProvider {
  issuer: string;
  /** `dashboard.oidc` of a gateway that logs people in here. */
  settings(roles: readonly object[]): object;
  /** A person's identity from the next login on; people who are not named have no groups. */
  people: Map<string, { groups?: unknown; name?: string; verified?: boolean; others?: object }>;
  /** Registers the gateway at this address; before the first login. */
  register(gatewayUrl: string): Promise<void>;
  /** Paths that were asked for, without queries. */
  asked: string[];
  close(): Promise<void>;
}

/**
 * A real OpenID provider on a free port, with the login and consent pages of oidc-provider: any password is right.
 * `claims: 'id-token'` puts groups into the ID token, as most do; else they are in userinfo alone.
 */
export async function startOpenIdProvider(options: { claims: 'id-token' | 'userinfo' }): Promise<OpenIdProvider> {
  let handle: RequestListener = (_request, response) => response.writeHead(503).end();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!.split('?')[0]!);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people: OpenIdProvider['people'] = new Map();
  const clientSecret = 'secret-of-culvert-at-its-provider';
  return {
    issuer,
    settings: (roles) => ({
      ...{ issuer, client_id: 'culvert', client_secret: clientSecret, name: 'Example' },
      scopes: ['openid', 'email', 'groups'],
      roles,
    }),
    people,
    asked,
    async register(gatewayUrl) {
      const quiet = console.warn;
      const silent = console.info;
      // It says that its pages are for development, which is what they are for here.
      console.warn = () => undefined;
      console.info = () => undefined;
      const { Provider } = (await import('oidc-provider' as string)) as { Provider: ProviderConstructor };
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: 'culvert',
            client_secret: clientSecret,
            redirect_uris: [`${gatewayUrl}/dashboard/oidc/callback`],
            post_logout_redirect_uris: [`${gatewayUrl}/dashboard`],
          },
        ],
        claims: {
          openid: ['sub'],
          email: ['email', 'email_verified'],
          groups: ['groups', 'realm_access', 'hasgroups'],
        },
        conformIdTokenClaims: options.claims === 'userinfo',
        pkce: { required: () => true },
        findAccount: (_context: unknown, id: string) => ({
          accountId: id,
          claims: async () => {
            const { name = `${id}@example.org`, verified = false } = people.get(id) ?? {};
            return { sub: id, email: name, email_verified: verified, ...groupsOf(id) };
          },
        }),
        cookies: { keys: ['a key of the tests'] },
      });
      handle = provider.callback();
      console.warn = quiet;
      console.info = silent;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function groupsOf(id: string): object {
    const { groups, others } = people.get(id) ?? {};
    return { ...(groups !== undefined && { groups }), ...others };
  }
}

/** A browser without scripts: cookies by origin, redirects by hand. */
export class PlainBrowser {
  private readonly jars = new Map<string, Map<string, string>>();

  /** Cookies for a URL; paths of cookies are ignored. */
  cookies(url: string): Map<string, string> {
    const { origin } = new URL(url);
    let jar = this.jars.get(origin);
    if (jar === undefined) {
      jar = new Map();
      this.jars.set(origin, jar);
    }
    return jar;
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.cookies(url);
    const headers = new Headers(init.headers);
    if (jar.size > 0) headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === '' || /max-age=0\b|expires=thu, 01 jan 1970/i.test(cookie)) jar.delete(name!);
      else jar.set(name!, value!);
    }
    return response;
  }

  /** Goes on until there is no redirect any more, or one that leads to `stopAt`. */
  async follow(
    url: string,
    stopAt: string | null = null,
    init: RequestInit = {},
  ): Promise<{ url: string; response: Response }> {
    let at = url;
    let response = await this.fetch(at, init);
    for (let hops = 0; hops < 20; hops++) {
      const location = response.headers.get('location');
      if (location === null) break;
      await response.text();
      at = new URL(location, at).href;
      if (stopAt !== null && at.startsWith(stopAt)) break;
      response = await this.fetch(at);
    }
    return { url: at, response };
  }

  /** Through the provider's pages as this person; the URL at which the gateway is called back, not yet asked for. */
  async logInAs(person: string, start: string, callback: string): Promise<string> {
    let { url, response } = await this.follow(start, callback);
    for (let pages = 0; pages < 3 && !url.startsWith(callback); pages++) {
      const page = await response.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
      if (action === undefined) throw new Error(`no form at ${url}: ${response.status} ${page.slice(0, 500)}`);
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? 'login';
      const body = new URLSearchParams({ prompt, login: person, password: 'any' });
      ({ url, response } = await this.follow(new URL(action, url).href, callback, { method: 'POST', body }));
    }
    if (!url.startsWith(callback)) throw new Error(`the provider did not send the browser back: ${url}`);
    return url;
  }
}
