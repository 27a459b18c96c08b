import { malformed } from '../../../formats/dialects/embeddings/read-rows.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { Health } from '../../../routing/health.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';

/**
 * A Fault when the target of `attempt` answers vectors of another length than its model's first target, by the last
 * vectors that this process or another knows of: callers have those already, and two lengths cannot be compared. The
 * first target itself may change; until it has answered, any length is right.
 */
export function otherLength(
  health: Pick<Health, 'stateOf'>,
  first: Target,
  { target, lane }: RouteAttempt,
  size: number,
): Fault | null {
  if (target === first) {
    lane.state.vectorLength = size;
    return null;
  }
  // Of several credentials, the one that answered last here knows what the model gives now.
  const states = first.credentials
    .map(({ id }) => health.stateOf(first.healthId ?? first.id, id))
    .sort((one, other) => other.respondedAtMs - one.respondedAtMs);
  const usual = states.find(({ vectorLength }) => vectorLength !== null)?.vectorLength;
  return usual === undefined || usual === size
    ? null
    : malformed(`returned vectors of ${size} dimensions, but the first target of the model gives ${usual}`);
}
