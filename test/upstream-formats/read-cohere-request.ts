import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';
import type { Prompt, ReadPrompt, Refusal, Tool } from '../../src/simulator/prompt.ts';
import { inputTokensOf, stringsOf, textOf, toolTokensOf } from '../../src/simulator/prompt.ts';

/** https://docs.cohere.com/reference/chat; Cohere refuses any other member. */
const members = new Set([
  'model',
  'messages',
  'stream',
  'tools',
  'strict_tools',
  'documents',
  'citation_options',
  'response_format',
  'safety_mode',
  'max_tokens',
  'stop_sequences',
  'temperature',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'k',
  'p',
  'logprobs',
  'tool_choice',
  'thinking',
  'priority',
]);
const messageMembers = new Set(['role', 'content', 'tool_calls', 'tool_plan', 'tool_call_id', 'citations']);

/** Reads the body of `POST /v2/chat`, and refuses what Cohere refuses. */
export const readCohereRequest: ReadPrompt = (body) => {
  const wrong = wrongIn(body);
  if (wrong !== null) return wrong;
  const { model, messages, thinking } = body as JsonObject & { model: string; messages: JsonObject[] };
  const said = messages.filter(({ role }) => role === 'user');
  const tools = toolsOf(body.tools);
  const documents = Array.isArray(body.documents) ? body.documents : [];
  const prompt: Prompt = {
    model,
    delivery: body.stream === true ? 'stream' : 'whole',
    usageChunk: 'asked',
    inputTokens: messages.reduce((sum, { content }) => sum + inputTokensOf(content), 3 + toolTokensOf(body.tools)),
    lastUserText: said.map(({ content }) => textOf(content)).findLast((text) => text !== '') ?? '',
    turn: messages.at(-1)!.role === 'tool' ? 'tool-result' : 'user',
    tools,
    toolChoice: body.tool_choice === 'REQUIRED' ? 'required' : body.tool_choice === 'NONE' ? 'none' : 'auto',
    toolCalls: 'parallel',
    format: formatOf(body.response_format),
    choices: 1,
    stop: stringsOf(body.stop_sequences),
    maxTokens: typeof body.max_tokens === 'number' ? body.max_tokens : null,
    reasoning: isObject(thinking) ? (thinking.type === 'enabled' ? 'shown' : 'none') : shows(model),
    topLogprobs: null,
    // What an answer may cite.
    items: documents.map((document) => JSON.stringify(document)),
  };
  return prompt;
};

function shows(model: string): Prompt['reasoning'] {
  return model.includes('reason') ? 'shown' : 'none';
}

function wrongIn(body: JsonObject): Refusal | null {
  const unknown = Object.keys(body).find((name) => !members.has(name));
  if (unknown !== undefined) return refused(`unknown field: parameter '${unknown}' is not a valid field`);
  if (typeof body.model !== 'string') return refused('invalid request: model is required');
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0) return refused('invalid request: messages are required');
  const called = new Set<JsonValue>();
  for (const message of messages) {
    if (!isObject(message)) return refused('invalid request: a message must be an object');
    const odd = Object.keys(message).find((name) => !messageMembers.has(name));
    if (odd !== undefined) return refused(`unknown field: parameter 'messages.${odd}' is not a valid field`);
    const { role, content, tool_calls: calls, tool_call_id: callId } = message;
    if (content === undefined && calls === undefined) return refused('invalid request: a message must have content');
    if (role === 'tool' && !called.delete(callId ?? null)) {
      return refused(`invalid request: the tool call ${String(callId)} does not exist in the previous message`);
    }
    if (Array.isArray(calls)) for (const call of calls) if (isObject(call)) called.add(call.id ?? null);
  }
  if (called.size > 0) return refused('invalid request: each tool call needs a result');
  const beside = body.tools !== undefined || body.documents !== undefined;
  if (isObject(body.response_format) && body.response_format.type === 'json_object' && beside) {
    return refused('invalid request: response_format is not supported with RAG or tools.');
  }
  if (body.tool_choice !== undefined && body.tools === undefined) {
    return refused('invalid request: tool_choice needs tools');
  }
  const { temperature, p } = body;
  if (typeof temperature === 'number' && temperature > 1) {
    return refused('invalid request: temperature must be between 0 and 1.0 inclusive.');
  }
  if (typeof p === 'number' && (p < 0.01 || p > 0.99))
    return refused('invalid request: p must be between 0.01 and 0.99.');
  if (body.frequency_penalty && body.presence_penalty) {
    return refused('invalid request: cannot specify both frequency_penalty and presence_penalty.');
  }
  return null;
}

function refused(message: string): Refusal {
  return { refused: message, param: null };
}

function toolsOf(tools: JsonValue | undefined): Tool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => {
    const said = isObject(tool) ? tool.function : undefined;
    if (!isObject(said) || typeof said.name !== 'string' || !isObject(said.parameters)) return [];
    return [{ name: said.name, schema: said.parameters }];
  });
}

function formatOf(format: JsonValue | undefined): Prompt['format'] {
  if (!isObject(format) || format.type !== 'json_object') return 'text';
  return isObject(format.json_schema) ? { schema: format.json_schema } : 'json';
}
