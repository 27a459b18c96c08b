import { isObject, type JsonValue, objectIn, objectsIn } from '../../kernel/json.ts';
import type { Prompt, ReadPrompt, Tool } from '../prompt.ts';
import { inputTokensOf, isReasoningModel, stringsOf, textOf, toolTokensOf } from '../prompt.ts';

const choicesMax = 128;

/** Reads the body of `POST /v1/chat/completions`. Azure's form names the model in the path. */
export const readChatRequest: ReadPrompt = (body, pathModel) => {
  const model = typeof body.model === 'string' && body.model !== '' ? body.model : pathModel;
  if (model === null) return { refused: 'you must provide a model parameter', param: 'model' };
  const messages = body.messages;
  if (!Array.isArray(messages) || messages.length === 0) {
    return { refused: "Missing required parameter: 'messages'.", param: 'messages' };
  }
  let inputTokens = 3 + toolTokensOf(body.tools);
  let lastUserText = '';
  let lastRole: JsonValue | undefined;
  for (const [at, message] of messages.entries()) {
    if (!isObject(message) || typeof message.role !== 'string') {
      return { refused: `Missing required parameter: 'messages[${at}].role'.`, param: `messages[${at}].role` };
    }
    inputTokens += inputTokensOf(message.content);
    if (message.role === 'user') lastUserText = textOf(message.content);
    lastRole = message.role;
  }
  const choices = typeof body.n === 'number' ? body.n : 1;
  if (!Number.isInteger(choices) || choices < 1 || choices > choicesMax) {
    return { refused: `Invalid 'n': expected an integer from 1 to ${choicesMax}.`, param: 'n' };
  }
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  const effort = body.reasoning_effort;
  const thinks = typeof effort === 'string' && effort !== 'none' && effort !== 'minimal';
  return {
    model,
    delivery: body.stream === true ? 'stream' : 'whole',
    usageChunk: isObject(body.stream_options) && body.stream_options.include_usage === true ? 'asked' : 'not-asked',
    inputTokens,
    lastUserText,
    turn: lastRole === 'tool' || lastRole === 'function' ? 'tool-result' : 'user',
    tools: toolsOf(body.tools),
    toolChoice: toolChoiceOf(body.tool_choice),
    toolCalls: body.parallel_tool_calls === false ? 'single' : 'parallel',
    format: formatOf(body.response_format),
    choices,
    stop: stringsOf(body.stop),
    maxTokens: typeof maxTokens === 'number' ? maxTokens : null,
    reasoning: thinks || isReasoningModel(model) ? 'shown' : 'none',
    topLogprobs: body.logprobs === true ? (typeof body.top_logprobs === 'number' ? body.top_logprobs : 0) : null,
  };
};

function toolsOf(tools: JsonValue | undefined): Tool[] {
  return objectsIn(tools).flatMap((tool) => {
    const { name, parameters } = objectIn(tool.function);
    return typeof name === 'string' ? [{ name, schema: objectIn(parameters) }] : [];
  });
}

function toolChoiceOf(choice: JsonValue | undefined): Prompt['toolChoice'] {
  if (choice === 'none' || choice === 'required') return choice;
  if (isObject(choice) && isObject(choice.function) && typeof choice.function.name === 'string') {
    return { name: choice.function.name };
  }
  return 'auto';
}

function formatOf(format: JsonValue | undefined): Prompt['format'] {
  if (!isObject(format)) return 'text';
  if (format.type === 'json_schema' && isObject(format.json_schema) && isObject(format.json_schema.schema)) {
    return { schema: format.json_schema.schema };
  }
  return format.type === 'json_object' || format.type === 'json_schema' ? 'json' : 'text';
}
