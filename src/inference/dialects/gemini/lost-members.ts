import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';

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
