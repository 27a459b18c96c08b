import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, jsonText, objectsIn, stringOr } from '../../../kernel/json.ts';
import type { ApprovedCall, RequestedServerTools, ServerTool, ServerToolKind } from '../../neutral/server-tool.ts';
import { type AddressSources, count, hasServerTools, openAiServerTool } from '../server-tool-fields.ts';
import { isModels } from './decode-messages.ts';
import { flatName, offeredTools } from './offered-tools.ts';
import { type InputItem, isGatewayStep, type ResponsesRequest } from './wire.ts';

/** Tools of a request that the answering server runs; null: there are none that this gateway could run. */
export function serverToolsOf(body: ResponsesRequest): RequestedServerTools | Failure | null {
  if (!hasServerTools(body.tools)) return null;
  const all = objectsIn(body.tools);
  const tools: ServerTool[] = [];
  for (const [index, tool] of all.entries()) {
    const at = { path: `tools[${index}]`, field: `tools.${jsonText(tool.type)}` };
    const read = openAiServerTool(tool, at, () => addressSourcesIn(body));
    if (isFailure(read)) return read;
    if (read === null || !isAllowed(tool, body.tool_choice)) continue;
    tools.push(read.kind === 'mcp' ? { ...read, isListed: isListed(body, read.label) } : read);
  }
  if (tools.length === 0) return null;
  const callsMax = count(body.max_tool_calls, 'max_tool_calls');
  if (isFailure(callsMax)) return callsMax;
  const approvals = approvalsIn(body);
  return {
    tools,
    ...(approvals.length > 0 && { approvals }),
    callsMax,
    choice: serverChoice(body.tool_choice),
    ...chosenServer(body.tool_choice),
    clientToolNames: offeredTools(body).map(({ tool, namespace }) => flatName(tool.name, namespace)),
  };
}

function itemsOf({ input }: ResponsesRequest): readonly InputItem[] {
  return objectsIn(input);
}

function* addressSourcesIn(body: ResponsesRequest): AddressSources {
  yield ['user', body.instructions];
  if (typeof body.input === 'string') yield ['user', body.input];
  for (const { type, role, content, output, action } of itemsOf(body)) {
    if (role === 'assistant') {
      const parts = objectsIn(content);
      for (const { annotations } of parts) yield ['server', annotations];
    } else if (type === 'web_search_call') yield ['server', action];
    else yield typeof type === 'string' && type.endsWith('_output') ? ['client', output] : ['user', content];
  }
}

function isListed(body: ResponsesRequest, label: string): boolean {
  return itemsOf(body).some(({ type, server_label: listed }) => type === 'mcp_list_tools' && listed === label);
}

/** The caller's answers to questions that this gateway asked, since the model said anything. */
function approvalsIn(body: ResponsesRequest): ApprovedCall[] {
  const items = itemsOf(body);
  const newest = items.slice(items.findLastIndex(isModels) + 1);
  return newest.flatMap(({ type, approval_request_id: id, approve }): ApprovedCall[] => {
    if (type !== 'mcp_approval_response') return [];
    const question = items.find((one) => one.id === id && one.type === 'mcp_approval_request' && isGatewayStep(one));
    if (question?.type !== 'mcp_approval_request' || typeof question.name !== 'string') return [];
    const { name, server_label: label } = question;
    const argumentsJson = stringOr(question.arguments, '{}');
    return [{ id: jsonText(id), label: jsonText(label), name, argumentsJson, approve: approve === true }];
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
  if (choice.type.startsWith('web_fetch')) return 'web_fetch';
  return choice.type === 'file_search' || choice.type === 'mcp' ? choice.type : null;
}

function chosenServer(choice: ResponsesRequest['tool_choice']): Pick<RequestedServerTools, 'server'> {
  if (!isObject(choice) || choice.type !== 'mcp' || typeof choice.server_label !== 'string') return {};
  return { server: { label: choice.server_label, name: stringOr(choice.name, '') || null } };
}
