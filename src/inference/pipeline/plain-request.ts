import { openAiChatId } from '../dialects/openai-chat/wire.ts';
import { noNeeds, type RequestNeeds } from '../neutral/request.ts';
import type { RouteCandidate, RouteQuery } from '../routing/route.ts';
import type { ConversationFacts } from './conversation-body.ts';
import type { Alias } from './model-table.ts';
import type { RoutingWishes } from './routing-wishes.ts';

/** What a request says of itself that is no conversation; `needs`: what its own kind asks of a target. */
export function plainFacts(
  request: { model: string; user: string | null; stream: boolean; inputTokensEstimate: number },
  needs: Partial<RequestNeeds> = {},
): ConversationFacts {
  const { model, user, stream, inputTokensEstimate } = request;
  return {
    model,
    stream,
    includeUsage: false,
    n: 1,
    seed: null,
    user,
    fallbackModels: [],
    conversationStart: '',
    needs: { ...noNeeds, stream, inputTokensEstimate, ...needs },
  };
}

/** What routing is asked for such a request; `culvert explain` asks the same. */
export function plainQuery(
  { alias, candidates }: { alias: Alias; candidates: readonly RouteCandidate[] },
  { needs }: Pick<ConversationFacts, 'needs'>,
  { fallback }: Pick<RoutingWishes, 'fallback'>,
  tenant: string,
): RouteQuery {
  return {
    alias: alias.id,
    tenant,
    targets: candidates,
    needs,
    affinity: null,
    attemptsMax: alias.attempts,
    fallback,
    callerDialect: openAiChatId,
    hedge: alias.hedge,
  };
}
