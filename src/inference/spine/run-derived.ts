import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { ServeServices } from './answer-cache.ts';
import { runAttempts } from './attempts/run-attempts.ts';
import type { Endpoint, Plan } from './endpoint.ts';
import type { Job } from './job.ts';
import type { ModelCall } from './model-call.ts';
import type { RequestBody } from './request-body.ts';

/** A request that Culvert makes of a caller's, with the parts that run it. */
export interface DerivedRun<I, R extends RequestBody, P extends Plan> {
  services: ServeServices;
  endpoint: Endpoint<I, R, P>;
  snapshot: Snapshot;
  /** Reserves, runs the attempts and settles. */
  runPlan(call: ModelCall, plan: P, request: R, attempts: (job: Job) => Promise<void>): Promise<Failure | null>;
}

/** Reads, plans and runs it, without steps before it. `accepts`: whether this plan may run. */
export async function runDerived<I, R extends RequestBody, P extends Plan>(
  { services, endpoint, snapshot, runPlan }: DerivedRun<I, R, P>,
  call: ModelCall,
  input: I,
  accepts: (request: R, plan: P) => boolean,
): Promise<void> {
  const request = await endpoint.read(call, input);
  if (isFailure(request)) return;
  try {
    const plan = await endpoint.plan(snapshot, call, request);
    if (isFailure(plan) || !accepts(request, plan)) return;
    await runPlan(call, plan, request, (job) => {
      const trials = endpoint.trials({ call, snapshot, request, plan }, job);
      return trials.run === undefined ? runAttempts(services, job, trials) : trials.run();
    });
  } finally {
    await request.release();
  }
}
