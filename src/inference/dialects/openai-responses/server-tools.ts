import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { ServerTool, ServerToolKind, ServerToolsAsked } from '../../neutral/server-tool.ts';
import type { Result } from '../dialect.ts';
import { asked, count, openAiServerTool } from '../server-tool-fields.ts';
import type { ResponsesRequest } from './wire.ts';

/** The tools of a request that whoever answers runs by itself; null: there are none that this gateway could run. */
export function serverToolsOf(body: ResponsesRequest): Result<ServerToolsAsked> | null {
  return asked(() => {
    const all = Array.isArray(body.tools) ? body.tools.filter(isObject) : [];
    const tools = all.flatMap((tool, index): ServerTool[] => {
      const read = openAiServerTool(tool, { path: `tools[${index}]`, field: `tools.${tool.type}` });
      return read !== null && isAllowed(tool, body.tool_choice) ? [read] : [];
    });
    if (tools.length === 0) return null;
    return {
      tools,
      callsMax: count(body.max_tool_calls, 'max_tool_calls'),
      choice: serverChoice(body.tool_choice),
      ownNames: all.flatMap(({ name }) => (typeof name === 'string' ? [name] : [])),
    };
  });
}

/** A list of allowed tools names each by its type, servers by their label too. */
function isAllowed(tool: JsonObject, choice: ResponsesRequest['tool_choice']): boolean {
  if (!isObject(choice) || choice.type !== 'allowed_tools' || !Array.isArray(choice.tools)) return true;
  return choice.tools.some(
    (one) => isObject(one) && one.type === tool.type && (one.server_label ?? null) === (tool.server_label ?? null),
  );
}

/** The kind that a choice demands; null: it demands none of them. */
function serverChoice(choice: ResponsesRequest['tool_choice']): ServerToolKind | null {
  if (!isObject(choice) || typeof choice.type !== 'string') return null;
  if (choice.type.startsWith('web_search')) return 'web_search';
  return choice.type === 'file_search' || choice.type === 'mcp' ? choice.type : null;
}
