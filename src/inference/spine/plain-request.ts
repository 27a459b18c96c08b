import { openAiChatId } from '../../formats/dialects/openai-chat/wire.ts';
import { derivedTargets, healthIdOf } from '../../routing/derived-targets.ts';
import type { RouteCandidate, RouteQuery, RoutingPreferences } from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import type { Alias } from '../models/alias.ts';
import type { RequestFacts } from './request-body.ts';

/** Input of routing for such a request; `culvert explain` uses the same. */
export function plainQuery(
  { alias, candidates }: { alias: Alias; candidates: readonly RouteCandidate[] },
  { needs }: Pick<RequestFacts, 'needs'>,
  { fallback }: Pick<RoutingPreferences, 'fallback'>,
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
    ...(alias.barred !== undefined && { barred: alias.barred }),
    ...(alias.prefer !== undefined && { prefer: alias.prefer }),
    ...(alias.onFilter !== undefined && { onFilter: alias.onFilter }),
  };
}

/**
 * The same target as an endpoint without dialects sees it. Its health is separate there, since a model that does not
 * draw may well chat; `shared` is for an alias of the endpoint's type.
 */
export function plainTarget(target: Target, endpoint: string, health: 'own' | 'shared' = 'own'): Target {
  return derived(target, `${endpoint} ${health}`, () => {
    const separateHealth = health === 'shared' ? {} : { healthId: healthIdOf(target, endpoint) };
    return { ...target, dialect: openAiChatId, alsoSpeaks: [], ...separateHealth };
  });
}

const derived = derivedTargets();
