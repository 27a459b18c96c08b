import { costMilliOf } from '../../../books/metering/quota.ts';
import { FailureError } from '../../../kernel/failure.ts';
import { isPaid } from '../../../tools/page-reader.ts';
import type { ToolAnswer, ToolCharge, ToolJob } from '../../../tools/tool-call.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { MadeOrder } from '../../spine/readable-input.ts';
import type { Bytes } from '../../spine/sink.ts';
import { leavingOf, type ReadRequest, type WorkEndpoint, type WorkPlan } from '../../spine/work.ts';

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
      return { ok: true, value: { job: prepare(call), write, release() {} } };
    } catch (error) {
      if (error instanceof FailureError) return { ok: false, failure: error.failure };
      throw error;
    }
  },
  plan({ config: { costs } }, _call, { job: { charge } }) {
    const milliWith = (pages: number) => milliOf(costs, charge, pages);
    const costMilli = milliWith(charge.pagesMax);
    return { charge: { endpoint: charge.tool, alias: '', tier: null, costMilli }, milliWith };
  },
  async work({ call, plan, request: { job, write } }) {
    const answer = await job.run(leavingOf(call.client));
    if (answer.kind !== 'answer') return { body: null, failure: answer, worked: isPaid(answer) };
    if (call.client.gone) return { body: null, failure: null };
    const { pages } = answer;
    return {
      body: write(answer),
      failure: null,
      ...(pages !== undefined && { doneMilli: plan.milliWith(pages) }),
    };
  },
};

type Costs = Snapshot['config']['costs'];

function milliOf(costs: Costs, { tool }: ToolCharge, pages: number): number {
  return costMilliOf(costs, tool === 'map' ? 1 : tool) + costMilliOf(costs, 'scrape', 1, pages);
}
