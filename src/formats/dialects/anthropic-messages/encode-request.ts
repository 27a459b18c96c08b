import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { refuse } from '../../neutral/loss.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralReasoning, NeutralResponseFormat, NeutralTool } from '../../neutral/request.ts';
import { standInTool } from '../../neutral/stand-in-tool.ts';
import { breaksToolLoop, dropLoopThoughts } from '../../neutral/tool-loop.ts';
import type { EncodedRequest, EncodeTarget } from '../dialect.ts';
import type { NarrowedSchema } from '../narrowing.ts';
import { openAiAlone } from '../openai-chat/request-fields.ts';
import { byHand, encoderOf, encodersByModel, type Taken, writeFields } from '../taken-fields.ts';
import { type Encoding, encodeMessages, lose } from './encode-messages.ts';
import { type ModelRules, rulesOf } from './model-rules.ts';
import { isRecursive, narrowSchema } from './narrow-schema.ts';
import { encodedFields } from './request-fields.ts';
import { strictSchemas } from './strict-tools.ts';
import { blockKinds, type MessagesBody, type Thinking, type Tool, type ToolChoice, type Turn, vendor } from './wire.ts';

/** Default when nobody knows the model's limit; every model accepts it. Anthropic requires the field. */
const maxTokensDefault = 4_096;

const takes = ['messages', 'maxOutputTokens', 'tools', 'tools.strict', 'tools.cache', ...byHand] as const;
type EncodedMembers = Taken<(typeof takes)[number]>;

/**
 * A neutral request as a Messages body. Losses have the names of OpenAI's fields, the only dialect that is converted
 * here. Requests that would change the result are refused (audio in, logprobs, n > 1, a required search, an impossible
 * format).
 */
const encodeByRules = encoderOf({
  vendor,
  takes,
  fields: encodedFields,
  // A field that the target's provider spells differently has the caller's word in messages to the caller.
  words: new Map([
    ['stop_sequences', 'stop'],
    ['thinking', 'reasoning_effort'],
    ['output_config', 'response_format'],
  ]),
  encode,
});

export const { encodeRequest, encoderFor } = encodersByModel(encodeByRules, rulesOf);

function encode(request: EncodedMembers, target: EncodeTarget, rules: ModelRules): EncodedRequest | Failure {
  const encoding: Encoding = { rules, losses: [], failure: null, marked: [] };
  const foreign = openAiAlone(request);
  if (foreign !== null) refuse(encoding, foreign.field, foreign.message);
  const { system, turns } = encodeMessages(request.messages, encoding);
  const { responseFormat } = request;
  const format =
    responseFormat === undefined || responseFormat.type === 'text'
      ? null
      : encodeFormat(responseFormat, request, encoding);
  const tools =
    format?.kind === 'forced-tool'
      ? withStandIn(format.tool, request, turns, encoding)
      : encodeTools(request, turns, encoding);
  if (encoding.failure !== null) return encoding.failure;

  const vendorFields = request.extensions?.[vendor];
  const limit = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const maxTokens = Math.min(request.maxOutputTokens ?? target.maxOutputTokens ?? maxTokensDefault, limit);
  const body: MessagesBody & JsonObject = {
    ...vendorFields,
    model: target.model,
    max_tokens: maxTokens,
    messages: turns,
    stream: target.stream,
    ...tools,
  };
  if (system.length > 0) body.system = system;
  const forced = tools.tool_choice?.type === 'tool' || tools.tool_choice?.type === 'any';
  const thinking: EncodedThinking =
    request.reasoning === undefined
      ? {}
      : encodeThinking(request.reasoning, maxTokens, { turns, toolChoice: forced ? 'forced' : 'free' }, encoding);
  if (thinking.thinking !== undefined) body.thinking = thinking.thinking;
  else if (rules.thoughtsInLoop === 'while-thinking' && dropLoopThoughts(turns, blockKinds))
    lose(encoding, 'reasoning_content', 'unsupported');
  if (thinking.effort !== undefined || format?.kind === 'native') {
    const output: JsonObject = isObject(vendorFields?.output_config) ? { ...vendorFields.output_config } : {};
    if (thinking.effort !== undefined) output.effort = thinking.effort;
    if (format?.kind === 'native') output.format = format.format;
    body.output_config = output;
  }
  writeFields(encodedFields, request, { maxOutputTokens: target.maxOutputTokens, rules, body }, body, encoding.losses);
  if (encoding.marked.length > marksMax) keepNewestMarks(encoding);
  const encoded: EncodedRequest = { body, losses: encoding.losses };
  if (format?.kind === 'forced-tool') encoded.decode = { unwrapTool: format.tool.name };
  return encoded;
}

/** "A maximum of 4 blocks with cache_control may be provided": one more is a 400. */
const marksMax = 4;

/** Removes the earliest marks: a later one keeps all that is before it. Callers of formats without the bound set more. */
function keepNewestMarks(encoding: Encoding): void {
  // Tools come last here, and first in a prompt.
  const tools = encoding.marked.filter((block) => 'input_schema' in block);
  const order = [...tools, ...encoding.marked.slice(0, -tools.length || undefined)];
  for (const block of order.slice(0, -marksMax)) delete block.cache_control;
  lose(encoding, 'cache_control', 'narrowed');
}

/** Form of structured output: native, or one forced call whose arguments are the answer. */
type EncodedFormat = { kind: 'native'; format: JsonObject } | { kind: 'forced-tool'; tool: Tool };

const field = 'response_format';

/** Null when it is refused. */
function encodeFormat(
  format: Exclude<NeutralResponseFormat, { type: 'text' }>,
  request: EncodedMembers,
  encoding: Encoding,
): EncodedFormat | null {
  const { rules } = encoding;
  if (format.type === 'json-schema' && rules.jsonSchema === 'native' && !isRecursive(format.schema)) {
    const narrowed = narrowSchema(format.schema);
    if (narrowed.narrowed) lose(encoding, `${field}.json_schema.schema`, 'narrowed');
    if (format.description !== undefined) lose(encoding, `${field}.json_schema.description`, 'unsupported');
    return { kind: 'native', format: { type: 'json_schema', schema: narrowed.schema } };
  }
  if (rules.forcedTool === 'refused') {
    refuse(encoding, field, 'This model supports only response_format of type json_schema, without recursion.');
  }
  const tool = standInTool(format, request.tools);
  if (isFailure(tool)) {
    encoding.failure ??= tool;
    return null;
  }
  const { name, description, parameters } = tool;
  return { kind: 'forced-tool', tool: { name, description, input_schema: parameters } };
}

/** Adds the tool that replaces a format to the caller's: the model calls it, or several of the caller's. */
function withStandIn(tool: Tool, request: EncodedMembers, turns: readonly Turn[], encoding: Encoding): EncodedTools {
  const { tools = [], tool_choice: choice } = encodeTools(request, turns, encoding);
  // A model that must call a tool of the caller's gives no answer yet.
  if (choice?.type === 'any' || choice?.type === 'tool') return { tools, tool_choice: choice };
  const mayCall = choice?.type !== 'none' && tools.length > 0;
  const single = choice?.type === 'auto' ? choice : {};
  return {
    tools: [...tools, tool],
    tool_choice: mayCall
      ? { ...single, type: 'any' }
      : { type: 'tool', name: tool.name, disable_parallel_tool_use: true },
  };
}

interface EncodedThinking {
  thinking?: Thinking;
  /** `output_config.effort`. */
  effort?: string;
}

/** Tokens, where the model wants a number. 1,024 is Anthropic's least. */
const budgetByEffort: ReadonlyMap<string, number> = new Map([
  ['minimal', 1_024],
  ['low', 2_048],
  ['medium', 8_192],
  ['high', 16_384],
  ['xhigh', 32_768],
  ['max', 32_768],
]);
const budgetUsual = 8_192;
export const budgetMin = 1_024;

function encodeThinking(
  reasoning: NeutralReasoning,
  maxTokens: number,
  context: { turns: readonly Turn[]; toolChoice: 'free' | 'forced' },
  encoding: Encoding,
): EncodedThinking {
  if (reasoning.effort === undefined && reasoning.budgetTokens === undefined) return {};
  if (reasoning.effort === 'none') return withoutThinking(encoding);
  switch (encoding.rules.thinking) {
    case 'none':
      lose(encoding, 'reasoning_effort', 'unsupported');
      return {};
    case 'adaptive':
      // Anthropic refuses thoughts of either kind together with a call that must be made.
      if (context.toolChoice === 'forced') {
        lose(encoding, 'reasoning_effort', 'unsupported');
        return withoutThinking(encoding);
      }
      // Newer models leave the thoughts out unless asked for a summary.
      return { thinking: { type: 'adaptive', display: 'summarized' }, effort: effortWord(reasoning) };
    case 'budget': {
      const budget = budgetFor(reasoning, maxTokens);
      if (budget === null || context.toolChoice === 'forced' || breaksToolLoop(context.turns, blockKinds)) {
        lose(encoding, 'reasoning_effort', 'unsupported');
        return {};
      }
      return { thinking: { type: 'enabled', budget_tokens: budget } };
    }
  }
}

function withoutThinking(encoding: Encoding): EncodedThinking {
  const { thinkingOff } = encoding.rules;
  switch (thinkingOff) {
    case 'absent':
      return {};
    case 'effort-low':
      lose(encoding, 'reasoning_effort', 'clamped');
      return { effort: 'low' };
    default:
      return { thinking: { type: thinkingOff } };
  }
}

/** Word for how hard to think, as `output_config.effort` has it. */
export function effortWord(reasoning: NeutralReasoning): string {
  switch (reasoning.effort) {
    case 'minimal':
    case 'low':
      return 'low';
    case 'high':
    case 'xhigh':
    case 'max':
      return reasoning.effort;
    case 'medium':
      return 'medium';
    default: {
      const budget = reasoning.budgetTokens ?? budgetUsual;
      return budget < 4_096 ? 'low' : budget < 16_384 ? 'medium' : 'high';
    }
  }
}

/** Tokens for thoughts, whatever the limit of the answer. */
export function unlimitedBudget({ budgetTokens, effort }: NeutralReasoning): number {
  return budgetTokens ?? budgetByEffort.get(effort ?? '') ?? budgetUsual;
}

/** Below max_tokens, which counts thoughts and answer together: a quarter is kept for the answer. Null: no room. */
export function budgetFor(reasoning: NeutralReasoning, maxTokens: number): number | null {
  const budget = unlimitedBudget(reasoning);
  const room = Math.floor(maxTokens * 0.75);
  if (room < budgetMin) return null;
  return Math.max(budgetMin, Math.min(budget, room));
}

interface EncodedTools {
  tools?: Tool[];
  tool_choice?: ToolChoice;
}

function encodeTools(request: EncodedMembers, turns: readonly Turn[], encoding: Encoding): EncodedTools {
  if (request.toolChoice !== undefined) encoding.failure ??= missingTool(request);
  if (request.tools === undefined || request.tools.length === 0) {
    if (request.toolChoice?.type === 'auto') lose(encoding, 'tool_choice', 'unsupported');
    return turns.length > 1 ? historyTools(turns) : {};
  }
  const strict = strictSchemas(request.tools, encoding.rules);
  const tools = request.tools.map((tool, i) => encodeTool(tool, i, strict.get(i), encoding));
  const choice = toolChoice(request, encoding);
  return choice === null ? { tools } : { tools, tool_choice: choice };
}

function encodeTool(tool: NeutralTool, index: number, strict: NarrowedSchema | undefined, encoding: Encoding): Tool {
  const encoded: Tool = { name: tool.name, input_schema: strict?.schema ?? inputSchema(tool.parameters) };
  if (strict !== undefined) {
    encoded.strict = true;
    // Its strict mode refuses keywords that OpenAI's takes (minimum, maxLength…).
    if (strict.narrowed) lose(encoding, `tools[${index}].function.parameters`, 'narrowed');
  } else if (tool.strict === true) lose(encoding, `tools[${index}].function.strict`, 'unsupported');
  if (tool.description !== undefined) encoded.description = tool.description;
  if (tool.cache !== undefined) {
    encoded.cache_control = tool.cache;
    encoding.marked.push(encoded);
  }
  return encoded;
}

/** The schema whole; `type` is the one thing that Anthropic insists on. */
function inputSchema(parameters: JsonObject | undefined): JsonObject {
  if (parameters === undefined) return { type: 'object', properties: {} };
  return parameters.type === undefined ? { type: 'object', ...parameters } : parameters;
}

function toolChoice(request: EncodedMembers, encoding: Encoding): ToolChoice | null {
  const choice = request.toolChoice ?? { type: 'auto' };
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true as const } : {};
  switch (choice.type) {
    case 'none':
      return { type: 'none' };
    case 'auto':
      return request.toolChoice === undefined && request.parallelToolCalls !== false
        ? null
        : { type: 'auto', ...single };
    case 'required':
    case 'tool':
      if (encoding.rules.forcedTool === 'refused') {
        refuse(
          encoding,
          'tool_choice',
          "This model cannot be forced to call a tool. Use 'auto' or 'none', or another model.",
        );
      }
      return choice.type === 'tool' ? { type: 'tool', name: choice.name, ...single } : { type: 'any', ...single };
  }
}

/**
 * Anthropic refuses a history with tool calls when no tools are given; OpenAI does not. So the called names are
 * declared, with any arguments, and calling them is forbidden: what the caller asked for.
 */
function historyTools(turns: readonly Turn[]): EncodedTools {
  let names: Set<string> | null = null;
  for (const turn of turns) {
    if (turn.role !== 'assistant') continue;
    for (const block of turn.content) {
      if (block.type === 'tool_use' && typeof block.name === 'string') names = (names ?? new Set()).add(block.name);
    }
  }
  if (names === null) return {};
  return {
    tools: [...names].map((name) => ({ name, input_schema: { type: 'object', properties: {} } })),
    tool_choice: { type: 'none' },
  };
}
