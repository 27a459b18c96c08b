import { isObject, type JsonObject, type JsonValue, wordsOf } from '../../../kernel/json.ts';
import type { ServerTool, ServerToolsAsked } from '../../neutral/server-tool.ts';
import type { Result } from '../dialect.ts';
import { asked, mcpServerTool, openAiServerTool, webSearchTool } from '../server-tool-fields.ts';
import type { CallerBody } from './wire.ts';

const webSearchTypes = /^web_search_\d{8}$/;

/**
 * The tools of a request that whoever answers runs by itself: a search of the web, MCP servers, and a search of vector
 * collections in OpenAI's words. Null: there are none that this gateway could run.
 */
export function serverToolsOf(body: CallerBody): Result<ServerToolsAsked> | null {
  if (!Array.isArray(body.tools) && !Array.isArray(body.mcp_servers)) return null;
  return asked(() => {
    const all = (Array.isArray(body.tools) ? body.tools : []).map((tool): JsonObject => (isObject(tool) ? tool : {}));
    const tools = all.flatMap((tool, index) => toolOf(tool, index));
    const servers = Array.isArray(body.mcp_servers) ? body.mcp_servers : [];
    tools.push(...servers.flatMap((server, index) => serverOf(server, `mcp_servers[${index}]`, all)));
    if (tools.length === 0) return null;
    const named = body.tool_choice?.type === 'tool' ? body.tool_choice.name : null;
    const ownNames = all.flatMap(({ name, type }) =>
      typeof name === 'string' && (type == null || type === 'custom') ? [name] : [],
    );
    const isServers = (named === 'web_search' || named === 'file_search') && !ownNames.includes(named);
    return { tools, callsMax: null, choice: isServers ? named : null, ownNames };
  });
}

function toolOf(tool: JsonObject, index: number): ServerTool[] {
  const { type } = tool;
  const at = { path: `tools[${index}]`, field: `tools.${wordsOf(type)}` };
  if (type === 'file_search') {
    const read = openAiServerTool(tool, at);
    return read === null ? [] : [read];
  }
  if (typeof type !== 'string' || !webSearchTypes.test(type)) return [];
  const said = {
    detail: undefined,
    allowed: tool.allowed_domains,
    blocked: tool.blocked_domains,
    location: tool.user_location,
    callsMax: tool.max_uses,
  };
  return [webSearchTool(at, said)];
}

/** With what a toolset says of its tools, where there is one. */
function serverOf(server: JsonValue, path: string, tools: readonly JsonObject[]): ServerTool[] {
  if (!isObject(server)) return [];
  const toolset = tools.find(({ type, mcp_server_name: name }) => type === 'mcp_toolset' && name === server.name);
  const older = isObject(server.tool_configuration) ? server.tool_configuration : {};
  if (older.enabled === false) return [];
  const said = {
    label: server.name,
    url: server.url,
    description: undefined,
    headers:
      typeof server.authorization_token === 'string'
        ? ([['authorization', `Bearer ${server.authorization_token}`]] as const)
        : [],
    allowed: older.allowed_tools ?? (toolset === undefined ? undefined : allowedBy(toolset)),
    approval: 'never' as const,
  };
  return [mcpServerTool({ path, field: 'mcp_servers' }, said)];
}

/** The names that a toolset allows; undefined: all. */
function allowedBy({ default_config: byDefault, configs }: JsonObject): JsonValue | undefined {
  if (!isObject(byDefault) || byDefault.enabled !== false) return undefined;
  return Object.entries(isObject(configs) ? configs : {}).flatMap(([name, config]) =>
    isObject(config) && config.enabled === true ? [name] : [],
  );
}
