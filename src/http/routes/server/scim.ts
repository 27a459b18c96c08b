import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import type { Exchange, Route } from '../../exchange.ts';

/** SCIM 2.0 for directories such as Entra ID and Okta; `door` is loaded with the first request. */
export function scimRoutes(door: (exchange: Exchange) => Promise<void>): Route[] {
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
