import type { Failure } from '../../kernel/failure.ts';
import type { Claim, Reservation } from '../../metering/admission.ts';
import { costMilliOf } from '../../metering/charge.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { createRoute } from '../routing/create-route.ts';
import type { RouteQuery } from '../routing/route.ts';
import { costHeaders } from './answer-headers.ts';
import type { Endpoint, Plan, Trials } from './endpoint.ts';
import { type Job, newProgress } from './job.ts';
import type { ModelCall, RunCall } from './model-call.ts';
import type { RequestBody } from './request-body.ts';
import { runAttempts } from './run-attempts.ts';
import type { SpineServices } from './services.ts';
import { settleCall } from './settle-call.ts';
import { refuse } from './sink.ts';

/**
 * The way of a request to any family: read → plan → reserve → attempts → settle, under its Idempotency-Key if it has
 * one. Ends the client's answer in every case, once; rejects for a fault of ours alone. Nothing is dispatched before its
 * reservation is committed, and every reservation is settled exactly once, in `finally`.
 */
export async function serve<I, R extends RequestBody, P extends Plan>(
  services: SpineServices,
  endpoint: Endpoint<I, R, P>,
  call: ModelCall,
  input: I,
): Promise<void> {
  const reading = endpoint.read(call, input);
  const read = reading instanceof Promise ? await reading : reading;
  if (!read.ok) return refuse(call.sink, read.failure, call.admitted.headers);
  const request = read.value;
  const { idempotencyKey: key, sink, requestId, admitted } = call;
  try {
    // A stream is run whatever its key says.
    if (key === null || request.facts.stream) return await run(services, endpoint, call, request);
    const { tenant } = call.principal;
    const body = await endpoint.content(input);
    const keyed = { key, tenant, endpoint: endpoint.id, requestId, body, sink, headers: admitted.headers };
    await services.idempotency.once(keyed, (kept) =>
      run(services, endpoint, { ...call, client: kept, sink: kept }, request),
    );
  } finally {
    const released = request.release();
    if (released instanceof Promise) await released;
  }
}

/** From the model on. */
async function run<I, R extends RequestBody, P extends Plan>(
  services: SpineServices,
  endpoint: Endpoint<I, R, P>,
  call: ModelCall,
  request: R,
): Promise<void> {
  const snapshot = services.snapshot();
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const planning = endpoint.plan(snapshot, call, request);
  const plan = planning instanceof Promise ? await planning : planning;
  if ('kind' in plan) return refused(plan);

  const claim = claimOf(call, snapshot, endpoint, plan);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refused(reserved);

  let trials: Trials | null = null;
  const job = jobOf(services, snapshot, call, plan, reserved, request.facts.user, (answer) => trials!.trial(answer));
  trials = endpoint.trials({ call, snapshot, request, plan }, job);
  try {
    if (plan.form === 'events') call.delivery.expect(costHeaders(job));
    if (trials.run === undefined) await runAttempts(services, job);
    else await trials.run();
  } finally {
    const { progress, calls } = job;
    const doneMilli = progress.calls === calls ? undefined : (reserved.costMilli / calls) * progress.calls;
    settleCall(services, call, claim, reserved, job, doneMilli);
  }
}

function claimOf<I, R extends RequestBody, P extends Plan>(
  { requestId, principal, admitted, atMs }: ModelCall,
  { config }: Snapshot,
  { id: endpoint, cost }: Pick<Endpoint<I, R, P>, 'id' | 'cost'>,
  { alias, charged, calls, query }: Plan,
): Claim {
  return {
    requestId,
    principal,
    admitted,
    endpoint,
    alias: alias.id,
    tier: charged.tier,
    costMilli: costMilliOf(config.costs, cost, charged.cost, calls),
    inputTokensEstimate: query.needs.inputTokensEstimate,
    atMs,
  };
}

/** What attempts at a reserved request run on. */
export function jobOf(
  services: Pick<SpineServices, 'health' | 'retryBudget' | 'random' | 'clock'>,
  snapshot: Snapshot,
  call: RunCall,
  { alias, query, form, bound, given, calls }: Omit<Plan, 'charged'>,
  reserved: Reservation,
  user: string | null,
  trial: Job['trial'],
): Job {
  const routeFor = (asked: RouteQuery) => {
    const { health, retryBudget, random, clock } = services;
    return createRoute(asked, { health, retryBudget, random, nowMs: clock.monotonicMs() });
  };
  const progress = newProgress(calls);
  return {
    requestId: call.requestId,
    tenant: call.principal.tenant,
    alias: alias.id,
    user,
    client: call.client,
    sink: call.sink,
    newRoute: () => routeFor(query),
    candidates: query.targets,
    routeOver: (targets, n, attemptsMax) => {
      const fewer = Math.min(attemptsMax, alias.attempts);
      return routeFor({ ...query, targets, needs: { ...query.needs, n }, attemptsMax: fewer });
    },
    lastResort: null,
    needs: query.needs,
    hedgeAfter: query.hedge.after,
    stream: form !== 'whole',
    inputTokensEstimate: query.needs.inputTokensEstimate,
    deadlineMs: call.startedMs + Math.min(alias.totalMs, call.wishes.timeoutMs ?? Number.POSITIVE_INFINITY),
    headers: reserved.headers,
    costMilli: reserved.costMilli,
    calls,
    callerHeaders: call.callerHeaders,
    providers: snapshot.providers,
    trial,
    bound: bound ?? null,
    ...(given !== undefined && { given }),
    progress,
    attemptsMade: () => progress.attempts.length,
  };
}
