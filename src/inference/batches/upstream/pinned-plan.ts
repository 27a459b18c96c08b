import { priceShare } from '../../../formats/neutral/price.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import { derivedTargets, healthIdOf } from '../../../routing/derived-targets.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { Plan } from '../../spine/endpoint.ts';

/** It is asked from here: no caller sees it. */
const notThere = invalid(null, 'No batch of a provider takes this line.');

/** The plan of a line over those targets alone that are asked first, if the batch APIs of all of them may have it. */
export function planForBatches<P extends Plan>(plan: P, { providers }: Snapshot): P | Failure {
  const { alias, calls, query } = plan;
  // Several calls, or calls that depend on what the first one answered.
  const isSeveral = calls > 1 || alias.quality !== undefined || ('tools' in plan && plan.tools !== undefined);
  const first = firstOf(query.targets);
  const sharesOf = first.map(({ target }) => providers.get(target.provider)?.connection.batches?.priceShare);
  if (isSeveral || first.length === 0 || sharesOf.includes(undefined)) return notThere;
  return pinned(
    plan,
    first.map((candidate, at) => ({ ...candidate, target: batchTarget(candidate.target, null, sharesOf[at]!) })),
  );
}

/** The same plan over the target and the credential that have answered. */
export function planForAnswer<P extends Plan>(
  plan: P,
  { target, credential, share }: { target: string; credential: string; share: number },
): P | Failure {
  const found = plan.query.targets.find((candidate) => candidate.target.id === target);
  if (!found?.target.credentials.some(({ id }) => id === credential)) return notThere;
  return pinned(plan, [{ ...found, target: batchTarget(found.target, credential, share) }]);
}

function firstOf(candidates: readonly RouteCandidate[]): readonly RouteCandidate[] {
  const rank = Math.min(...candidates.map((candidate) => candidate.rank));
  const priority = Math.min(...candidates.filter((one) => one.rank === rank).map(({ target }) => target.priority));
  return candidates.filter((one) => one.rank === rank && one.target.priority === priority);
}

function pinned<P extends Plan>(plan: P, targets: readonly RouteCandidate[]): P {
  return { ...plan, query: { ...plan.query, targets, attemptsMax: 1, hedge: { atMost: 0, after: null } } };
}

/** The target for its batch API, with this credential or with all of them. Answers there are never streamed. */
function batchTarget(target: Target, credential: string | null, share: number): Target {
  return derived(target, `${share} ${credential}`, () => {
    const { wholeByStream: _, ...whole } = target;
    const credentials = target.credentials.filter(({ id }) => credential === null || id === credential);
    return {
      ...whole,
      stream: false,
      healthId: healthIdOf(target, 'batch'),
      price: target.price === null ? null : priceShare(target.price, share),
      priceShare: share,
      credentials: credentials.map((one) => ({ ...one, rpm: null })),
    };
  });
}

const derived = derivedTargets();
