import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, jsonText } from '../../../kernel/json.ts';
import type { McpToolFilter, RequestedServerTools, ServerTool } from '../../neutral/server-tool.ts';
import {
  type AddressSources,
  hasServerTools,
  mcpServerTool,
  openAiServerTool,
  toolFilter,
  webFetchTool,
  webSearchTool,
} from '../server-tool-fields.ts';
import type { CallerBody } from './wire.ts';

const webSearchTypes = /^web_search_\d{8}$/;
const webFetchTypes = /^web_fetch_\d{8}$/;

/**
 * Tools of a request that the answering server runs: a search of the web, reading its pages, MCP servers, and a search
 * of vector collections in OpenAI's words. Null: there are none that this gateway could run.
 */
export function serverToolsOf(body: CallerBody): RequestedServerTools | Failure | null {
  if (!hasServerTools(body.tools) && !Array.isArray(body.mcp_servers)) return null;
  const all = (Array.isArray(body.tools) ? body.tools : []).map((tool): JsonObject => (isObject(tool) ? tool : {}));
  const servers = Array.isArray(body.mcp_servers) ? body.mcp_servers : [];
  const read = [
    ...all.map((tool, index) => toolOf(body, tool, index)),
    ...servers.map((server, index) => serverOf(server, `mcp_servers[${index}]`, all)),
  ].filter((one) => one !== null);
  const failure = read.find(isFailure);
  if (failure !== undefined) return failure;
  const tools = read.filter((one) => !isFailure(one));
  if (tools.length === 0) return null;
  const named = body.tool_choice?.type === 'tool' ? body.tool_choice.name : null;
  const clientToolNames = all.flatMap(({ name, type }) =>
    typeof name === 'string' && (type == null || type === 'custom') ? [name] : [],
  );
  const kind = named === 'web_search' || named === 'web_fetch' || named === 'file_search' ? named : null;
  return {
    tools,
    callsMax: null,
    choice: kind !== null && !clientToolNames.includes(kind) ? kind : null,
    clientToolNames,
  };
}

function toolOf(body: CallerBody, tool: JsonObject, index: number): ServerTool | Failure | null {
  const { type } = tool;
  const at = { path: `tools[${index}]`, field: `tools.${jsonText(type)}` };
  if (type === 'file_search') return openAiServerTool(tool, at, () => []);
  if (typeof type === 'string' && webFetchTypes.test(type)) {
    return webFetchTool(tool, at, { addressSources: () => addressSourcesIn(body), cited: 'if asked' });
  }
  if (typeof type !== 'string' || !webSearchTypes.test(type)) return null;
  const settings = {
    detail: undefined,
    allowed: tool.allowed_domains,
    blocked: tool.blocked_domains,
    location: tool.user_location,
    callsMax: tool.max_uses,
  };
  return webSearchTool(at, settings);
}

function* addressSourcesIn({ system, messages }: CallerBody): AddressSources {
  yield ['user', system];
  for (const { role, content } of messages) {
    if (!Array.isArray(content)) {
      if (role !== 'assistant') yield ['user', content];
      continue;
    }
    for (const block of content) {
      if (block.type === 'tool_result') yield ['client', block.content];
      else if (block.type === 'web_search_tool_result' || block.type === 'web_fetch_tool_result')
        yield ['server', block.content];
      else if (role !== 'assistant') yield ['user', block];
    }
  }
}

/** With what a toolset says of its tools, where there is one. */
function serverOf(server: JsonValue, path: string, tools: readonly JsonObject[]): ServerTool | Failure | null {
  if (!isObject(server)) return null;
  const toolset = tools.find(({ type, mcp_server_name: name }) => type === 'mcp_toolset' && name === server.name);
  const older = isObject(server.tool_configuration) ? server.tool_configuration : {};
  if (older.enabled === false) return null;
  const filter = toolFilter(older.allowed_tools, `${path}.tool_configuration.allowed_tools`);
  if (isFailure(filter)) return filter;
  const settings = {
    label: server.name,
    url: server.url,
    description: undefined,
    headers:
      typeof server.authorization_token === 'string'
        ? ([['authorization', `Bearer ${server.authorization_token}`]] as const)
        : [],
    allowed: filter ?? (toolset === undefined ? null : allowedBy(toolset)),
    approval: 'never' as const,
  };
  return mcpServerTool({ path, field: 'mcp_servers' }, settings);
}

/** The tools that a toolset allows. */
function allowedBy({ default_config: byDefault, configs }: JsonObject): McpToolFilter {
  const namesWith = (enabled: boolean) =>
    Object.entries(isObject(configs) ? configs : {}).flatMap(([name, config]) =>
      isObject(config) && config.enabled === enabled ? [name] : [],
    );
  const isDenied = isObject(byDefault) && byDefault.enabled === false;
  return { names: isDenied ? namesWith(true) : null, except: namesWith(false), readOnly: null };
}
