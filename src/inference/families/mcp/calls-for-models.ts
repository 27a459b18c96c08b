import type { McpServerTool } from '../../../formats/neutral/server-tool.ts';
import { type Failure, FailureError, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { GuardedServers } from '../../../tools/mcp/guarded-servers.ts';
import { McpFault } from '../../../tools/mcp/mcp-fault.ts';
import { prefixed } from '../../../tools/mcp/offered.ts';
import { paramHeaders } from '../../../tools/mcp/param-headers.ts';
import type { McpResult, McpTool } from '../../../tools/mcp/session.ts';
import type { McpEnd, UpstreamTools } from '../../../tools/mcp/upstream-tools.ts';
import { ToolFields } from '../../../tools/tool-fields.ts';
import type { CallBounds, McpServerFunction, ServerToolPorts, ToolOwner } from '../../server-tools/tool-ports.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { call } from '../../spine/call.ts';
import { madeOrder } from '../../spine/readable-input.ts';
import { abandoned, costMilliIn } from '../../spine/work.ts';
import { type McpOrder, mcpEndpoint } from './mcp-endpoint.ts';
import { type ResultParts, resultParts, textOfParts } from './result-parts.ts';

export interface McpCallsParts {
  services: ServeServices;
  /** Servers that callers name by URL. */
  guarded: GuardedServers;
  /** Servers of the configuration. */
  upstream: UpstreamTools;
}

/** Limit of one answer of a caller's server: all of its text goes to the model. */
const answerBytesMax = 1024 * 1024;
const textCharsMax = 100_000;

/** A result is wrapped in an object of ours: a server may add members of any name to it. */
type CallEnd = { kind: 'result'; result: McpResult } | Extract<McpEnd, { kind: 'failed' }>;

/** A server, however it is reached. */
interface Reached {
  tools: readonly McpServerFunction[];
  ask(name: string, args: JsonObject, bounds: CallBounds): Promise<CallEnd>;
  close(): Promise<void>;
}

/** MCP servers for models: a server of the configuration by its name, any other by URL. A call costs what `costs.mcp` says. */
export function createMcpCalls(parts: McpCallsParts): ServerToolPorts['openMcp'] {
  return async (owner, server, bounds) => {
    const { label, url } = server;
    const reached = await (url === null ? configured(parts, owner, server) : byUrl(parts, server, bounds));
    if (isFailure(reached)) return reached;
    const host = url === null ? null : new URL(url).host;
    const { principal, requestId: of, tag } = owner;
    return {
      kind: 'open',
      tools: reached.tools,
      async call(name, args, { timeoutMs, signal }) {
        let found: ResultParts = { parts: [], lost: new Set() };
        let text = '';
        let isError = false;
        const fields = { server: label, tool: name, arguments: args };
        const order = madeOrder<McpOrder>('mcp-call', fields, ({ arguments: given }) => ({
          prepare: () => ({
            about: prefixed(label, name),
            called: { server: label, kind: 'tool', name, host },
            run: (leaving) => reached.ask(name, given as JsonObject, { timeoutMs, signal: leaving }),
          }),
          write(result) {
            found = resultParts(result as McpResult, textCharsMax);
            text = textOfParts(found.parts);
            isError = (result as McpResult).isError === true;
            return text;
          },
        }));
        const outcome = await call(parts.services, mcpEndpoint, { principal, of, tag }, order, { signal });
        if (outcome?.kind === 'answered') return { ...found, text, isError, costMilli: costMilliIn(outcome.headers) };
        const { message } = factsOf(outcome?.failure ?? abandoned, 0);
        const failed = [{ type: 'text' as const, text: message }];
        return { parts: failed, lost: found.lost, text: message, isError: true, costMilli: 0 };
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
      const params = paramHeaders(listed.find((one) => one.name === name)?.inputSchema ?? {}, args);
      const result = await session.callTool(name, args, { ...callBounds, params });
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
  // A server that is down, and has never listed its tools.
  const listed = await upstream.lists(principal, label).catch(failureIn);
  if (isFailure(listed)) return listed;
  const { tools } = listed;
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
