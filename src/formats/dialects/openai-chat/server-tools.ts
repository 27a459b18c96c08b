import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, jsonText, listIn, objectIn } from '../../../kernel/json.ts';
import type { RequestedServerTools, ServerTool } from '../../neutral/server-tool.ts';
import { type AddressSources, count, hasServerTools, openAiServerTool, webSearchTool } from '../server-tool-fields.ts';
import type { ChatRequest } from './wire.ts';

/**
 * Tools of a request that the answering server runs: OpenAI's `web_search_options`, and those of its newer format.
 * Null: there are none that this gateway could run.
 */
export function serverToolsOf(body: ChatRequest): RequestedServerTools | Failure | null {
  if (!isObject(body.web_search_options) && !hasServerTools(body.tools)) return null;
  const all = listIn(body.tools).map(objectIn);
  const tools: ServerTool[] = [];
  for (const [index, tool] of all.entries()) {
    const at = { path: `tools[${index}]`, field: `tools.${jsonText(tool.type)}` };
    const read = openAiServerTool(tool, at, () => addressSourcesIn(body));
    if (isFailure(read)) return read;
    if (read?.kind === 'mcp' && read.approval !== 'never') return noApproval(index);
    if (read !== null) tools.push(read);
  }
  const { web_search_options: options } = body;
  if (isObject(options)) {
    const search = searchIn(options);
    if (isFailure(search)) return search;
    tools.push(search);
  }
  if (tools.length === 0) return null;
  const clientToolNames = all.flatMap(({ function: fn, custom }) => {
    const { name } = isObject(fn) ? fn : objectIn(custom);
    return typeof name === 'string' ? [name] : [];
  });
  const callsMax = count(body.max_tool_calls, 'max_tool_calls');
  return isFailure(callsMax) ? callsMax : { tools, callsMax, choice: null, clientToolNames };
}

function searchIn(options: JsonObject): ServerTool | Failure {
  const { user_location: location } = options;
  const settings = {
    detail: options.search_context_size,
    allowed: undefined,
    blocked: undefined,
    location: isObject(location) && isObject(location.approximate) ? location.approximate : location,
    callsMax: undefined,
  };
  return webSearchTool({ path: 'web_search_options', field: 'web_search_options' }, settings);
}

function* addressSourcesIn({ messages }: ChatRequest): AddressSources {
  for (const { role, content, annotations } of messages) {
    if (role === 'tool' || role === 'function') yield ['client', content];
    else if (role === 'assistant') yield ['server', annotations];
    else yield ['user', content];
  }
}

function noApproval(index: number): Failure {
  const field = `tools[${index}].require_approval`;
  const message = `Chat completions have no way to ask for an approval: send "require_approval": "never", or use Responses.`;
  return invalid(field, message);
}
