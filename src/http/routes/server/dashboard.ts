import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import type { Dashboard } from '../../dashboard/create-dashboard.ts';
import type { Route } from '../../exchange.ts';
import { scimRoutes } from './scim.ts';

/** The dashboard's files and its sessions; `dashboard` is loaded with the first request. */
export function dashboardRoutes(dashboard: () => Promise<Dashboard>): Route[] {
  const shared = { quota: 'none', dialect: openAiChat } as const;
  const page: Omit<Route, 'path' | 'summary'> = {
    ...shared,
    method: 'GET',
    auth: 'none',
    handle: async (exchange) => (await dashboard()).pages(exchange),
  };
  const session = { ...shared, path: '/dashboard/session', auth: 'session', endpoint: 'dashboard' } as const;
  return [
    ...scimRoutes(async (exchange) => (await dashboard()).scim(exchange)),
    { ...page, path: '/dashboard', summary: 'The dashboard, for browsers.' },
    { ...page, path: '/dashboard/*', summary: 'A page of the dashboard.' },
    { ...page, path: '/account', summary: 'The page for holders of an API key, for browsers.' },
    { ...page, path: '/account/*', summary: 'A file of that page.' },
    {
      ...session,
      method: 'POST',
      summary: 'Logs a browser in by `{"token"}` of a login link, `{"admin_key"}` or `{"key"}`, an API key.',
      handle: async (exchange) => (await dashboard()).signIn.start(exchange),
    },
    {
      ...session,
      method: 'GET',
      summary: 'Who is logged in, and the token that goes in x-culvert-csrf.',
      handle: async (exchange) => (await dashboard()).signIn.read(exchange),
    },
    {
      ...session,
      method: 'DELETE',
      summary: 'Logs a browser out.',
      handle: async (exchange) => (await dashboard()).signIn.end(exchange),
    },
    {
      ...session,
      method: 'POST',
      path: '/dashboard/invitation',
      summary: 'Says what an invitation gives. `{"token"}` of its link.',
      handle: async (exchange) => (await dashboard()).invitation.look(exchange),
    },
    {
      ...session,
      method: 'POST',
      path: '/dashboard/invitation/accept',
      summary:
        'Accepts an invitation, once: `{"token", "name"}`. Logs the browser in, and gives the key of the new operator.',
      handle: async (exchange) => (await dashboard()).invitation.accept(exchange),
    },
    {
      ...session,
      method: 'GET',
      path: '/dashboard/oidc/start',
      summary: 'Sends a browser to the OpenID provider. `to` is the page that it returns to.',
      handle: async (exchange) => (await dashboard()).oidc.start(exchange),
    },
    {
      ...session,
      method: 'GET',
      path: '/dashboard/oidc/callback',
      summary: 'Logs in a browser that returns from the OpenID provider.',
      handle: async (exchange) => (await dashboard()).oidc.callback(exchange),
    },
    {
      ...session,
      method: 'GET',
      path: '/dashboard/saml/start',
      summary: 'Sends a browser to the SAML identity provider. `to` is the page that it returns to.',
      handle: async (exchange) => (await dashboard()).saml.start(exchange),
    },
    {
      ...session,
      method: 'POST',
      path: '/dashboard/saml/acs',
      summary: 'Logs in a browser that returns from the SAML identity provider, with a form.',
      handle: async (exchange) => (await dashboard()).saml.consume(exchange),
    },
    {
      ...session,
      method: 'GET',
      path: '/dashboard/saml/metadata',
      summary: 'SAML metadata of this server, as a service provider.',
      handle: async (exchange) => (await dashboard()).saml.metadata(exchange),
    },
  ];
}
