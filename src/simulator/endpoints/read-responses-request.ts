import { isObject, type JsonObject, type JsonValue, listIn, objectIn } from '../../kernel/json.ts';
import type { Prompt, ReadPrompt, Tool } from '../prompt.ts';
import { inputTokensOf, isReasoningModel, textOf, toolTokensOf } from '../prompt.ts';

/** Reads the body of `POST /v1/responses`. */
export const readResponsesRequest: ReadPrompt = (body) => {
  const model = body.model;
  if (typeof model !== 'string' || model === '') {
    return { refused: "Missing required parameter: 'model'.", param: 'model' };
  }
  const items = itemsOf(body.input);
  if (items === null) return { refused: "Missing required parameter: 'input'.", param: 'input' };
  let inputTokens = 3 + toolTokensOf(body.tools);
  if (typeof body.instructions === 'string') inputTokens += inputTokensOf(body.instructions);
  let lastUserText = '';
  let turn: Prompt['turn'] = 'user';
  for (const [at, item] of items.entries()) {
    if (!isObject(item)) return { refused: `Invalid type for 'input[${at}]'.`, param: `input[${at}]` };
    const isOutput = typeof item.type === 'string' && item.type.endsWith('_call_output');
    inputTokens += inputTokensOf(isOutput ? item.output : item.content);
    if (isOutput) turn = 'tool-result';
    if (item.role !== 'user') continue;
    turn = 'user';
    lastUserText = textOf(item.content);
  }
  const text = objectIn(body.text);
  const reasoning = objectIn(body.reasoning);
  const include = listIn(body.include);
  const requestsLogprobs = include.includes('message.output_text.logprobs');
  const thinks = typeof reasoning.effort === 'string' && reasoning.effort !== 'none';
  return {
    model,
    delivery: body.stream === true ? 'stream' : 'whole',
    usageChunk: 'asked',
    inputTokens,
    lastUserText,
    turn,
    tools: toolsOf(body.tools),
    toolChoice: toolChoiceOf(body.tool_choice),
    toolCalls: body.parallel_tool_calls === false ? 'single' : 'parallel',
    format: formatOf(text.format),
    choices: 1,
    stop: [],
    maxTokens: typeof body.max_output_tokens === 'number' ? body.max_output_tokens : null,
    reasoning: thinks || isReasoningModel(model) ? 'shown' : 'none',
    topLogprobs: requestsLogprobs ? (typeof body.top_logprobs === 'number' ? body.top_logprobs : 0) : null,
  };
};

function itemsOf(input: JsonValue | undefined): JsonValue[] | null {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return Array.isArray(input) && input.length > 0 ? input : null;
}

const oneText: JsonObject = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };

function toolsOf(tools: JsonValue | undefined, namespace?: string): Tool[] {
  if (!Array.isArray(tools)) return [];
  const found: Tool[] = [];
  for (const tool of tools) {
    // Tools that the provider runs itself have no name: that side is not played here.
    if (!isObject(tool) || typeof tool.name !== 'string') continue;
    const named = { name: tool.name, ...(namespace !== undefined && { namespace }) };
    if (tool.type === 'namespace') found.push(...toolsOf(tool.tools, tool.name));
    else if (tool.type === 'custom') found.push({ ...named, schema: oneText, takes: 'text' });
    else found.push({ ...named, schema: objectIn(tool.parameters) });
  }
  return found;
}

function toolChoiceOf(choice: JsonValue | undefined): Prompt['toolChoice'] {
  if (choice === 'none' || choice === 'required') return choice;
  return isObject(choice) && typeof choice.name === 'string' ? { name: choice.name } : 'auto';
}

function formatOf(format: JsonValue | undefined): Prompt['format'] {
  if (!isObject(format)) return 'text';
  if (format.type === 'json_schema' && isObject(format.schema)) return { schema: format.schema };
  return format.type === 'json_object' ? 'json' : 'text';
}
