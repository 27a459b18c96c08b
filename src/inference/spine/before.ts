import type { Failure } from '../../kernel/failure.ts';
import type { Asked, Plan, RequestStep } from './endpoint.ts';
import type { RequestBody } from './request-body.ts';

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
