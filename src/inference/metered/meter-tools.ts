import type { Failure } from '../../kernel/failure.ts';
import { costMilliOf } from '../../metering/quota.ts';
import type { CalledMcp, McpCallRecord } from '../routing/route.ts';
import { costHeaders } from '../spine/answer.ts';
import { type Charge, type ChargedCall, type HeldCall, holdCall } from '../spine/held-call.ts';
import { newProgress } from '../spine/job.ts';
import type { SpineServices } from '../spine/services.ts';

/** The tool, and how many pages it may scrape beside. */
export interface ToolCallCharge {
  tool: 'search' | 'scrape' | 'map' | 'mcp';
  /** The tool of an MCP server, in the place of a model; absent: none. */
  about?: string;
  mcp?: CalledMcp;
  pagesMax: number;
}

/** Reservation of a tools call; must be settled, once. */
export interface ToolCallHold {
  kind: 'held';
  /** Answer headers: limits, cost. Flat name, value… */
  readonly headers: readonly string[];
  /**
   * `status`: what the caller gets. A refused, failed or abandoned call costs nothing, unless it `worked`: a thread or
   * the browser was killed over it. `pages`: of those that it might read, how many it did; unsaid, all.
   */
  settle(end: ToolCallEnd): void;
  /** Units of the tool with this many pages. */
  costOf(pages: number): number;
}

export interface ToolCallEnd {
  status: number;
  failure: Failure | null;
  aborted: boolean;
  worked?: boolean;
  pages?: number;
  /** Of a call of an MCP server, which says how it went. */
  mcp?: Pick<McpCallRecord, 'outcome' | 'bytes'>;
}

/** What calls of the web tools cost: the port that `src/tools/tool-call.ts` describes. */
export interface ToolCallMeter {
  hold(call: ChargedCall, charge: ToolCallCharge): Promise<ToolCallHold | Failure>;
}

export function createToolMeter(services: SpineServices): ToolCallMeter {
  return {
    async hold(call, charge) {
      // Taken once: a price that changes meanwhile is the next call's.
      const { costs } = services.snapshot().config;
      const held = await holdCall(services, call, chargeFor(costs, charge));
      return held.kind === 'held' ? holdOf(held, charge.mcp, (pages) => milliOf(costs, charge.tool, pages)) : held;
    },
  };
}

function chargeFor(costs: Costs, { tool, about = '', pagesMax }: ToolCallCharge): Charge {
  return {
    endpoint: tool === 'mcp' ? 'mcp-call' : tool,
    alias: about,
    tier: null,
    costMilli: milliOf(costs, tool, pagesMax),
  };
}

function milliOf(costs: Costs, tool: ToolCallCharge['tool'], pages: number): number {
  return costMilliOf(costs, tool === 'map' ? 1 : tool) + costMilliOf(costs, 'scrape', 1, pages);
}

type Costs = Parameters<typeof costMilliOf>[0];

function holdOf(held: HeldCall, called: CalledMcp | undefined, milliWith: (pages: number) => number): ToolCallHold {
  return {
    kind: 'held',
    headers: costHeaders(held.reserved),
    costOf: (pages) => milliWith(pages) / 1_000,
    settle({ status, failure, aborted, worked = false, pages, mcp = { outcome: null, bytes: 0 } }) {
      const done = failure === null && !aborted && status < 400;
      const progress = newProgress();
      progress.delivered = done ? 'whole' : worked ? 'partial' : 'nothing';
      progress.status = status;
      progress.class = failure?.kind ?? (mcp.outcome === 'tool-error' ? 'tool-error' : 'ok');
      if (done || worked) progress.usage = { inputTokens: 0, outputTokens: 0 };
      const client = { gone: aborted, committed: done };
      const record = called === undefined ? undefined : { ...called, ...mcp };
      const ended = { user: null, stream: false, progress, client, mcp: record };
      held.settle(ended, pages === undefined ? undefined : milliWith(pages));
    },
  };
}
