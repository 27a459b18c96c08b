import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { refuse } from '../../neutral/loss.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralReasoning, NeutralTool } from '../../neutral/request.ts';
import type { EncodedRequest, EncodeTarget } from '../dialect.ts';
import { openAiAlone } from '../openai-chat/request-fields.ts';
import { encoderOf, encodersByModel, type Taken, writeFields } from '../taken-fields.ts';
import { type Encoding, encodeContents, lose } from './encode-messages.ts';
import { wireName } from './function-name.ts';
import { type ModelRules, rulesOf } from './model-rules.ts';
import { narrowSchema } from './narrow-schema.ts';
import { encodedFields } from './request-fields.ts';
import {
  type FunctionCallingConfig,
  type FunctionDeclaration,
  type GenerateContentBody,
  type GenerationConfig,
  type ThinkingConfig,
  type ThinkingLevel,
  vendor,
} from './wire.ts';

const takes = ['messages', 'tools', 'toolChoice', 'parallelToolCalls', 'responseFormat', 'reasoning'] as const;
type EncodedMembers = Taken<(typeof takes)[number]>;

/**
 * A neutral request as the body of `generateContent`; the path says model and streaming. Losses are named by OpenAI's
 * fields. Refused: parts whose omission would change the result (logprobs, n > 1, an answer in audio, a required
 * search, a format that the model cannot give). Safety settings keep Google's default.
 */
const encodeByRules = encoderOf({ vendor, takes, fields: encodedFields, hints: new Set(['service_tier']), encode });

export const { encodeRequest, encoderFor } = encodersByModel(encodeByRules, rulesOf);

function encode(request: EncodedMembers, target: EncodeTarget, rules: ModelRules): EncodedRequest | Failure {
  const encoding: Encoding = { rules, losses: [], reported: new Set(), failure: null };
  const foreign = openAiAlone(request);
  if (foreign !== null) refuse(encoding, foreign.field, foreign.message);
  const { system, contents } = encodeContents(request.messages, encoding);
  const tools = encodeTools(request, encoding);
  const config = generationConfig(request, target, encoding);
  if (encoding.failure !== null) return encoding.failure;
  const vendorFields = request.extensions?.[vendor];
  const body: GenerateContentBody & JsonObject = { ...vendorFields, contents, ...tools };
  if (system.length > 0) body.systemInstruction = { parts: system };
  const { service_tier: tier = 'auto' } = request.hints ?? {};
  const hasTier = (tier === 'flex' || tier === 'priority') && !target.omit.includes('service_tier');
  if (hasTier) body.serviceTier = tier;
  else if (tier !== 'auto' && tier !== 'default') lose(encoding, 'service_tier', 'unsupported');
  const vendorConfig = isObject(vendorFields?.generationConfig) ? vendorFields.generationConfig : {};
  if (Object.keys(config).length > 0) body.generationConfig = { ...vendorConfig, ...config };
  return { body, losses: encoding.losses };
}

/** The operator's body for a target joins `generationConfig` instead of replacing all of the caller's. */
export function withOperatorFields(body: JsonObject, fields: Readonly<Record<string, unknown>>): JsonObject {
  const joined: JsonObject = { ...body, ...(fields as JsonObject) };
  if (isObject(body.generationConfig) && isObject(fields.generationConfig)) {
    joined.generationConfig = { ...body.generationConfig, ...fields.generationConfig };
  }
  return joined;
}

function generationConfig(request: EncodedMembers, target: EncodeTarget, encoding: Encoding): GenerationConfig {
  const config: GenerationConfig & JsonObject = {};
  const to = { maxOutputTokens: target.maxOutputTokens, rules: encoding.rules };
  writeFields(encodedFields, request, to, config, encoding.losses);
  encodeFormat(request, config, encoding);
  const thinking = encodeThinking(reasoningFor(request, target, encoding), encoding);
  if (thinking !== null) config.thinkingConfig = thinking;
  return config;
}

/** None for a model that does not reason: it refuses the field. */
function reasoningFor(request: EncodedMembers, target: EncodeTarget, encoding: Encoding) {
  const { reasoning } = request;
  if (reasoning === undefined || !target.omit.includes('reasoning_effort')) return reasoning;
  if (reasoning.effort !== 'none') lose(encoding, 'reasoning_effort', 'unsupported');
  return undefined;
}

function encodeFormat(request: EncodedMembers, config: GenerationConfig, encoding: Encoding): void {
  const format = request.responseFormat;
  if (format === undefined || format.type === 'text') return;
  config.responseMimeType = 'application/json';
  if (format.type === 'json-object') return;
  const { schema, narrowed } = narrowSchema(format.schema);
  if (narrowed) lose(encoding, 'response_format.json_schema.schema', 'narrowed');
  config.responseJsonSchema = schema;
}

/** Budgets for words of effort, as Google's OpenAI-compatible endpoint translates them. */
const budgetByEffort: ReadonlyMap<string, number> = new Map([
  ['minimal', 1_024],
  ['low', 1_024],
  ['medium', 8_192],
  ['high', 24_576],
  ['xhigh', 32_768],
  ['max', 32_768],
]);
const levelByEffort: ReadonlyMap<string, ThinkingLevel> = new Map([
  ['none', 'MINIMAL'],
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
  ['xhigh', 'HIGH'],
  ['max', 'HIGH'],
]);
const budgetUsual = 8_192;
const levelOrder: readonly ThinkingLevel[] = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'];

/** Null leaves the model to its default. Callers that ask for thinking see the thoughts. */
function encodeThinking(reasoning: NeutralReasoning | undefined, encoding: Encoding): ThinkingConfig | null {
  if (reasoning === undefined || (reasoning.effort === undefined && reasoning.budgetTokens === undefined)) return null;
  const includeThoughts = reasoning.effort !== 'none';
  switch (encoding.rules.thinking) {
    case 'none':
      if (includeThoughts) lose(encoding, 'reasoning_effort', 'unsupported');
      return null;
    case 'budget':
      return { includeThoughts, thinkingBudget: budgetFor(reasoning, encoding) };
    case 'level':
      return { includeThoughts, thinkingLevel: levelFor(reasoning, encoding) };
  }
}

function budgetFor({ effort, budgetTokens }: NeutralReasoning, encoding: Encoding): number {
  const { min, max } = encoding.rules.budget;
  const requested = effort === 'none' ? 0 : (budgetTokens ?? budgetByEffort.get(effort ?? '') ?? budgetUsual);
  const budget = Math.min(Math.max(requested, min), max);
  if (budget !== requested) lose(encoding, 'reasoning_effort', 'clamped');
  return budget;
}

function levelFor({ effort, budgetTokens }: NeutralReasoning, encoding: Encoding): ThinkingLevel {
  const { levels } = encoding.rules;
  const requested = effort === undefined ? levelOfBudget(budgetTokens!) : (levelByEffort.get(effort) ?? 'MEDIUM');
  if (effort === undefined) lose(encoding, 'thinking.budget_tokens', 'narrowed');
  // The next stronger one; there is always HIGH.
  const level = levelOrder.slice(levelOrder.indexOf(requested)).find((one) => levels.includes(one)) ?? 'HIGH';
  if (level !== requested || effort === 'none' || effort === 'xhigh' || effort === 'max') {
    lose(encoding, 'reasoning_effort', 'clamped');
  }
  return level;
}

function levelOfBudget(budgetTokens: number): ThinkingLevel {
  return budgetTokens < 4_096 ? 'LOW' : budgetTokens < 16_384 ? 'MEDIUM' : 'HIGH';
}

type EncodedTools = Pick<GenerateContentBody, 'tools' | 'toolConfig'>;

function encodeTools(request: EncodedMembers, encoding: Encoding): EncodedTools {
  const { tools, toolChoice, responseFormat } = request;
  if (tools === undefined || tools.length === 0) {
    encoding.failure ??= missingTool(request);
    if (toolChoice?.type === 'auto') lose(encoding, 'tool_choice', 'unsupported');
    return {};
  }
  const formatted = responseFormat !== undefined && responseFormat.type !== 'text';
  if (formatted && !encoding.rules.formatBesideTools) {
    // Tools that may not be called can as well be left out.
    if (toolChoice?.type === 'none') return {};
    const message = 'This model cannot follow a response format while it has tools. Leave one of them out.';
    refuse(encoding, 'response_format', message);
  }
  encoding.failure ??= missingTool(request);
  if (request.parallelToolCalls === false) lose(encoding, 'parallel_tool_calls', 'unsupported');
  const encoded: EncodedTools = { tools: [{ functionDeclarations: tools.map(encodeTool) }] };
  const choice = callingConfig(toolChoice);
  if (choice !== null) encoded.toolConfig = { functionCallingConfig: choice };
  return encoded;
}

function encodeTool(tool: NeutralTool): FunctionDeclaration {
  const encoded: FunctionDeclaration = { name: wireName(tool.name) };
  if (tool.description !== undefined) encoded.description = tool.description;
  // The schema whole: `parameters`, Google's form, knows neither $ref nor const and refuses unknown keywords.
  if (tool.parameters !== undefined && takesSomething(tool.parameters)) {
    encoded.parametersJsonSchema =
      tool.parameters.type === undefined ? { type: 'object', ...tool.parameters } : tool.parameters;
  }
  return encoded;
}

/** An object without properties is refused; a tool without parameters has no schema here. */
function takesSomething(schema: JsonObject): boolean {
  if (isObject(schema.properties) && Object.keys(schema.properties).length > 0) return true;
  const inert = new Set(['type', 'properties', 'required', '$schema', 'title', 'description']);
  return Object.entries(schema).some(
    ([key, value]) => !inert.has(key) && !(key === 'additionalProperties' && value === false),
  );
}

function callingConfig(choice: EncodedMembers['toolChoice']): FunctionCallingConfig | null {
  switch (choice?.type) {
    case undefined:
    case 'auto':
      return null;
    case 'none':
      return { mode: 'NONE' };
    case 'required':
      return { mode: 'ANY' };
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [wireName(choice.name)] };
  }
}
