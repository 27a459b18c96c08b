import type { Principal } from '../../books/auth/principal.ts';
import { openAiChatId } from '../../formats/dialects/openai-chat/wire.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { noneServes, noneUsable } from '../../routing/capability.ts';
import { derivedTargets, healthIdOf } from '../../routing/derived-targets.ts';
import type { RouteCandidate, RouteQuery, RoutingPreferences } from '../../routing/route.ts';
import type { Target } from '../../routing/target.ts';
import type { Alias } from '../models/alias.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { RequestFacts } from './request-body.ts';

/** Candidates for a request that an endpoint without dialects takes. */
export interface PlainWay {
  alias: Alias;
  candidates: readonly RouteCandidate[];
}

/** An endpoint without dialects, and what it wants of targets. */
export interface PlainEndpoint {
  name: string;
  /** Type of its models. Others may have targets that serve it. */
  type: Alias['type'];
  /** In words behind a provider, such as `makes pictures`. */
  does: string;
  serves(target: Target): boolean;
}

/** The alias and its targets that serve an endpoint; a 404, 403 or 400 when it is unknown, not allowed, or has none. */
export function plainWay(
  { models }: Pick<Snapshot, 'models'>,
  model: string,
  principal: Principal,
  { name, type, does, serves }: PlainEndpoint,
): PlainWay | Failure {
  const alias = models.resolve(model, principal);
  if (isFailure(alias)) return alias;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const health = alias.type === type ? 'shared' : 'own';
  const candidates = alias.candidates
    .filter(({ target }) => serves(target))
    .map(({ target, rank }) => ({ target: plainTarget(target, name, health), rank }));
  return candidates.length > 0 ? { alias, candidates } : noneServes(alias, does, models.list(principal), type);
}

/** Input of routing for such a request; `culvert explain` uses the same. */
export function plainQuery(
  { alias, candidates }: PlainWay,
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
