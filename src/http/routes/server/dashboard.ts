import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import type { Dashboard } from '../../dashboard/create-dashboard.ts';
import type { Exchange, Route } from '../../exchange.ts';

/** The dashboard's files and its sessions; `dashboard` is loaded with the first request. */
export function dashboardRoutes(dashboard: () => Promise<Dashboard>): Route[] {
  const shared = { quota: 'none', dialect: openAiChat } as const;
  const page: Omit<Route, 'path' | 'summary'> = {
    ...shared,
    method: 'GET',
    auth: 'none',
    handle: async (exchange) => (await dashboard()).pages(exchange),
  };
  const session = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    summary: string,
    answer: (loaded: Dashboard, exchange: Exchange) => ReturnType<Route['handle']>,
  ): Route => ({
    ...shared,
    method,
    path: `/dashboard/${path}`,
    auth: 'session',
    endpoint: 'dashboard',
    summary,
    handle: async (exchange) => answer(await dashboard(), exchange),
  });
  const login = 'Logs a browser in by `{"token"}` of a login link, `{"admin_key"}` or `{"key"}`, an API key.';
  const look = 'Says what an invitation gives. `{"token"}` of its link.';
  const accept =
    'Accepts an invitation, once: `{"token", "name"}`. Logs the browser in, and gives the key of the new operator.';
  const toOidc = 'Sends a browser to the OpenID provider. `to` is the page that it returns to.';
  const fromOidc = 'Logs in a browser that returns from the OpenID provider.';
  const toSaml = 'Sends a browser to the SAML identity provider. `to` is the page that it returns to.';
  const fromSaml = 'Logs in a browser that returns from the SAML identity provider, with a form.';
  const metadata = 'SAML metadata of this server, as a service provider.';
  return [
    ...scimRoutes(async (exchange) => (await dashboard()).scim(exchange)),
    { ...page, path: '/dashboard', summary: 'The dashboard, for browsers.' },
    { ...page, path: '/dashboard/*', summary: 'A page of the dashboard.' },
    { ...page, path: '/account', summary: 'The page for holders of an API key, for browsers.' },
    { ...page, path: '/account/*', summary: 'A file of that page.' },
    session('POST', 'session', login, ({ signIn }, exchange) => signIn.start(exchange)),
    session('GET', 'session', 'Says who is logged in, and the token for x-culvert-csrf.', ({ signIn }, exchange) =>
      signIn.read(exchange),
    ),
    session('DELETE', 'session', 'Logs a browser out.', ({ signIn }, exchange) => signIn.end(exchange)),
    session('POST', 'invitation', look, ({ invitation }, exchange) => invitation.look(exchange)),
    session('POST', 'invitation/accept', accept, ({ invitation }, exchange) => invitation.accept(exchange)),
    session('GET', 'oidc/start', toOidc, ({ oidc }, exchange) => oidc.start(exchange)),
    session('GET', 'oidc/callback', fromOidc, ({ oidc }, exchange) => oidc.callback(exchange)),
    session('GET', 'saml/start', toSaml, ({ saml }, exchange) => saml.start(exchange)),
    session('POST', 'saml/acs', fromSaml, ({ saml }, exchange) => saml.consume(exchange)),
    session('GET', 'saml/metadata', metadata, ({ saml }, exchange) => saml.metadata(exchange)),
  ];
}

/** SCIM 2.0 for directories such as Entra ID and Okta; `door` is loaded with the first request. */
function scimRoutes(door: (exchange: Exchange) => Promise<void>): Route[] {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
  return methods.map((method) => ({
    method,
    path: '/scim/v2/*',
    // Its token is that of dashboard.scim.
    auth: 'session',
    quota: 'none',
    endpoint: 'scim',
    summary: 'SCIM 2.0: a directory provisions operators',
    dialect: openAiChat,
    handle: door,
  }));
}
