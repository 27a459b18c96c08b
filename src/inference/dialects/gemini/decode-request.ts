import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type {
  NeutralReasoning,
  NeutralRequest,
  NeutralResponseFormat,
  NeutralTool,
  NeutralToolChoice,
} from '../../neutral/request.ts';
import type { Result } from '../dialect.ts';
import { inCamelCase } from './camel-case.ts';
import { checkRequest } from './check-request.ts';
import { decodeContents, decodeSystem } from './decode-contents.ts';
import { lostMembers } from './lost-members.ts';
import { jsonSchemaOf } from './open-api-schema.ts';
import { stringOr, vendor } from './wire.ts';

export function decodeRequest(body: JsonObject): Result<NeutralRequest> {
  const checked = checkRequest(inCamelCase(body));
  return checked.ok ? { ok: true, value: toNeutral(checked.value) } : checked;
}

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
