import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { AccountReply } from '../../../src/admin/entries/accounts.ts';
import type { AgentReply } from '../../../src/admin/entries/agents.ts';
import type { GuardReply } from '../../../src/admin/entries/guards.ts';
import type { KeyReply } from '../../../src/admin/entries/keys.ts';
import type { McpServerReply } from '../../../src/admin/entries/mcp-server-shown.ts';
import type { ModelReply } from '../../../src/admin/entries/models.ts';
import type { PlanReply } from '../../../src/admin/entries/plans.ts';
import type { PromptReply } from '../../../src/admin/entries/prompts.ts';
import type { ProviderReply } from '../../../src/admin/entries/provider-shown.ts';
import type { RouteReply } from '../../../src/admin/entries/routes.ts';
import type { RequestReply } from '../../../src/admin/request-schema.ts';
import { get } from './request.ts';

/**
 * A list of `/admin/v1` whose entries have addresses: `path` and their name. `refresh` reads it again after a change,
 * and the lists of `also`, whose contents come and go with it.
 */
export function entriesOf<Entry>(path: string, also: readonly string[] = []) {
  const addressOf = (name: string) => `${path}/${encodeURIComponent(name)}`;
  return {
    path,
    addressOf,
    query: (name: string) =>
      queryOptions({
        queryKey: [path, name],
        queryFn: ({ signal }) => get<Entry>(addressOf(name), {}, signal),
      }),
    async refresh(client: QueryClient): Promise<void> {
      await Promise.all([path, ...also].map((each) => client.invalidateQueries({ queryKey: [each] })));
    },
  };
}

/** An account as its own page reads it. */
export type DetailedAccount = AccountReply & { open_requests: number };

export const accounts = entriesOf<DetailedAccount>('/admin/v1/accounts');
export const agents = entriesOf<AgentReply>('/admin/v1/agents');
export const guards = entriesOf<GuardReply>('/admin/v1/guards');
export const keys = entriesOf<KeyReply>('/admin/v1/keys');
export const mcpServers = entriesOf<McpServerReply>('/admin/v1/mcp-servers');
export const models = entriesOf<ModelReply>('/admin/v1/models');
export const plans = entriesOf<PlanReply>('/admin/v1/plans');
export const prompts = entriesOf<PromptReply>('/admin/v1/prompts');
/** Models come and go with them. */
export const providers = entriesOf<ProviderReply>('/admin/v1/providers', ['/admin/v1/models', '/admin/v1/overview']);
export const rules = entriesOf<RouteReply>('/admin/v1/routes');
export const requests = entriesOf<RequestReply>('/admin/v1/requests');
