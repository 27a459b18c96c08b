import type { Principal } from '../../../books/auth/principal.ts';
import { costMilliOf } from '../../../books/metering/settlement.ts';
import { builtInData, writtenFacts } from '../../../config/data-rules.ts';
import { type Failure, failureIn } from '../../../kernel/failure.ts';
import { isPaid } from '../../../tools/page-reader.ts';
import type { ToolAnswer, ToolCharge, ToolJob } from '../../../tools/tool-call.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { MadeOrder } from '../../spine/readable-input.ts';
import type { Bytes } from '../../spine/sink.ts';
import { leavingOf, type ReadRequest, type SharedWork, type WorkEndpoint, type WorkPlan } from '../../spine/work.ts';

/** The caller, under whom pages are kept and found. */
export type ToolCaller = Pick<ModelCall, 'requestId' | 'principal' | 'startedMs'>;

/** A call of a web tool. */
export interface ToolOrder {
  /** Checks its fields; a wrong one throws a FailureError. */
  prepare(caller: ToolCaller): ToolJob;
  /** The body of the answer. */
  write(answer: ToolAnswer): Bytes;
}

interface ToolRequest extends ReadRequest {
  job: ToolJob;
  write: ToolOrder['write'];
}

interface ToolPlan extends WorkPlan {
  /** Milli-units with this many pages. */
  milliWith(pages: number): number;
}

/** A search, a page or the map of a site, charged by the pages that it read. */
export const toolEndpoint: WorkEndpoint<MadeOrder<ToolOrder>, ToolRequest, ToolPlan> = {
  id: 'tool',
  readable: (_call, order) => order.readable(),
  read(call, { prepare, write }) {
    try {
      return { job: prepare(call), write, release() {} };
    } catch (error) {
      return failureIn(error);
    }
  },
  plan(snapshot, { callerHeaders, principal }, { job: { charge, sharedUntilMs }, write }) {
    const { costs, tools } = snapshot.config;
    const milliWith = (pages: number) => milliOf(costs, charge, pages);
    const barred = charge.tool === 'search' ? barredEngine(snapshot, principal) : null;
    if (barred !== null) return barred;
    const costMilli = milliWith(charge.pagesMax);
    const plan = { charge: { endpoint: charge.tool, alias: '', tier: null, costMilli }, milliWith };
    const isCached = tools.search.cache !== undefined;
    const usesCache = isCached || callerHeaders['x-culvert-cache'] !== undefined;
    if (charge.tool !== 'search' || !usesCache) return plan;
    const shared = sharedSearch(snapshot, sharedUntilMs, write);
    // The ledger and the cache have this name in the place of a model.
    return { ...plan, ...(isCached && { charge: { ...plan.charge, alias: 'tools.search' } }), shared };
  },
  async work({ call, plan, request: { job, write } }) {
    const answer = await job.run(leavingOf(call.client));
    if (answer.kind !== 'answer') return { body: null, failure: answer, worked: isPaid(answer) };
    if (call.client.disconnected) return { body: null, failure: null };
    const { pages } = answer;
    return {
      body: write(answer),
      failure: null,
      ...(answer.lasting === true && plan.shared?.rule !== undefined && { cacheable: JSON.stringify(answer) }),
      ...(pages !== undefined && { doneMilli: plan.milliWith(pages) }),
    };
  },
};

/** Which engine answers is known afterwards only, so each of them must be one that may get the search. */
function barredEngine({ config, models }: Snapshot, principal: Principal): Failure | null {
  for (const { type, base_url, data } of config.tools.search.providers) {
    const facts = type === 'corpus' ? builtInData : writtenFacts(data, base_url);
    const barred = models.barred(principal, facts, `search engine '${type}'`);
    if (barred !== null) return barred;
  }
  return null;
}

function sharedSearch(
  { config: { costs, tools }, localSearch }: Snapshot,
  untilMs: number | undefined,
  write: ToolOrder['write'],
): SharedWork {
  const { cache, providers } = tools.search;
  const engines = providers.map(({ api_key: _, ...engine }) => engine);
  const cachedMilli = costMilliOf(costs, 'cached');
  return {
    rule: cache === undefined || untilMs === undefined ? undefined : { ttlMs: cache.ttl, scope: cache.scope },
    configuration: { engines, localSearch, scrape: tools.scrape },
    untilMs: untilMs ?? 0,
    cachedMilli,
    write(cached) {
      const answer = JSON.parse(cached) as ToolAnswer;
      return write({ ...answer, body: { ...answer.body, cached: true, creditsUsed: cachedMilli / 1_000 } });
    },
  };
}

type Costs = Snapshot['config']['costs'];

function milliOf(costs: Costs, { tool }: ToolCharge, pages: number): number {
  return costMilliOf(costs, tool === 'map' ? 1 : tool) + costMilliOf(costs, 'scrape', 1, pages);
}
