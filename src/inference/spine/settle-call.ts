import type { Claim, Delivered, Reservation } from '../../metering/admission.ts';
import type { McpCallRecord, RouteRecord } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import type { Job, JobProgress } from './job.ts';
import type { ModelCall } from './model-call.ts';
import type { SpineServices } from './services.ts';
import type { Client } from './sink.ts';

/** The parts of a job that settlement reads. */
export type EndedJob = Pick<Job, 'user' | 'tag' | 'stream'> & {
  progress: Omit<JobProgress, 'answeredBy'> & { answeredBy: { target: Pick<Target, 'id' | 'price'> } | null };
  client: Pick<Client, 'gone' | 'committed'>;
  mcp?: McpCallRecord | undefined;
};

/** Exactly once for every reservation, whatever way the request ended. `doneMilli`: as settlement's, less than was held. */
export function settleCall(
  services: Pick<SpineServices, 'settlement' | 'clock' | 'finished'>,
  call: Pick<ModelCall, 'clientRequestId' | 'startedMs' | 'tag'>,
  claim: Claim,
  reserved: Reservation,
  { progress, client, user, tag = null, stream, mcp }: EndedJob,
  doneMilli?: number,
): void {
  const aborted = client.gone && progress.delivered !== 'whole';
  const target = progress.answeredBy?.target ?? null;
  const event = services.settlement.settle(reserved, {
    claim,
    clientRequestId: call.clientRequestId,
    delivery: deliveryOf(progress, aborted),
    ...(doneMilli === undefined ? {} : { doneMilli }),
    status: aborted && !client.committed ? 499 : progress.status,
    class: aborted ? 'aborted' : progress.class,
    stream,
    aborted,
    ms: services.clock.monotonicMs() - call.startedMs,
    firstTokenMs: progress.firstTokenMs,
    target: target?.id ?? null,
    price: target?.price ?? null,
    usage: progress.usage,
    usageSource: progress.usageSource,
    besideUsd: progress.besideUsd,
    user,
    tag: call.tag ?? tag,
    route: {
      alias: claim.alias,
      verdicts: progress.verdicts,
      attempts: progress.attempts,
      losses: progress.losses,
      passThrough: progress.passThrough,
      ...(progress.malformedLines > 0 ? { malformedLines: progress.malformedLines } : {}),
      ...(mcp !== undefined && { mcp }),
    } satisfies RouteRecord,
  });
  if (event === null) return;
  claim.trace?.settled(event);
  services.finished(event, claim.trace);
}

function deliveryOf(progress: Pick<JobProgress, 'delivered' | 'attempts'>, aborted: boolean): Delivered {
  if (progress.delivered === 'whole') return 'whole';
  if (progress.delivered === 'partial') return 'part';
  return aborted && progress.attempts.length > 0 ? 'abandoned' : 'nothing';
}
