import type { Principal } from '../../auth/principal.ts';
import type { Admitted, Claim, Reservation } from '../../metering/admission.ts';
import type { Delivered } from '../../metering/charge.ts';
import { costMilliOf, type Endpoint } from '../../metering/cost.ts';
import { createRoute } from '../routing/create-route.ts';
import type { RouteQuery, RouteRecord } from '../routing/route.ts';
import type { Answer } from './answer.ts';
import type { ChargedAs } from './charged-as.ts';
import type { ConversationBody, ConversationFacts } from './conversation-body.ts';
import { type Job, type JobProgress, newProgress } from './job.ts';
import type { Alias } from './model-table.ts';
import type { RoutingWishes } from './routing-wishes.ts';
import type { ConversationServices, Snapshot } from './services.ts';
import type { Client, Delivery, Sink } from './sink.ts';

/** One request that a model answers, its caller known and admitted, its body received. */
export interface ModelCall {
  requestId: string;
  clientRequestId: string | null;
  endpoint: Endpoint;
  principal: Principal;
  admitted: Admitted;
  body: Buffer;
  delivery: Delivery;
  /** Who waits, and where the answer goes: `delivery`, or what stands before it. */
  client: Client;
  sink: Sink;
  callerHeaders: Job['callerHeaders'];
  wishes: RoutingWishes;
  /** Of `Idempotency-Key`; a stream is run whatever it says. */
  idempotencyKey: string | null;
  /** Wall-clock and monotonic ms of arrival. */
  atMs: number;
  startedMs: number;
}

/** What attempts need to know of it. */
export type RunCall = Pick<
  ModelCall,
  'requestId' | 'principal' | 'client' | 'sink' | 'startedMs' | 'wishes' | 'callerHeaders'
>;

/** Runs a call whose body has been read, under its Idempotency-Key if it has one, and releases the body at its end. */
export async function runKeyed<C extends ModelCall>(
  services: ConversationServices,
  call: C,
  body: ConversationBody,
  run: (call: C, body: ConversationBody) => Promise<void>,
): Promise<void> {
  const { idempotencyKey: key, sink, endpoint, requestId } = call;
  try {
    if (key === null || body.facts.stream) await run(call, body);
    else {
      const { tenant } = call.principal;
      const keyed = { key, tenant, endpoint, requestId, body: call.body, sink, headers: call.admitted.headers };
      await services.idempotency.once(keyed, (kept) => run({ ...call, client: kept, sink: kept }, body));
    }
  } finally {
    body.release();
  }
}

/** `calls`: how many the request may take, each of which costs; an image call's pictures count likewise. */
export function claimOf(
  call: ModelCall,
  { config }: Snapshot,
  alias: Alias,
  charged: ChargedAs,
  { needs, image }: ConversationFacts,
  calls = 1,
): Claim {
  return {
    requestId: call.requestId,
    principal: call.principal,
    admitted: call.admitted,
    endpoint: call.endpoint,
    alias: alias.id,
    tier: charged.tier,
    costMilli: costMilliOf(config.costs, call.endpoint, charged.cost, image?.n ?? calls),
    inputTokensEstimate: needs.inputTokensEstimate,
    atMs: call.atMs,
  };
}

/** What a reserved call runs on. `how` is what its endpoint decides: what attempts do. */
export function jobOf(
  services: ConversationServices,
  snapshot: Snapshot,
  call: RunCall,
  facts: ConversationFacts,
  alias: Alias,
  query: RouteQuery,
  reserved: Reservation,
  how: {
    trial(job: Job, answer: Answer): ReturnType<Job['trial']>;
    bound?: string | null;
    given?: Job['given'] | undefined;
  },
): Job {
  const routeFor = (asked: RouteQuery) => {
    const { health, retryBudget, random, clock } = services;
    return createRoute(asked, { health, retryBudget, random, nowMs: clock.monotonicMs() });
  };
  const progress = newProgress();
  const job: Job = {
    requestId: call.requestId,
    tenant: call.principal.tenant,
    alias: alias.id,
    user: facts.user,
    client: call.client,
    sink: call.sink,
    newRoute: () => routeFor(query),
    candidates: query.targets,
    routeOver: (targets, n, attemptsMax) =>
      routeFor({
        ...query,
        targets,
        needs: { ...facts.needs, n },
        attemptsMax: Math.min(attemptsMax, alias.attempts),
      }),
    lastResort: null,
    needs: query.needs,
    hedgeAfter: query.hedge.after,
    stream: facts.stream,
    inputTokensEstimate: facts.needs.inputTokensEstimate,
    deadlineMs: call.startedMs + Math.min(alias.totalMs, call.wishes.timeoutMs ?? Number.POSITIVE_INFINITY),
    headers: reserved.headers,
    costMilli: reserved.costMilli,
    callerHeaders: call.callerHeaders,
    providers: snapshot.providers,
    trial: (answer) => how.trial(job, answer),
    bound: how.bound ?? null,
    ...(how.given !== undefined && { given: how.given }),
    progress,
    attemptsMade: () => progress.attempts.length,
  };
  return job;
}

/** What settlement reads of a job. */
export type EndedJob = Pick<Job, 'alias' | 'user' | 'stream' | 'progress'> & {
  client: Pick<Client, 'gone' | 'committed'>;
  /** As settlement's: less than was held. */
  doneMilli?: number;
};

/** Exactly once for every reservation, whatever way the request ended. */
export function settleCall(
  services: ConversationServices,
  call: Pick<ModelCall, 'clientRequestId' | 'startedMs'>,
  claim: Claim,
  reserved: Reservation,
  job: EndedJob,
): void {
  const { progress, client } = job;
  const aborted = client.gone && progress.delivered !== 'whole';
  const target = progress.answeredBy?.target ?? null;
  const event = services.settlement.settle(reserved, {
    claim,
    clientRequestId: call.clientRequestId,
    delivery: deliveryOf(progress, aborted),
    ...(job.doneMilli === undefined ? {} : { doneMilli: job.doneMilli }),
    status: aborted && !client.committed ? 499 : progress.status,
    class: aborted ? 'aborted' : progress.class,
    stream: job.stream,
    aborted,
    ms: services.clock.monotonicMs() - call.startedMs,
    firstTokenMs: progress.firstTokenMs,
    target: target?.id ?? null,
    price: target?.price ?? null,
    usage: progress.usage,
    usageSource: progress.usageSource,
    user: job.user,
    route: {
      alias: job.alias,
      verdicts: progress.verdicts,
      attempts: progress.attempts,
      losses: progress.losses,
      passThrough: progress.passThrough,
      ...(progress.malformedLines > 0 ? { malformedLines: progress.malformedLines } : {}),
    } satisfies RouteRecord,
  });
  if (event !== null) services.finished(event);
}

function deliveryOf(progress: JobProgress, aborted: boolean): Delivered {
  if (progress.delivered === 'whole') return 'whole';
  if (progress.delivered === 'partial') return 'part';
  return aborted && progress.attempts.length > 0 ? 'abandoned' : 'nothing';
}
