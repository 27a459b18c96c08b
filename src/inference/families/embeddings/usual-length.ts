import { malformed } from '../../../formats/dialects/embeddings/read-rows.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { Target } from '../../../routing/target.ts';

/** Length of the last vectors of a model's first target, when nobody declares it. */
const lengths = new WeakMap<Target, number>();

/**
 * A Fault when `target` answers vectors of another length than its model's first target: callers have those already, and
 * two lengths cannot be compared. The first target itself may change; until it has answered, any length is right.
 */
export function otherLength(first: Target, target: Target, size: number): Fault | null {
  const usual = lengths.get(first);
  if (target === first) lengths.set(first, size);
  else if (usual !== undefined && usual !== size)
    return malformed(`returned vectors of ${size} dimensions, but the first target of the model gives ${usual}`);
  return null;
}
