import type { ToolCallMeter } from '../inference/metered/meter-tools.ts';
import type { McpServerTool } from '../inference/neutral/server-tool.ts';
import type { CalledMcp } from '../inference/routing/route.ts';
import type {
  CallBounds,
  McpCallResult,
  McpServerFunction,
  ServerToolPorts,
  ToolOwner,
} from '../inference/server-tools/tool-ports.ts';
import { insideCall } from '../inference/spine/call.ts';
import type { ChargedCall } from '../inference/spine/held-call.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Failure, FailureError, factsOf, invalid, statusOf } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { GuardedServers } from '../mcp/guarded-servers.ts';
import { McpFault } from '../mcp/mcp-fault.ts';
import { prefixed } from '../mcp/offered.ts';
import type { McpResult, McpTool } from '../mcp/session.ts';
import { type McpEnd, outcomeOf, type UpstreamTools } from '../tools/mcp/upstream-tools.ts';
import { ToolFields } from '../tools/tool-fields.ts';

export interface McpCallsParts {
  clock: Clock;
  meter: ToolCallMeter;
  /** Servers that callers name by URL. */
  guarded: GuardedServers;
  /** Those of the configuration. */
  upstream: UpstreamTools;
}

/** Of one answer of a caller's server: all of its text goes to the model. */
const answerBytesMax = 1024 * 1024;
const textCharsMax = 100_000;

/** A call of a tool, with a row that names the request which it is for. */
export function callFor(clock: Clock, { principal, requestId, tag }: ToolOwner): ChargedCall {
  return insideCall(clock, { principal, of: requestId, tag });
}

/** A result stands in an object of ours: a server may add members of any name to it. */
type Asked = { kind: 'result'; result: McpResult } | Extract<McpEnd, { kind: 'failed' }>;

/** A server, however it is reached. */
interface Reached {
  tools: readonly McpServerFunction[];
  ask(name: string, args: JsonObject, bounds: CallBounds): Promise<Asked>;
  close(): Promise<void>;
}

/** MCP servers for models: a server of the configuration by its name, any other by URL. A call costs what `costs.mcp` says. */
export function createMcpCalls(parts: McpCallsParts): ServerToolPorts['openMcp'] {
  const { clock, meter } = parts;

  async function call(
    owner: ToolOwner,
    mcp: CalledMcp,
    ask: () => Promise<Asked>,
    signal: AbortSignal,
  ): Promise<McpCallResult> {
    const about = prefixed(mcp.server, mcp.name!);
    const hold = await meter.hold(callFor(clock, owner), { tool: 'mcp', pagesMax: 0, about, mcp });
    if (hold.kind !== 'held') return { text: factsOf(hold, 0).message, isError: true, costMilli: 0 };
    let end: Parameters<typeof hold.settle>[0] = { status: 500, failure: { kind: 'internal' }, aborted: false };
    try {
      const done = await ask();
      const outcome = outcomeOf(done);
      if (done.kind === 'failed') {
        const { failure } = done;
        end = { status: statusOf(failure), failure, aborted: signal.aborted, mcp: { outcome, bytes: 0 } };
        return { text: factsOf(failure, 0).message, isError: true, costMilli: 0 };
      }
      const text = textOf(done.result).slice(0, textCharsMax);
      end = { status: 200, failure: null, aborted: false, mcp: { outcome, bytes: Buffer.byteLength(text) } };
      return { text, isError: done.result.isError === true, costMilli: hold.costOf(0) * 1_000 };
    } finally {
      hold.settle(end);
    }
  }

  return async (owner, server, bounds) => {
    const reached = await (server.url === null ? configured(parts, owner, server) : byUrl(parts, server, bounds));
    if ('kind' in reached) return reached;
    return {
      kind: 'open',
      tools: reached.tools,
      call(name, args, callBounds) {
        const host = server.url === null ? null : new URL(server.url).host;
        const called = { server: server.label, kind: 'tool', name, host } as const;
        return call(owner, called, () => reached.ask(name, args, callBounds), callBounds.signal);
      },
      close: reached.close,
    };
  };
}

async function byUrl(
  { guarded }: McpCallsParts,
  { url, label, headers }: McpServerTool,
  bounds: CallBounds,
): Promise<Reached | Failure> {
  const session = await guarded.open({ url: url!, headers, bytesMax: answerBytesMax, ...bounds });
  if (session instanceof McpFault) return failureOf(label, session);
  const listed = await session.listTools(bounds);
  if (listed instanceof McpFault) {
    await session.close();
    return failureOf(label, listed);
  }
  return {
    tools: listed.map(functionOf),
    async ask(name, args, callBounds) {
      const result = await session.callTool(name, args, callBounds);
      if (!(result instanceof McpFault)) return { kind: 'result', result };
      return { kind: 'failed', failure: failureOf(label, result), reason: result.reason };
    },
    close: () => session.close(),
  };
}

async function configured(
  { upstream }: McpCallsParts,
  { principal }: ToolOwner,
  { label }: McpServerTool,
): Promise<Reached | Failure> {
  const { tools } = await upstream.lists(principal, label);
  if (tools.length === 0 && !upstream.has(principal, label)) {
    const message = `This key may use no MCP server '${label}' here. Send the address of your own as 'server_url'.`;
    return invalid('tools', message);
  }
  return {
    tools: tools.map(functionOf),
    async ask(name, args, { signal }) {
      try {
        const fields = new ToolFields({ tool: prefixed(label, name), arguments: args });
        const { run } = await upstream.prepare(fields, principal);
        const done = await run(signal);
        return done.kind === 'result' ? { kind: 'result', result: done.result as McpResult } : done;
      } catch (error) {
        // Its arguments are wrong, or it has gone since it was listed.
        if (error instanceof FailureError) return { kind: 'failed', failure: error.failure, reason: 'refused' };
        throw error;
      }
    },
    async close() {},
  };
}

function functionOf({ name, description = '', inputSchema, annotations }: McpTool): McpServerFunction {
  return {
    name,
    description,
    inputSchema: inputSchema as JsonObject,
    annotations: (annotations as JsonObject | undefined) ?? null,
  };
}

/** A server that may not be asked is the caller's mistake. */
function failureOf(label: string, { reason, message: why }: McpFault): Failure {
  const message = `The MCP server '${label}' ${why}.`;
  return reason === 'blocked' ? invalid('tools', message) : { kind: 'mcp-failed', server: label, message };
}

/** Pictures and sounds have no place in the result of a function. */
function textOf({ content, structuredContent }: McpResult): string {
  const texts = content.flatMap((part) => {
    if (part.type === 'text') return [part.text];
    if (part.type === 'resource' && 'text' in part.resource) return [part.resource.text];
    return part.type === 'resource_link' ? [`${part.name}: ${part.uri}`] : [`[${part.type}]`];
  });
  return texts.length === 0 && structuredContent !== undefined ? JSON.stringify(structuredContent) : texts.join('\n\n');
}
