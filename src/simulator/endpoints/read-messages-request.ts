import { isObject, type JsonValue, jsonText, objectIn, objectsIn } from '../../kernel/json.ts';
import type { Prompt, ReadPrompt, Tool } from '../prompt.ts';
import { inputTokensOf, isReasoningModel, stringsOf, textOf, toolTokensOf } from '../prompt.ts';
import { brokenThought } from './signed-thought.ts';

/** Reads the body of `POST /v1/messages`. */
export const readMessagesRequest: ReadPrompt = (body) => {
  const model = body.model;
  if (typeof model !== 'string' || model === '') return { refused: 'model: Field required', param: 'model' };
  if (typeof body.max_tokens !== 'number') return { refused: 'max_tokens: Field required', param: 'max_tokens' };
  const messages = body.messages;
  if (!Array.isArray(messages) || messages.length === 0) {
    return { refused: 'messages: at least one message is required', param: 'messages' };
  }
  let inputTokens = 3 + toolTokensOf(body.tools) + (body.system === undefined ? 0 : inputTokensOf(body.system));
  let lastUserText = '';
  let turn: Prompt['turn'] = 'user';
  for (const [at, message] of messages.entries()) {
    if (!isObject(message) || typeof message.role !== 'string') {
      return { refused: `messages.${at}.role: Field required`, param: `messages.${at}.role` };
    }
    inputTokens += inputTokensOf(message.content);
    if (message.role !== 'user') continue;
    turn = hasToolResult(message.content) ? 'tool-result' : 'user';
    const text = textOf(message.content);
    if (text !== '') lastUserText = text;
  }
  const thinking = isObject(body.thinking) ? body.thinking.type : undefined;
  const unthought = thinking === 'enabled' && turn === 'tool-result' ? unthoughtCall(messages) : null;
  const refused = unthought ?? brokenThought(messages);
  if (refused !== null) return { refused, param: null };
  const choice = objectIn(body.tool_choice);
  return {
    model,
    delivery: body.stream === true ? 'stream' : 'whole',
    usageChunk: 'asked',
    inputTokens,
    lastUserText,
    turn,
    tools: toolsOf(body.tools),
    toolChoice:
      choice.type === 'tool' && typeof choice.name === 'string'
        ? { name: choice.name }
        : choice.type === 'any'
          ? 'required'
          : choice.type === 'none'
            ? 'none'
            : 'auto',
    toolCalls: choice.disable_parallel_tool_use === true ? 'single' : 'parallel',
    format: formatOf(body.output_config) ?? formatOf({ format: body.output_format }) ?? 'text',
    choices: 1,
    stop: stringsOf(body.stop_sequences),
    maxTokens: body.max_tokens,
    reasoning: thinking === 'enabled' || thinking === 'adaptive' || isReasoningModel(model) ? 'shown' : 'none',
    topLogprobs: null,
  };
};

/** The fault of the turn whose calls have just been answered, when the model is to think on: it began without a thought. */
function unthoughtCall(messages: readonly JsonValue[]): string | null {
  const question = messages.findLastIndex(
    (message) => isObject(message) && message.role === 'user' && !hasToolResult(message.content),
  );
  const at = messages.findIndex((message, i) => i > question && isObject(message) && message.role === 'assistant');
  const turn = messages[at];
  const first = isObject(turn) && Array.isArray(turn.content) ? turn.content[0] : undefined;
  if (!isObject(first) || first.type === 'thinking' || first.type === 'redacted_thinking') return null;
  return `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${jsonText(first.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`;
}

function hasToolResult(content: JsonValue | undefined): boolean {
  return Array.isArray(content) && content.some((block) => isObject(block) && block.type === 'tool_result');
}

function toolsOf(tools: JsonValue | undefined): Tool[] {
  // Server tools (web_search_…) have a type and no schema. The simulator does not play the model's side of them.
  return objectsIn(tools).flatMap(({ name, input_schema: schema }) =>
    typeof name === 'string' && isObject(schema) ? [{ name, schema }] : [],
  );
}

function formatOf(config: JsonValue | undefined): Prompt['format'] | null {
  if (!isObject(config) || !isObject(config.format)) return null;
  return config.format.type === 'json_schema' && isObject(config.format.schema)
    ? { schema: config.format.schema }
    : null;
}
