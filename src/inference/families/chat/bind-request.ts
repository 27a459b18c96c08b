import type { Principal } from '../../../books/auth/principal.ts';
import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { dialectFor, oneSpeaks } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { Job } from '../../spine/job.ts';
import type { Bound } from './bind-candidates.ts';
import type { ConversationExtras } from './conversation-body.ts';
import type { PlanServices } from './services.ts';

interface Asking {
  principal: Principal;
  dialect: CallerDialectId;
}

/** A request, with the ids in it of objects at a provider. */
export interface Naming {
  model: string;
  extras: Pick<ConversationExtras, 'named' | 'nativeOnly'>;
}

/** Leaves the candidates that can reach the named objects. Null: nobody can answer it, and the encoder says why. */
export async function bindTo(
  { objects }: Pick<PlanServices, 'objects'>,
  { providers }: Snapshot,
  { principal, dialect }: Asking,
  { model, extras: { named, nativeOnly } }: Naming,
  candidates: readonly RouteCandidate[],
): Promise<Bound | Failure | null> {
  if (nativeOnly !== null && !oneSpeaks(dialect, candidates)) return null;
  return objects.bind({ tenant: principal.tenant, model, named, candidates, providers });
}

/** Ids in an answer that can be named later. */
export interface AnswerIds {
  /** Remembers who was given them. */
  given: NonNullable<Job['given']>;
  /** Resolves when those of them are written that were given since the last call. Null: they are. Never rejects. */
  unwritten(): Promise<void> | null;
}

export async function keeperOf(
  { objects }: Pick<PlanServices, 'objects'>,
  { principal, dialect }: Asking,
  { named, answerGives }: Pick<ConversationExtras, 'named' | 'answerGives'>,
): Promise<AnswerIds> {
  await objects.ready();
  let latest: string[] = [];
  const given: AnswerIds['given'] = (attempt, ids) => {
    // Callers of another format see ids of our own.
    if (dialectFor(attempt.target, dialect) !== dialect) return;
    const nameable = ids.filter((one) => one.nameable === 'always' || answerGives === 'all').map(({ id }) => id);
    // Sending a shared id back does not make it the tenant's own.
    const fresh = nameable.filter((id) => named.every((one) => one.id !== id));
    if (fresh.length === 0) return;
    objects.give(principal.tenant, attempt, fresh);
    latest.push(...fresh);
  };
  return {
    given,
    unwritten() {
      if (latest.length === 0) return null;
      const ids = latest;
      latest = [];
      return objects.recorded(principal.tenant, ids);
    },
  };
}
