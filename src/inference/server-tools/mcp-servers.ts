import type { McpServerTool, McpToolFilter, ServerToolStep } from '../../formats/neutral/server-tool.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { FunctionNames, OfferedTool } from './offered-tools.ts';
import type { CallBounds, McpServerFunction, McpServerSession, ServerToolPorts, ToolOwner } from './tool-ports.ts';

/** Servers that one request may name: each is a session. */
const serversMax = 16;
/** Anthropic's bound, with room for a number; others get shorter names later. */
const nameCharsMax = 120;

/** The MCP servers of one request, with their tools. */
export interface OpenedServers {
  offered: OfferedTool[];
  /** Steps that show their lists to the caller. */
  steps: ServerToolStep[];
  close(): Promise<void>;
}

/** Opens all at the same time. One that cannot be asked fails the request: the model would answer without it. */
export async function openServers(
  ports: Pick<ServerToolPorts, 'openMcp'>,
  owner: ToolOwner,
  servers: readonly McpServerTool[],
  names: FunctionNames,
  bounds: CallBounds,
): Promise<OpenedServers | Failure> {
  if (servers.length > serversMax) {
    return invalid('tools', `A request may name at most ${serversMax} MCP servers. This one names ${servers.length}.`);
  }
  const opened = await Promise.all(servers.map((server) => ports.openMcp(owner, server, bounds)));
  const sessions = opened.filter((one) => one.kind === 'open');
  const close = async () => {
    await Promise.all(sessions.map((session) => session.close()));
  };
  const failed = opened.find((one) => one.kind !== 'open');
  if (failed !== undefined) {
    await close();
    return failed;
  }
  const offered = servers.flatMap((server, at) => offeredBy(server, sessions[at]!, names));
  const steps = servers.flatMap((server, at): ServerToolStep[] => {
    if (server.isListed) return [];
    const tools = allowedOf(server, sessions[at]!).map(listed);
    return [{ at: 'listed', id: server.label, label: server.label, tools, failure: null }];
  });
  return { offered, steps, close };
}

/** Functions are named by their server, since two may have tools of the same name. */
function offeredBy(server: McpServerTool, session: McpServerSession, names: FunctionNames): OfferedTool[] {
  return allowedOf(server, session).map(({ name, description, inputSchema }) => ({
    function: {
      name: names.free(`${server.label}__${name}`.replace(/[^\w-]/g, '_').slice(0, nameCharsMax)),
      description: [server.description, description].filter((text) => text !== '').join('\n\n'),
      parameters: inputSchema,
    },
    of: server,
    mcp: { name, session },
  }));
}

function allowedOf({ allowed }: McpServerTool, { tools }: McpServerSession): readonly McpServerFunction[] {
  return allowed === null ? tools : tools.filter((tool) => isMeant(allowed, tool));
}

function isMeant({ names, except, readOnly }: McpToolFilter, { name, annotations }: McpServerFunction): boolean {
  const isNamed = names === null ? !except.includes(name) : names.includes(name);
  return isNamed && (readOnly === null || readOnly === (annotations?.readOnlyHint === true));
}

function listed({ name, description, inputSchema, annotations }: McpServerFunction): JsonObject {
  return { name, description, input_schema: inputSchema, annotations };
}

/** Whether the caller wants to be asked before this tool is called. */
export function needsApproval(
  { approval }: McpServerTool,
  { name, session }: NonNullable<OfferedTool['mcp']>,
): boolean {
  if (typeof approval === 'string') return approval === 'always';
  const tool = session.tools.find((one) => one.name === name);
  return tool === undefined || !isMeant(approval.never, tool);
}
