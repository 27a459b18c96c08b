import { openAiChatId } from '../dialects/openai-chat/wire.ts';
import type { Alias } from '../models/model-table.ts';
import type { RouteCandidate, RouteQuery, RoutingWishes } from '../routing/route.ts';
import type { RequestFacts } from './request-body.ts';

/** Input of routing for such a request; `culvert explain` uses the same. */
export function plainQuery(
  { alias, candidates }: { alias: Alias; candidates: readonly RouteCandidate[] },
  { needs }: Pick<RequestFacts, 'needs'>,
  { fallback }: Pick<RoutingWishes, 'fallback'>,
  tenant: string,
): RouteQuery {
  return {
    alias: alias.id,
    tenant,
    targets: candidates,
    needs,
    conversation: null,
    attemptsMax: alias.attempts,
    fallback,
    callerDialect: openAiChatId,
    hedge: alias.hedge,
    ...(alias.prefer !== undefined && { prefer: alias.prefer }),
  };
}
