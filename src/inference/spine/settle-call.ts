import type { Claim, Delivered, Reservation, TokenPrice } from '../../metering/admission.ts';
import type { RouteRecord } from '../routing/route.ts';
import type { Job, JobProgress } from './job.ts';
import type { ModelCall } from './model-call.ts';
import type { SpineServices } from './services.ts';
import type { Client } from './sink.ts';

/** What settlement reads of a job. */
export type EndedJob = Pick<Job, 'user' | 'stream' | 'progress'> & {
  client: Pick<Client, 'gone' | 'committed'>;
  /** Of its tokens, where several models had them; absent: that of the target that answered. */
  price?: TokenPrice | null;
};

/** Exactly once for every reservation, whatever way the request ended. `doneMilli`: as settlement's, less than was held. */
export function settleCall(
  services: Pick<SpineServices, 'settlement' | 'clock' | 'finished'>,
  call: Pick<ModelCall, 'clientRequestId' | 'startedMs'> & Partial<Pick<ModelCall, 'callerHeaders'>>,
  claim: Claim,
  reserved: Reservation,
  { progress, client, user, stream, price }: EndedJob,
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
    price: price === undefined ? (target?.price ?? null) : price,
    usage: progress.usage,
    usageSource: progress.usageSource,
    user,
    tag: tagOf(call.callerHeaders?.['x-culvert-tag']),
    route: {
      alias: claim.alias,
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

/** Longer tags are cut. */
const tagCharsMax = 64;

/** What callers sum their use by, from the header `x-culvert-tag`; null without one. */
function tagOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const text = typeof header === 'string' ? header : (header[0] ?? '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '').trim();
  return clean === '' ? null : clean.slice(0, tagCharsMax).toWellFormed();
}
