import type { Failure } from '../../kernel/failure.ts';
import type { Asked, Plan } from './endpoint.ts';
import type { RequestBody } from './request-body.ts';

/**
 * A step over a request that is admitted, read and planned, before anything is held for it. It gives what changes in
 * the plan, or the failure that refuses the request.
 */
export type RequestStep<R extends RequestBody, P extends Plan> = (
  asked: Asked<R, P>,
) => Partial<P> | Failure | Promise<Partial<P> | Failure>;

/** The plan that all steps leave, in order: each gets what the one before it made. The first failure ends them. */
export async function passSteps<R extends RequestBody, P extends Plan>(
  steps: readonly RequestStep<R, P>[],
  asked: Asked<R, P>,
): Promise<P | Failure> {
  let { plan } = asked;
  for (const step of steps) {
    const changed = await step({ ...asked, plan });
    if ('kind' in changed) return changed;
    plan = { ...plan, ...changed };
  }
  return plan;
}
