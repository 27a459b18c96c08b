import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import type {
  NeutralReasoning,
  NeutralRequest,
  NeutralResponseFormat,
  NeutralTool,
  NeutralToolChoice,
} from '../../neutral/request.ts';
import { decodeContents, decodeSystem } from './decode-contents.ts';
import { stringOr, vendor } from './wire.ts';

const known: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
]);
/** They change cost or bookkeeping, never what is answered. */
const hints: ReadonlySet<string> = new Set(['labels', 'cachedContent', 'safetySettings']);

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
export function toNeutral(body: JsonObject): NeutralRequest {
  const config = isObject(body.generationConfig) ? body.generationConfig : {};
  const contents = decodeContents(body.contents as JsonObject[]);
  const request: NeutralRequest = {
    model: stringOr(body.model, ''),
    messages: [...decodeSystem(body.systemInstruction), ...contents],
    stream: body.stream === true,
    includeUsage: true,
  };
  if (typeof config.maxOutputTokens === 'number') request.maxOutputTokens = config.maxOutputTokens;
  if (typeof config.temperature === 'number') request.temperature = config.temperature;
  if (typeof config.topP === 'number') request.topP = config.topP;
  if (typeof config.topK === 'number' && config.topK >= 1) request.topK = Math.round(config.topK);
  if (typeof config.seed === 'number') request.seed = config.seed;
  if (typeof config.presencePenalty === 'number') request.presencePenalty = config.presencePenalty;
  if (typeof config.frequencyPenalty === 'number') request.frequencyPenalty = config.frequencyPenalty;
  if (typeof config.candidateCount === 'number') request.n = config.candidateCount;
  if (config.responseLogprobs === true) request.logprobs = true;
  if (typeof config.logprobs === 'number') request.topLogprobs = config.logprobs;
  if (Array.isArray(config.stopSequences) && config.stopSequences.length > 0) {
    request.stop = config.stopSequences as string[];
  }
  const tools = declaredTools(body.tools);
  if (tools.length > 0) request.tools = tools;
  const choice = toolChoice(body.toolConfig, tools);
  if (choice !== null) request.toolChoice = choice;
  const format = responseFormat(config);
  if (format !== null) request.responseFormat = format;
  const reasoning = reasoningOf(config.thinkingConfig);
  if (reasoning !== null) request.reasoning = reasoning;
  const lost = lostMembers(body);
  if (lost.length > 0) request.lost = lost;
  const hinted: [string, JsonValue][] = [];
  const unknown: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null || known.has(name)) continue;
    (hints.has(name) ? hinted : unknown).push([name, value]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  if (hinted.length > 0) request.hints = Object.fromEntries(hinted);
  if (unknown.length > 0) request.extensions = { [vendor]: Object.fromEntries(unknown) };
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
  if (config.mode === 'NONE') return { type: 'none' };
  if (config.mode !== 'ANY') return null;
  const names = Array.isArray(config.allowedFunctionNames) ? (config.allowedFunctionNames as string[]) : [];
  return names.length === 1 ? { type: 'tool', name: names[0]! } : { type: 'required' };
}

function responseFormat(config: JsonObject): NeutralResponseFormat | null {
  if (config.responseMimeType !== 'application/json') return null;
  const written = isObject(config.responseSchema) ? jsonSchemaOf(config.responseSchema) : undefined;
  const schema = isObject(config.responseJsonSchema) ? config.responseJsonSchema : written;
  return schema === undefined ? { type: 'json-object' } : { type: 'json-schema', name: 'response', schema };
}

function reasoningOf(thinking: JsonValue | undefined): NeutralReasoning | null {
  if (!isObject(thinking)) return null;
  if (typeof thinking.thinkingLevel === 'string') return { effort: thinking.thinkingLevel.toLowerCase() };
  const budget = thinking.thinkingBudget;
  if (budget === 0) return { effort: 'none' };
  if (typeof budget === 'number' && budget > 0) return { budgetTokens: budget };
  return thinking.includeThoughts === true || budget === -1 ? { effort: 'medium' } : null;
}

const config: ReadonlySet<string> = new Set([
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'candidateCount',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseLogprobs',
  'logprobs',
  'thinkingConfig',
  // Text is what every answer is; anything else only Google gives (`readRequest`).
  'responseModalities',
]);
const tool: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'parametersJsonSchema']);
const part: ReadonlySet<string> = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
]);

/** What a checked request says in places that the neutral form has none for, each once. */
export function lostMembers(body: JsonObject): Loss[] {
  const found = new Map<string, Loss>();
  const lose = (field: string, why: Loss['why']) => {
    if (!found.has(field)) found.set(field, { field, why });
  };
  const besides = (value: JsonValue | undefined, known: ReadonlySet<string>, place: string) => {
    if (!isObject(value)) return;
    for (const name in value) if (value[name] !== null && !known.has(name)) lose(`${place}.${name}`, 'unknown');
  };
  besides(body.generationConfig, config, 'generationConfig');
  besides(body.toolConfig, new Set(['functionCallingConfig']), 'toolConfig');
  const calling = isObject(body.toolConfig) ? body.toolConfig.functionCallingConfig : undefined;
  const allowed = isObject(calling) ? calling.allowedFunctionNames : undefined;
  // One is a tool demanded by name; of several nobody else can be told.
  if (Array.isArray(allowed) && allowed.length > 1) {
    lose('toolConfig.functionCallingConfig.allowedFunctionNames', 'narrowed');
  }
  for (const { functionDeclarations } of objectsIn(body.tools)) {
    for (const declared of objectsIn(functionDeclarations)) besides(declared, tool, 'tools.functionDeclarations');
  }
  for (const { parts } of objectsIn(body.contents)) {
    for (const one of objectsIn(parts)) {
      // A part of no kind that is known is kept whole, and listed by whoever cannot send it.
      if (Object.keys(one).some((name) => part.has(name))) besides(one, part, 'contents.parts');
    }
  }
  return [...found.values()];
}

function objectsIn(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Google's `Schema` (OpenAPI 3.0: types in capitals, `nullable`, lengths as strings) as JSON Schema. */
function jsonSchemaOf(schema: JsonObject): JsonObject {
  const kept: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || key === 'nullable' || key === 'example') continue;
    if (key === 'type' && typeof value === 'string') kept.push(['type', typeOf(value, schema.nullable)]);
    else if (key === 'properties' && isObject(value)) kept.push([key, namedSchemas(value)]);
    else if (key === 'items' && isObject(value)) kept.push([key, jsonSchemaOf(value)]);
    else if (key === 'anyOf' && Array.isArray(value)) {
      kept.push([key, value.map((one) => (isObject(one) ? jsonSchemaOf(one) : one))]);
    } else if (lengths.has(key) && typeof value === 'string' && /^\d{1,15}$/.test(value))
      kept.push([key, Number(value)]);
    else if (!(key === 'format' && value === 'enum')) kept.push([key, value]);
  }
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return Object.fromEntries(kept);
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
