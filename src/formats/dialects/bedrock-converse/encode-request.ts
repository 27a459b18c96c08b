import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { bareSchema, withheld } from '../../neutral/bare-schema.ts';
import { lose, refuse } from '../../neutral/loss.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralReasoning, NeutralTool } from '../../neutral/request.ts';
import { standInTool } from '../../neutral/stand-in-tool.ts';
import { breaksToolLoop, dropLoopThoughts } from '../../neutral/tool-loop.ts';
import { budgetMin, unlimitedBudget } from '../anthropic-messages/encode-request.ts';
import type { EncodedRequest, EncodeTarget } from '../dialect.ts';
import { openAiAlone } from '../openai-chat/request-fields.ts';
import * as taken from '../taken-fields.ts';

import { cachePoint, type Encoding, encodeMessages } from './encode-messages.ts';
import { type ModelRules, rulesOf } from './model-rules.ts';
import {
  blockKinds,
  type ConverseBody,
  type InferenceConfig,
  type ToolConfig,
  type ToolSpec,
  type Turn,
  vendor,
} from './wire.ts';

const takes = ['messages', 'maxOutputTokens', 'topK', 'tools', 'tools.strict', 'tools.cache', ...taken.byHand] as const;
type EncodedMembers = taken.Taken<(typeof takes)[number]>;

/** Facts that decide how a field is written: `sampling` is refused where the model thinks. */
interface SentTo extends Pick<EncodeTarget, 'maxOutputTokens'> {
  sampling: 'taken' | 'refused';
}

const takesSampling = ({ sampling }: SentTo) => sampling === 'taken';

/** Members of `inferenceConfig`. */
const fields = taken.fieldsOf<SentTo>({
  maxTokens: ['maxOutputTokens', taken.tokenLimit()],
  temperature: ['temperature', taken.when(takesSampling, taken.clamp(0, 1))],
  topP: ['topP', taken.when(takesSampling)],
  stopSequences: ['stop', taken.firstTexts(2_500, (text) => text.trim() !== '')],
  presencePenalty: ['presencePenalty', taken.unsupported(0)],
  frequencyPenalty: ['frequencyPenalty', taken.unsupported(0)],
});

/**
 * A neutral request as the body of Converse or ConverseStream. Losses are named by OpenAI's fields. Refused: what would
 * change the result (audio in, logprobs, n > 1, a required search, a call that the model cannot be made to make).
 */
const encodeByRules = taken.encoderOf({ vendor, takes, fields, encode });

export const { encodeRequest, encoderFor } = taken.encodersByModel(encodeByRules, rulesOf);

function encode(request: EncodedMembers, target: EncodeTarget, rules: ModelRules): EncodedRequest | Failure {
  const encoding: Encoding = { rules, losses: [], failure: null };
  const foreign = openAiAlone(request);
  if (foreign !== null) refuse(encoding, foreign.field, foreign.message);
  const { system, turns } = encodeMessages(request.messages, encoding);
  const format = encodeFormat(request, encoding);
  const toolConfig = encodeTools(request, turns, format?.kind === 'forced-tool' ? format.tool : null, encoding);
  const { thoughts, sampling, tokensMin } = encodeReasoning(request, target, { toolConfig, turns }, encoding);
  const mayThink = rules.reasoning !== 'claude-budget' || 'thinking' in thoughts;
  if (!mayThink && dropLoopThoughts(turns, blockKinds)) lose(encoding, 'reasoning_content', 'unsupported');
  const inferenceConfig: InferenceConfig & JsonObject = {};
  const tokens = target.maxOutputTokens ?? tokensMin;
  if (tokens !== undefined) inferenceConfig.maxTokens = tokens;
  taken.writeFields(
    fields,
    request,
    { maxOutputTokens: target.maxOutputTokens, sampling },
    inferenceConfig,
    encoding.losses,
  );
  const modelFields = { ...thoughts, ...topKOf(request, thoughts, encoding) };
  if (encoding.failure !== null) return encoding.failure;

  const body: ConverseBody & JsonObject = { ...request.extensions?.[vendor], messages: turns };
  if (system.length > 0) body.system = system;
  if (Object.keys(inferenceConfig).length > 0) body.inferenceConfig = inferenceConfig;
  if (toolConfig !== null) body.toolConfig = toolConfig;
  if (Object.keys(modelFields).length > 0) body.additionalModelRequestFields = modelFields;
  if (format?.kind === 'native') body.outputConfig = { textFormat: format.textFormat };
  keepNewestPoints([toolConfig?.tools ?? [], system, ...turns.map(({ content }) => content)], encoding);
  const encoded: EncodedRequest = { body, losses: encoding.losses };
  if (format?.kind === 'forced-tool') encoded.decode = { unwrapTool: format.tool.name };
  return encoded;
}

/** Converse answers 400 to more. */
const pointsMax = 4;

/** Removes the earliest cache points: a later one keeps all that is before it. */
function keepNewestPoints(lists: readonly object[][], encoding: Encoding): void {
  let excess = lists.flat().filter((block) => 'cachePoint' in block).length - pointsMax;
  if (excess <= 0) return;
  lose(encoding, 'cache_control', 'narrowed');
  for (const list of lists)
    list.splice(0, list.length, ...list.filter((one) => !('cachePoint' in one) || excess-- <= 0));
}

const merged = ['inferenceConfig', 'additionalModelRequestFields'] as const;

/** Body with an operator's members for a target. They join these objects instead of replacing the caller's. */
export function withOperatorFields(body: JsonObject, fields: Readonly<Record<string, unknown>>): JsonObject {
  const joined: JsonObject = { ...body, ...(fields as JsonObject) };
  for (const name of merged) {
    const [requested, set] = [body[name], fields[name]];
    if (isObject(requested) && isObject(set)) joined[name] = { ...requested, ...set };
  }
  return joined;
}

/** Member of `additionalModelRequestFields`, if the model has it: Converse has no member for it. */
function topKOf({ topK }: EncodedMembers, thoughts: JsonObject, encoding: Encoding): JsonObject {
  if (topK === undefined) return {};
  const { rules } = encoding;
  if (rules.topK === 'none' || thoughts.thinking !== undefined) {
    lose(encoding, 'top_k', 'unsupported');
    return {};
  }
  return rules.topK === 'top_k' ? { top_k: topK } : { inferenceConfig: { topK } };
}

function loseReasoning({ effort }: NeutralReasoning, encoding: Encoding): void {
  if (effort !== 'none') lose(encoding, 'reasoning_effort', 'unsupported');
}

const unlimited = Number.POSITIVE_INFINITY;

interface EncodedReasoning {
  /** Members of `additionalModelRequestFields`. */
  thoughts: JsonObject;
  sampling: SentTo['sampling'];
  /** The limit of tokens that the thoughts need where nobody set one. */
  tokensMin?: number;
}

/**
 * Sampling goes where the model thinks: Claude refuses it then, and Nova at high effort. Claude thinks neither before a
 * call that must be made, nor, by a budget, in a turn that called a tool without a thought.
 */
function encodeReasoning(
  request: EncodedMembers,
  target: EncodeTarget,
  { toolConfig, turns }: { toolConfig: ToolConfig | null; turns: readonly Turn[] },
  encoding: Encoding,
): EncodedReasoning {
  const none: EncodedReasoning = { thoughts: {}, sampling: 'taken' };
  const { reasoning } = request;
  if (reasoning === undefined || (reasoning.effort === undefined && reasoning.budgetTokens === undefined)) return none;
  if (target.omit.includes('reasoning_effort')) {
    loseReasoning(reasoning, encoding);
    return none;
  }
  if (reasoning.effort === 'none') return none;
  const effort = effortOf(reasoning);
  const mustCall = toolConfig?.toolChoice !== undefined;
  switch (encoding.rules.reasoning) {
    case 'none':
      loseReasoning(reasoning, encoding);
      return none;
    case 'effort-word':
      return { thoughts: { reasoning_effort: effort }, sampling: 'taken' };
    case 'nova':
      return {
        thoughts: { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } },
        sampling: effort === 'high' ? 'refused' : 'taken',
      };
    case 'claude-adaptive':
      if (mustCall) {
        loseReasoning(reasoning, encoding);
        return none;
      }
      return {
        thoughts: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort } },
        sampling: 'refused',
      };
    case 'claude-budget': {
      const budgetTokens = unlimitedBudget(reasoning);
      const limit = Math.min(request.maxOutputTokens ?? unlimited, target.maxOutputTokens ?? unlimited);
      // Claude counts thoughts and answer together: a quarter is kept for the answer.
      const room = limit === unlimited ? budgetTokens : Math.floor(limit * 0.75);
      if (room < budgetMin || mustCall || breaksToolLoop(turns, blockKinds)) {
        loseReasoning(reasoning, encoding);
        return none;
      }
      const budget = Math.max(budgetMin, Math.min(budgetTokens, room));
      return {
        thoughts: { thinking: { type: 'enabled', budget_tokens: budget } },
        sampling: 'refused',
        tokensMin: budget + 4_096,
      };
    }
  }
}

/** Effort in the words that all of these models know. */
function effortOf(reasoning: NeutralReasoning): 'low' | 'medium' | 'high' {
  const { effort } = reasoning;
  if (effort === undefined) {
    const budget = unlimitedBudget(reasoning);
    return budget < 4_096 ? 'low' : budget < 16_384 ? 'medium' : 'high';
  }
  if (effort === 'minimal' || effort === 'low') return 'low';
  return effort === 'medium' ? 'medium' : 'high';
}

type EncodedFormat = { kind: 'native'; textFormat: JsonObject } | { kind: 'forced-tool'; tool: ToolSpec };

function encodeFormat(request: EncodedMembers, encoding: Encoding): EncodedFormat | null {
  const format = request.responseFormat;
  if (format === undefined || format.type === 'text') return null;
  if (format.type === 'json-schema' && encoding.rules.jsonSchema === 'native') {
    const { name, description, schema } = format;
    const jsonSchema = { name, schema: JSON.stringify(schema), ...(description !== undefined && { description }) };
    return { kind: 'native', textFormat: { type: 'json_schema', structure: { jsonSchema } } };
  }
  const tool = standInTool(format, request.tools);
  if (isFailure(tool)) {
    encoding.failure ??= tool;
    return null;
  }
  const { name, description, parameters } = tool;
  const json = encoding.rules.toolSchemas === 'bare' ? bareSchema(parameters) : parameters;
  return { kind: 'forced-tool', tool: { name, description, inputSchema: { json } } };
}

/** Null: no tools. `forced` is the tool that replaces a response format. */
function encodeTools(
  request: EncodedMembers,
  turns: readonly Turn[],
  forced: ToolSpec | null,
  encoding: Encoding,
): ToolConfig | null {
  if (request.toolChoice !== undefined) encoding.failure ??= missingTool(request);
  const { tools = [], toolChoice, parallelToolCalls } = request;
  const config: ToolConfig = { tools: [] };
  tools.forEach((tool, i) => {
    config.tools.push({ toolSpec: toolSpec(tool, i, encoding) }, ...cachePoint(tool.cache, 'tools', encoding));
  });
  if (parallelToolCalls === false && tools.length > 0) lose(encoding, 'parallel_tool_calls', 'unsupported');
  if (forced !== null) {
    config.tools.push({ toolSpec: forced });
    const mayCall = tools.length > 0 && toolChoice?.type !== 'none';
    const choice =
      toolChoice?.type === 'tool' ? choiceOf(toolChoice.name) : mayCall ? { any: {} } : choiceOf(forced.name);
    return demanding(config, choice, encoding);
  }
  if (toolChoice?.type === 'none' || tools.length === 0) {
    // Converse knows no tools that may not be called, and refuses a history with calls when no tools are given.
    if (toolChoice?.type === 'auto' && tools.length === 0) lose(encoding, 'tool_choice', 'unsupported');
    const called = calledNames(turns);
    if (called.length === 0) return null;
    if (tools.length > 0) lose(encoding, 'tool_choice', 'narrowed');
    else config.tools = called.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } }));
    return config;
  }
  if (toolChoice?.type === 'required') return demanding(config, { any: {} }, encoding);
  if (toolChoice?.type === 'tool') return demanding(config, choiceOf(toolChoice.name), encoding);
  return config;
}

function choiceOf(name: string): JsonObject {
  return { tool: { name } };
}

function demanding(config: ToolConfig, toolChoice: JsonObject, encoding: Encoding): ToolConfig {
  // Where a call cannot be demanded, the only tool is asked for by its description.
  if (encoding.rules.toolChoice === 'all') return { ...config, toolChoice };
  lose(encoding, 'tool_choice', 'narrowed');
  return config;
}

function toolSpec(tool: NeutralTool, index: number, { rules, losses }: Encoding): ToolSpec {
  const schema = tool.parameters ?? { type: 'object', properties: {} };
  const isBare = rules.toolSchemas === 'bare';
  const rest = isBare ? withheld(schema) : null;
  if (rest !== null) losses.push({ field: `tools[${index}].function.parameters`, why: 'narrowed' });
  const json = isBare ? bareSchema(schema) : { type: 'object', ...schema };
  const spec: ToolSpec = { name: tool.name, inputSchema: { json } };
  const description = [tool.description, rest && `The input must fit ${rest}.`].filter(Boolean).join('\n\n');
  if (description !== '') spec.description = description;
  if (tool.strict === true) {
    if (rules.jsonSchema === 'native') spec.strict = true;
    else losses.push({ field: `tools[${index}].function.strict`, why: 'unsupported' });
  }
  return spec;
}

function calledNames(turns: readonly Turn[]): string[] {
  const names = new Set<string>();
  for (const { content } of turns) {
    for (const { toolUse } of content) if (isObject(toolUse)) names.add(toolUse.name as string);
  }
  return [...names];
}
