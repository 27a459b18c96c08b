import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonScan, objectIn, parsedData, stringOr } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import {
  type NeutralReasoning,
  type NeutralRequest,
  type NeutralResponseFormat,
  type NeutralToolChoice,
  noNeeds,
  type RequestNeeds,
} from '../../neutral/request.ts';
import { estimatedInput } from '../../neutral/usage.ts';
import { conversationStart } from '../../neutral/value-checks.ts';
import type { CallerRequest } from '../dialect.ts';
import { type ForwardBody, gatewayOnlyFields } from '../forward-body.ts';
import type { ForwardTarget } from '../forward-target.ts';
import { memberKinds, objectsBy } from '../named-objects.ts';
import { someExtras } from '../request-extras.ts';
import { decodeSystem, decodeTools, decodeTurns, mayHoldSealed, withoutSealed } from './decode-messages.ts';
import { withOperatorFields } from './encode-request.ts';
import { modelFieldsOf } from './model-fields.ts';
import { withoutPathMembers } from './path-members.ts';
import { invalidFieldIn, unknownFieldsIn } from './request-fields.ts';

/** Files in a bucket of the operator's account are named by their address alone. */
export const objects = objectsBy({
  members: memberKinds({
    s3Location: 'holder',
    uri: 'id',
    input: 'opaque',
    json: 'opaque',
    promptVariables: 'opaque',
    requestMetadata: 'opaque',
  }),
});

/**
 * Checks a body of Converse and keeps it unchanged: parts that only a conversion needs are built on demand. The route
 * adds model and stream (`withPathMembers`).
 */
export function readRequest(raw: Buffer, body: JsonObject, _: JsonScan): CallerRequest | Failure {
  const failure = invalidFieldIn(body);
  if (failure !== null) return failure;
  const modelFields = modelFieldsOf(body);
  const nativeOnly = bedrockOnlyFailure(body);
  const paths = Array.isArray(body.additionalModelResponseFieldPaths) ? body.additionalModelResponseFieldPaths : [];
  return {
    model: stringOr(body.model, ''),
    stream: body.stream === true,
    includeUsage: true,
    n: 1,
    seed: null,
    needs: needsOf(body, raw.length, modelFields.reasoning),
    user: null,
    conversationStart: conversationStart(body.messages as JsonObject[], body.system),
    ...(paths.includes('/stop_sequence') && { echo: { stopSequence: true } }),
    wordFor: (field) => wordFor(field, decodeSystem(body.system).length),
    extras: nativeOnly === null ? null : someExtras({ nativeOnly }),
    neutral: () => neutralOf(body, modelFields),
    forward: (target) => forward(raw, body, target),
  };
}

/** Failure for members that change the answer and that no other provider has. */
function bedrockOnlyFailure(body: JsonObject): Failure | null {
  if (isObject(body.guardrailConfig)) {
    return onlyBedrock('guardrailConfig', 'applies this guardrail. Use a guard of this gateway, or leave it out');
  }
  for (const [at, { content }] of (body.messages as JsonObject[]).entries()) {
    for (const [i, block] of (content as JsonObject[]).entries()) {
      const field = `messages[${at}].content[${i}]`;
      if (block.video !== undefined) return onlyBedrock(`${field}.video`, 'takes videos');
      const { s3Location } = objectIn(objectIn(block.audio).source);
      if (s3Location !== undefined) return onlyBedrock(`${field}.audio`, 'takes sounds of S3');
    }
  }
  const tools = toolsOf(body);
  const at = tools.findIndex((tool) => tool.systemTool !== undefined);
  return at === -1 ? null : onlyBedrock(`toolConfig.tools[${at}].systemTool`, 'runs this tool. Leave it out');
}

function onlyBedrock(field: string, does: string): Failure {
  return invalid(field, `'${field}': only a Bedrock target ${does}, and this model has none left.`);
}

function toolsOf({ toolConfig }: JsonObject): JsonObject[] {
  return isObject(toolConfig) && Array.isArray(toolConfig.tools) ? (toolConfig.tools as JsonObject[]) : [];
}

function configOf({ inferenceConfig }: JsonObject): JsonObject {
  return isObject(inferenceConfig) ? inferenceConfig : {};
}

function needsOf(body: JsonObject, bodyBytes: number, reasoning: NeutralReasoning | null): RequestNeeds {
  const { maxTokens, stopSequences } = configOf(body);
  const needs: RequestNeeds = {
    ...noNeeds,
    tools: toolsOf(body).length > 0,
    jsonSchema: isObject(body.outputConfig) && isObject(body.outputConfig.textFormat),
    reasoning: reasoning !== null && reasoning.effort !== 'none',
    ...(Array.isArray(stopSequences) && stopSequences.length > 0 && { stop: true }),
    stream: body.stream === true,
    inputTokensEstimate: estimatedInput(body, bodyBytes),
    maxOutputTokens: typeof maxTokens === 'number' ? maxTokens : null,
  };
  for (const { content } of body.messages as JsonObject[]) {
    for (const block of content as JsonObject[]) {
      if ((block.image ?? objectIn(block.guardContent).image) !== undefined) needs.vision = true;
      else if (block.audio !== undefined) needs.audioIn = true;
      else if (isObject(block.document) && block.document.format === 'pdf') needs.files = true;
    }
  }
  return needs;
}

function neutralOf(body: JsonObject, modelFields: ReturnType<typeof modelFieldsOf>): NeutralRequest {
  const { maxTokens, temperature, topP, stopSequences } = configOf(body);
  const tools = decodeTools(toolsOf(body));
  const choice = choiceOf(body);
  const format = formatOf(body);
  const lost = lossesOf(body, modelFields.lost);
  const { serviceTier } = body;
  const tier = isObject(serviceTier) ? stringOr(serviceTier.type, 'default') : 'default';
  return {
    model: stringOr(body.model, ''),
    messages: [...decodeSystem(body.system), ...decodeTurns(body.messages as JsonObject[])],
    stream: body.stream === true,
    includeUsage: true,
    ...(typeof maxTokens === 'number' && { maxOutputTokens: maxTokens }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof topP === 'number' && { topP }),
    ...(modelFields.topK !== null && { topK: modelFields.topK }),
    ...(Array.isArray(stopSequences) && stopSequences.length > 0 && { stop: stopSequences as string[] }),
    ...(tools.length > 0 && { tools }),
    ...(choice !== null && { toolChoice: choice }),
    ...(format !== null && { responseFormat: format }),
    ...(modelFields.reasoning !== null && { reasoning: modelFields.reasoning }),
    ...(tier !== 'default' && { hints: { service_tier: tier } }),
    ...(lost.length > 0 && { lost }),
  };
}

function choiceOf({ toolConfig }: JsonObject): NeutralToolChoice | null {
  const choice = isObject(toolConfig) ? toolConfig.toolChoice : null;
  if (!isObject(choice)) return null;
  if (isObject(choice.tool)) return { type: 'tool', name: stringOr(choice.tool.name, '') };
  if (isObject(choice.any)) return { type: 'required' };
  return isObject(choice.auto) ? { type: 'auto' } : null;
}

/** The schema is a text there; one that is no JSON asks for an object of any kind. */
function formatOf({ outputConfig }: JsonObject): NeutralResponseFormat | null {
  const format = isObject(outputConfig) && isObject(outputConfig.textFormat) ? outputConfig.textFormat : {};
  const { jsonSchema } = isObject(format.structure) ? format.structure : {};
  if (!isObject(jsonSchema)) return null;
  const { name, description } = jsonSchema;
  const schema = parsedData(stringOr(jsonSchema.schema, ''));
  if (schema === null) return { type: 'json-object' };
  const described = typeof description === 'string' ? { description } : {};
  return { type: 'json-schema', name: stringOr(name, 'answer'), schema, ...described };
}

function lossesOf(body: JsonObject, lostModelFields: readonly string[]): Loss[] {
  const paths = Array.isArray(body.additionalModelResponseFieldPaths) ? body.additionalModelResponseFieldPaths : [];
  const isPathLost = paths.some((path) => path !== '/stop_sequence');
  const all = [
    ...unknownFieldsIn(body),
    ...lostModelFields,
    ...(isPathLost ? ['additionalModelResponseFieldPaths'] : []),
  ];
  return all.map((field) => ({ field, why: 'unsupported' }));
}

/** Bytes of the caller, unless something in them must change for the target. */
function forward(raw: Buffer, body: JsonObject, target: ForwardTarget): ForwardBody {
  const losses: Loss[] = [];
  const changed = changedBody(raw, body, target, losses);
  const unchanged = changed === null ? withoutPathMembers(raw) : null;
  if (unchanged !== null) return { bytes: unchanged, losses };
  const { model: _, stream: __, ...rest } = changed ?? body;
  return { bytes: JSON.stringify(rest), losses };
}

/** Null when nothing has to change. */
function changedBody(raw: Buffer, body: JsonObject, target: ForwardTarget, losses: Loss[]): JsonObject | null {
  let changed: JsonObject | null = null;
  const config = configOf(body);
  const limit = target.maxOutputTokens;
  if (typeof config.maxTokens === 'number' && limit !== null && config.maxTokens > limit) {
    losses.push({ field: 'inferenceConfig.maxTokens', why: 'clamped' });
    changed = { ...body, inferenceConfig: { ...config, maxTokens: limit } };
  }
  for (const name in body) {
    if (!gatewayOnlyFields.has(name)) continue;
    changed = { ...(changed ?? body) };
    delete changed[name];
  }
  if (mayHoldSealed(raw)) changed = { ...(changed ?? body), messages: withoutSealed(body.messages as JsonObject[]) };
  return Object.keys(target.body).length === 0 ? changed : withOperatorFields(changed ?? body, target.body);
}

const words: ReadonlyMap<string, string> = new Map([
  ['max_completion_tokens', 'inferenceConfig.maxTokens'],
  ['max_tokens', 'inferenceConfig.maxTokens'],
  ['max_output_tokens', 'inferenceConfig.maxTokens'],
  ['temperature', 'inferenceConfig.temperature'],
  ['top_p', 'inferenceConfig.topP'],
  ['stop', 'inferenceConfig.stopSequences'],
  ['top_k', 'additionalModelRequestFields.top_k'],
  ['reasoning_effort', 'additionalModelRequestFields.reasoning_effort'],
  ['thinking.budget_tokens', 'additionalModelRequestFields.thinking'],
  ['thinking', 'messages.content.reasoningContent'],
  ['reasoning_content', 'messages.content.reasoningContent'],
  ['tool_choice', 'toolConfig.toolChoice'],
  ['service_tier', 'serviceTier'],
  ['cache_control', 'cachePoint'],
]);

/**
 * OpenAI's names of fields, which encoders use for losses and refusals, as AWS's callers know them. `instructions`: how
 * many messages before the first of `messages` were made of `system`.
 */
function wordFor(field: string, instructions: number): string {
  const word = words.get(field);
  if (word !== undefined) return word;
  if (field.startsWith('response_format')) return 'outputConfig.textFormat';
  const tool = /^tools\[(\d+)\](?:\.function)?/.exec(field);
  if (tool !== null) return `toolConfig.tools[${tool[1]}].toolSpec${field.slice(tool[0].length)}`;
  return field.replace(/^messages\[(\d+)\]/, (_, at: string) =>
    Number(at) < instructions ? 'system' : `messages[${Number(at) - instructions}]`,
  );
}
