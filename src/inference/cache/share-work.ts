import type { Clock } from '../../kernel/clock.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { newProgress } from '../spine/held-call.ts';
import type { SpineServices } from '../spine/services.ts';
import { type PlannedWork, type ReadRequest, runWork, type WorkEndpoint, type WorkPlan } from '../spine/work.ts';
import { readCacheDirectives } from './cache-directives.ts';
import { workKeyOf } from './cache-key.ts';
import type { Flights, Landed } from './flight.ts';
import { type KeyedLook, look, notCached, write } from './look-up.ts';
import { type CachedAnswer, cachedBytesMax } from './packed-entry.ts';

/** The port's `share`: a search is kept, and asked for once, as the answers of models are. */
export async function shareWork<I, R extends ReadRequest, P extends WorkPlan>(
  parts: Pick<KeyedLook, 'store' | 'cacheLookup'> & { clock: Clock; flights: Flights },
  services: SpineServices,
  endpoint: WorkEndpoint<I, R, P>,
  planned: PlannedWork<R, P>,
  input: I,
): Promise<Failure | null> {
  const { call, request, plan, shared } = planned;
  const { charge } = plan;
  const directives = readCacheDirectives(call.callerHeaders);
  if (isFailure(directives)) return directives;
  const { rule } = shared;
  const isUnread = rule === undefined || directives.use === 'off';
  const canonical = isUnread ? null : await endpoint.readable?.(call, input)?.canonical();
  const saying = (cacheHeader: string) => ({ ...plan, headers: ['x-culvert-cache', cacheHeader] });
  if (rule === undefined || canonical == null || isFailure(canonical)) {
    return directives.use === 'only' ? notCached : runWork(services, endpoint, call, request, saying('bypass'));
  }
  const key = workKeyOf(charge.alias, { ...shared, rule }, call.principal, canonical);
  const keyed = { ...parts, key, rule, directives, tag: call.tag };
  const isShared = directives.use === 'any' && directives.maxAgeS === null;
  const { under, flight, remove } = parts.flights.join(isShared ? `${key.scope} ${key.digest}` : null);
  try {
    const leftMs = Math.max(0, shared.untilMs - parts.clock.monotonicMs());
    const found = under === undefined ? await look(keyed) : await under.wait(call.client, leftMs, null);
    if (found !== null && found !== 'refused' && 'entry' in found) {
      flight?.land(found);
      remove();
      parts.cacheLookup('hit', 0);
      return await give(services, planned, found);
    }
    if (directives.use === 'only') return notCached;
    const client = flight?.clientOf(call.client) ?? call.client;
    const keeping: Pick<typeof endpoint, 'work'> = {
      async work(held) {
        const done = await endpoint.work(held);
        const entry = done.cacheable === undefined ? null : entryOf(done.cacheable, charge);
        if (entry === null) return done;
        const landed = { entry, atMs: parts.clock.wallMs() };
        flight?.land(landed);
        write(keyed, call, charge.alias, landed);
        return done;
      },
    };
    return await runWork(services, keeping, { ...call, client, cacheUse: 'miss' }, request, saying('miss'));
  } finally {
    flight?.land(null);
    remove();
  }
}

/** Answers with what is kept, reserved and settled as any other. */
function give<R extends ReadRequest, P extends WorkPlan>(
  services: SpineServices,
  { call, request, plan, shared }: PlannedWork<R, P>,
  { entry: { answer }, atMs }: Landed,
): Promise<Failure | null> {
  const cacheAgeMs = Math.max(0, services.clock.wallMs() - atMs);
  const progress = { ...newProgress(), cacheAgeMs, savedUsd: 0 };
  const cachedText = 'base64' in answer ? Buffer.from(answer.base64, 'base64').toString('utf8') : '';
  const work = async () => ({ body: shared.write(cachedText), failure: null, progress });
  const header = ['x-culvert-cache', `hit; age=${Math.floor(cacheAgeMs / 1_000)}`];
  const charge = { ...plan.charge, costMilli: shared.cachedMilli };
  return runWork(services, { work }, { ...call, cacheUse: 'hit' }, request, { ...plan, charge, headers: header });
}

/** Null: it is too large to be kept. */
function entryOf(cached: string, { alias, endpoint }: WorkPlan['charge']): CachedAnswer | null {
  const base64 = Buffer.from(cached).toString('base64');
  if (base64.length > cachedBytesMax) return null;
  const answer = { contentType: 'application/json', losses: null, base64 };
  return { answer, provider: '', model: alias, usd: null, losses: [], endpoint };
}
