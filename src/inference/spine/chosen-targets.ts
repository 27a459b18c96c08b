import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { TargetChoice } from '../models/steps.ts';
import type { Plan } from './endpoint.ts';

/** A plan with the targets that steps choose, in their order. */
export async function withChosen<P extends Plan>(
  chooses: (targets: readonly string[]) => Promise<TargetChoice>,
  plan: P,
): Promise<P | Failure> {
  const { targets } = plan.query;
  const names = targets.map(({ target }) => `${target.provider}/${target.model}`);
  const chosen = await chooses([...new Set(names)]);
  if (chosen === null) return plan;
  if (isFailure(chosen)) return chosen;
  // Each is tried after all targets before it.
  const ordered = chosen.flatMap((name, rank) =>
    targets.filter((_, at) => names[at] === name).map((candidate) => ({ ...candidate, rank })),
  );
  const { prefer: _, ...query } = plan.query;
  return { ...plan, query: { ...query, targets: ordered } };
}
