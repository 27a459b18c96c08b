import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectsIn, stringOr } from '../../../kernel/json.ts';
import { bodySchema, described, type JsonSchema, schemaOf } from '../../neutral/described-check.ts';
import { type Loss, Losses } from '../../neutral/loss.ts';
import type { NeutralRequest, NeutralTool, NeutralToolChoice } from '../../neutral/request.ts';
import * as v from '../../neutral/value-checks.ts';
import type { EncodeTarget } from '../dialect.ts';
import { type Checked, checkFields, fieldTable, judged, placeFields, writtenFields } from '../field-table.ts';
import { clamp, firstTexts, from, tokenLimit, type Write, when } from '../taken-fields.ts';
import {
  contents,
  decodeContents,
  decodeSystem,
  partMembers,
  responsesFollowCalls,
  system,
} from './decode-messages.ts';
import type { ModelRules } from './model-rules.ts';
import { vendor } from './wire.ts';

const anyLength = Number.POSITIVE_INFINITY;
const anyInteger = v.integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

const declaration = v.members("an object with 'name'", {
  name: v.needed(v.string, 'the name of the function'),
  description: v.string,
  parameters: v.object,
  parametersJsonSchema: v.object,
});

const tool = v.members("an object with 'functionDeclarations'", {
  functionDeclarations: v.arrayOf(declaration, 0, anyLength, 'declarations'),
});

const modes = v.oneOf('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED');
/** Google takes them in small letters too. */
const mode = described(schemaOf(modes), (value) =>
  typeof value === 'string' && modes(value.toUpperCase()) === null ? null : modes(value),
);

const toolConfig = v.members('an object', {
  functionCallingConfig: v.members('an object such as {"mode":"AUTO"}', {
    mode,
    allowedFunctionNames: v.arrayOf(v.string, 0, anyLength, 'names'),
  }),
});

const thinkingConfig = v.members('an object such as {"thinkingBudget":1024}', {
  includeThoughts: v.boolean,
  thinkingBudget: anyInteger,
  thinkingLevel: v.string,
});

function putFormat(request: NeutralRequest, config: JsonObject): undefined {
  if (config.responseMimeType !== 'application/json') return;
  const written = isObject(config.responseSchema) ? jsonSchemaOf(config.responseSchema) : undefined;
  const schema = isObject(config.responseJsonSchema) ? config.responseJsonSchema : written;
  request.responseFormat =
    schema === undefined ? { type: 'json-object' } : { type: 'json-schema', name: 'response', schema };
}

function putReasoning(request: NeutralRequest, config: JsonObject): undefined {
  const { thinkingLevel: level, thinkingBudget: budget, includeThoughts } = config.thinkingConfig as JsonObject;
  if (typeof level === 'string') request.reasoning = { effort: level.toLowerCase() };
  else if (budget === 0) request.reasoning = { effort: 'none' };
  else if (typeof budget === 'number' && budget > 0) request.reasoning = { budgetTokens: budget };
  else if (includeThoughts === true || budget === -1) request.reasoning = { effort: 'medium' };
}

const outputLimit = v.integerIn(1, Number.MAX_SAFE_INTEGER);
const candidates = v.integerIn(1, 8);

const int32Max = 2 ** 31 - 1;

/** Facts that decide how a field is written. */
export interface SentTo extends Pick<EncodeTarget, 'maxOutputTokens'> {
  rules: ModelRules;
}

/** 0 is the default: leaving it out says the same. Thinking models answer 400 "Penalty is not enabled". */
const penalty: Write<SentTo> = { ...when(({ rules }, value) => rules.penalties && value !== 0), idle: 0 };

/** Members of `generationConfig`. */
export const generationFields = fieldTable<JsonObject, undefined, SentTo>({
  temperature: [v.numberIn(0, 2), 'temperature', clamp(0, 2)],
  topP: [v.numberIn(0, 1), 'topP'],
  topK: [
    v.numberIn(0, Number.MAX_SAFE_INTEGER),
    (request, { topK }) => {
      if ((topK as number) >= 1) request.topK = Math.round(topK as number);
    },
    from('topK'),
  ],
  maxOutputTokens: [
    outputLimit,
    (request, { maxOutputTokens }) => {
      request.maxOutputTokens = maxOutputTokens as number;
    },
    tokenLimit(),
  ],
  candidateCount: [candidates, 'n', null],
  stopSequences: [
    v.arrayOf(v.string, 0, anyLength, 'strings'),
    (request, { stopSequences }) => {
      if ((stopSequences as string[]).length > 0) request.stop = stopSequences as string[];
    },
    from(
      'stop',
      firstTexts(5, (text) => text !== ''),
    ),
  ],
  seed: [anyInteger, 'seed', when((_, seed) => Number.isSafeInteger(seed) && Math.abs(seed) <= int32Max)],
  presencePenalty: [v.numberIn(-2, 2), 'presencePenalty', penalty],
  frequencyPenalty: [v.numberIn(-2, 2), 'frequencyPenalty', penalty],
  responseMimeType: [v.string, putFormat],
  responseSchema: [v.object, 'read'],
  responseJsonSchema: [v.object, 'read'],
  responseLogprobs: [
    v.boolean,
    (request, { responseLogprobs }) => {
      if (responseLogprobs === true) request.logprobs = true;
    },
  ],
  logprobs: [v.integerIn(0, 20), 'topLogprobs', null],
  thinkingConfig: [thinkingConfig, putReasoning],
  // Text is what every answer is; anything else only Google gives (`readRequest`).
  responseModalities: [v.anyJson, 'read'],
});

export const encodedFields = writtenFields(generationFields);

const noneRequired: ReadonlyMap<string, string> = new Map();

const generationConfig = described(bodySchema(generationFields, noneRequired), (value) =>
  isObject(value) ? checkFields(generationFields, value, noneRequired) : v.complain('', value, 'an object'),
);

/** The parts that Culvert reads itself. */
const configRead: v.Check = (value) =>
  isObject(value)
    ? (v.optional(value, 'maxOutputTokens', outputLimit) ?? v.optional(value, 'candidateCount', candidates))
    : v.complain('', value, 'an object');

const systemRead: v.Check = (value) => v.turnsOf('parts', 1)([value]);

/** `model` and `stream` are put in by the route, which has them from the path. */
export const requestFields = fieldTable<JsonObject>({
  model: [v.string, 'read', null, v.string],
  stream: [v.boolean, 'read', null, v.boolean],
  contents: [contents, 'read', null, v.turnsOf('parts', 1)],
  systemInstruction: [system, 'read', null, systemRead],
  tools: [v.arrayOf(tool, 0, anyLength, 'tools'), 'read'],
  toolConfig: [toolConfig, 'read'],
  generationConfig: [generationConfig, 'read', null, configRead],
  // Google's alone. OpenAI answers 400 to fields that it does not know.
  labels: [v.anyJson, 'vendor'],
  cachedContent: [v.anyJson, 'vendor'],
  safetySettings: [v.anyJson, 'vendor'],
  serviceTier: [v.string, putTier],
});

/** `standard`, Google's usual tier, is what no word says. */
function putTier(request: NeutralRequest, { serviceTier }: JsonObject): undefined {
  const tier = String(serviceTier).toLowerCase().replace('service_tier_', '');
  if (tier === 'flex' || tier === 'priority') request.hints = { service_tier: tier };
}

/** Types and bounds of a request; the first fault found names its field. The body is the one given, not a copy. */
export function checkRequest(body: JsonObject): Checked<JsonObject> | Failure {
  const complaint =
    checkFields(requestFields, body, requiredFields) ?? responsesFollowCalls(body.contents as JsonObject[]);
  return judged(requestFields, body, requiredFields, complaint);
}

const requiredFields: ReadonlyMap<string, string> = new Map([['contents', 'an array of at least one content']]);

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
export function toNeutral(body: JsonObject): NeutralRequest {
  const request: NeutralRequest = {
    model: stringOr(body.model, ''),
    messages: [...decodeSystem(body.systemInstruction), ...decodeContents(body.contents as JsonObject[])],
    stream: body.stream === true,
    includeUsage: true,
  };
  if (isObject(body.generationConfig)) placeFields(generationFields, request, body.generationConfig, undefined);
  const tools = declaredTools(body.tools);
  if (tools.length > 0) request.tools = tools;
  const choice = toolChoice(body.toolConfig, tools);
  if (choice !== null) request.toolChoice = choice;
  const lost = lostMembers(body);
  if (lost.length > 0) request.lost = lost;
  const left = placeFields(requestFields, request, body, undefined);
  if (left.vendor !== null) request.extensions = { [vendor]: left.vendor };
  return request;
}

function declaredTools(tools: JsonValue | undefined): NeutralTool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => {
    const declared = isObject(tool) ? tool.functionDeclarations : undefined;
    return Array.isArray(declared) ? (declared as JsonObject[]).map(neutralTool) : [];
  });
}

function neutralTool(declaration: JsonObject): NeutralTool {
  const tool: NeutralTool = { name: stringOr(declaration.name, '') };
  if (typeof declaration.description === 'string') tool.description = declaration.description;
  if (isObject(declaration.parametersJsonSchema)) tool.parameters = declaration.parametersJsonSchema;
  else if (isObject(declaration.parameters)) tool.parameters = jsonSchemaOf(declaration.parameters);
  return tool;
}

function toolChoice(toolConfig: JsonValue | undefined, tools: readonly NeutralTool[]): NeutralToolChoice | null {
  const config = isObject(toolConfig) ? toolConfig.functionCallingConfig : undefined;
  if (!isObject(config) || tools.length === 0) return null;
  const mode = stringOr(config.mode, '').toUpperCase();
  if (mode === 'NONE') return { type: 'none' };
  if (mode !== 'ANY') return null;
  const names = Array.isArray(config.allowedFunctionNames) ? (config.allowedFunctionNames as string[]) : [];
  const [name] = names;
  return name !== undefined && names.length === 1 ? { type: 'tool', name } : { type: 'required' };
}

const responseMembers: ReadonlySet<string> = new Set(['name', 'id', 'response', 'parts']);
const declarationMembers: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'parametersJsonSchema']);

/** Features of a checked request that the neutral form has no place for, each once. */
export function lostMembers(body: JsonObject): Loss[] {
  const losses = new Losses();
  losses.addUnknown(body.generationConfig, generationFields, 'generationConfig');
  losses.addUnknown(body.toolConfig, new Set(['functionCallingConfig']), 'toolConfig');
  const calling = isObject(body.toolConfig) ? body.toolConfig.functionCallingConfig : undefined;
  const allowed = isObject(calling) ? calling.allowedFunctionNames : undefined;
  // One is a tool required by name; other vendors accept no more than one.
  if (Array.isArray(allowed) && allowed.length > 1) {
    losses.add('toolConfig.functionCallingConfig.allowedFunctionNames', 'narrowed');
  }
  for (const { functionDeclarations } of objectsIn(body.tools)) {
    for (const declared of objectsIn(functionDeclarations))
      losses.addUnknown(declared, declarationMembers, 'tools.functionDeclarations');
  }
  for (const { parts } of objectsIn(body.contents)) {
    for (const one of objectsIn(parts)) {
      // A part of an unknown kind is kept whole, and an encoder that cannot send it lists it.
      if (Object.keys(one).some((name) => partMembers.has(name))) losses.addUnknown(one, partMembers, 'contents.parts');
      losses.addUnknown(one.functionResponse, responseMembers, 'contents.parts.functionResponse');
    }
  }
  return losses.list;
}

/** Google's `Schema` (OpenAPI 3.0: types in capitals, `nullable`, lengths as strings) as JSON Schema. */
export function jsonSchemaOf(schema: JsonObject): JsonObject {
  const members: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || key === 'nullable' || key === 'example') continue;
    if (key === 'type' && typeof value === 'string') members.push(['type', typeOf(value, schema.nullable)]);
    else if (key === 'enum' && Array.isArray(value) && schema.nullable === true && !value.includes(null))
      members.push([key, [...value, null]]);
    else if (key === 'properties' && isObject(value)) members.push([key, namedSchemas(value)]);
    else if (key === 'items' && isObject(value)) members.push([key, jsonSchemaOf(value)]);
    else if (key === 'anyOf' && Array.isArray(value)) {
      members.push([key, value.map((one) => (isObject(one) ? jsonSchemaOf(one) : one))]);
    } else if (lengths.has(key) && typeof value === 'string' && /^\d{1,15}$/.test(value))
      members.push([key, Number(value)]);
    else if (!(key === 'format' && value === 'enum')) members.push([key, value]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return Object.fromEntries(members);
}

/** int64 travels as a string in Google's JSON. */
const lengths: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

function typeOf(type: string, nullable: JsonValue | undefined): JsonValue {
  const name = type.toLowerCase();
  return nullable === true && name !== 'null' ? [name, 'null'] : name;
}

function namedSchemas(properties: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, isObject(one) ? jsonSchemaOf(one) : one]),
  );
}

/**
 * Schema of such a body for `/openapi.json`. The path has `model`, `stream` and the method: bodies of other methods
 * have no `contents`.
 */
export function requestSchema(): JsonSchema {
  const fields = [...requestFields].filter(([name]) => name !== 'model' && name !== 'stream');
  const { required: _, ...schema } = bodySchema(fields, requiredFields);
  return schema;
}
