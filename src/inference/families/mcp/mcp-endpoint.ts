import type { Principal } from '../../../books/auth/principal.ts';
import { costMilliOf } from '../../../books/metering/settlement.ts';
import { type Failure, failureIn } from '../../../kernel/failure.ts';
import { outcomeOf, type UpstreamCall } from '../../../tools/mcp/upstream-tools.ts';
import type { MadeOrder } from '../../spine/readable-input.ts';
import type { Bytes } from '../../spine/sink.ts';
import { leavingOf, type ReadRequest, type WorkEndpoint } from '../../spine/work.ts';

/** A call of a tool, a prompt or a resource of an MCP server elsewhere. */
export interface McpOrder {
  /** Checks it; what is wrong or not allowed throws a FailureError. */
  prepare(principal: Principal): UpstreamCall | Promise<UpstreamCall>;
  /** The body of the answer. */
  write(result: object): Bytes;
}

interface McpRequest extends ReadRequest {
  requested: UpstreamCall;
  write: McpOrder['write'];
}

/** Each call costs what `costs.mcp` says, and its row names server and tool. */
export const mcpEndpoint: WorkEndpoint<MadeOrder<McpOrder>, McpRequest> = {
  id: 'mcp-call',
  readable: (_call, order) => order.readable(),
  async read({ principal }, { prepare, write }) {
    try {
      return { requested: await prepare(principal), write, release() {} };
    } catch (error) {
      return failureIn(error);
    }
  },
  plan({ config: { costs } }, _call, { requested: { about, called } }) {
    const charge = { endpoint: 'mcp-call', alias: about, tier: null, costMilli: costMilliOf(costs, 'mcp') };
    return { charge, mcp: { ...called, outcome: null, bytes: 0 } };
  },
  async work({ call, request: { requested, write } }) {
    const done = await requested.run(leavingOf(call.client));
    const answer = done.kind === 'failed' ? refusedWith(done.failure) : written(requested, done.result, write);
    const bytes = answer.body === null ? 0 : Buffer.byteLength(answer.body);
    const mcp = { ...requested.called, outcome: outcomeOf(done), bytes };
    return call.client.disconnected ? { body: null, failure: null, mcp } : { ...answer, mcp };
  },
};

interface McpAnswer {
  body: Bytes | null;
  failure: Failure | null;
}

function refusedWith(failure: Failure): McpAnswer {
  return { body: null, failure };
}

function written({ about }: UpstreamCall, result: object, write: McpOrder['write']): McpAnswer {
  try {
    return { body: write(result), failure: null };
  } catch {
    // Nested deeper than the stack: a parser takes it, a writer does not.
    const message = `The answer of '${about}' is nested too deeply.`;
    return refusedWith({ kind: 'mcp-failed', server: about, message });
  }
}
