import type { JsonObject, JsonValue } from '../../src/kernel/json.ts';
import { isObject } from '../../src/kernel/json.ts';
import type { Prompt, ReadPrompt, Refusal, Tool } from '../../src/simulator/prompt.ts';
import { inputTokensOf, isReasoningModel, stringsOf, textOf, toolTokensOf } from '../../src/simulator/prompt.ts';
import { mediaWishOf } from './gemini-media.ts';

/**
 * Reads the body of `POST …/models/{model}:generateContent`; whether it streams stands in the path, and the service puts
 * it into `stream`. Refuses what Google refuses of the order of turns, in its words.
 */
export const readGeminiRequest: ReadPrompt = (body, pathModel) => {
  const model = pathModel ?? '';
  const { contents } = body;
  if (!Array.isArray(contents) || contents.length === 0) {
    return refused('* GenerateContentRequest.contents: contents is not specified', 'contents');
  }
  if (!contents.every(isContent))
    return refused('* GenerateContentRequest.contents: parts must not be empty', 'contents');
  const wrong = wrongOrder(contents) ?? (signsCalls(model) ? missingSignature(contents) : null);
  if (wrong !== null) return refused(wrong, 'contents');

  const config = isObject(body.generationConfig) ? body.generationConfig : {};
  const system = isObject(body.systemInstruction) ? body.systemInstruction.parts : undefined;
  let inputTokens = 1 + toolTokensOf(body.tools) + (system === undefined ? 0 : inputTokensOf(system));
  for (const content of contents) inputTokens += inputTokensOf(content.parts);
  const said = contents.filter((content) => content.role !== 'model');
  const last = said.at(-1)?.parts ?? [];
  const lastUserText = said.map((content) => textOf(content.parts)).findLast((text) => text !== '') ?? '';
  const thinking = isObject(config.thinkingConfig) ? config.thinkingConfig : {};
  const tools = toolsOf(body.tools);
  if (typeof config.responseMimeType === 'string' && tools.length > 0 && !signsCalls(model)) {
    return refused("Function calling with a response mime type: 'application/json' is unsupported", null);
  }
  const prompt: Prompt = {
    model,
    delivery: body.stream === true ? 'stream' : 'whole',
    usageChunk: 'asked',
    inputTokens,
    lastUserText,
    turn: last.some((part) => isObject(part.functionResponse)) ? 'tool-result' : 'user',
    tools,
    toolChoice: choiceOf(body.toolConfig),
    toolCalls: 'parallel',
    format: formatOf(config),
    choices: 1,
    stop: stringsOf(config.stopSequences),
    maxTokens: typeof config.maxOutputTokens === 'number' ? config.maxOutputTokens : null,
    reasoning: thinking.includeThoughts === true || isReasoningModel(model) ? 'shown' : 'none',
    topLogprobs: config.responseLogprobs === true ? (typeof config.logprobs === 'number' ? config.logprobs : 0) : null,
    ...mediaWishOf(config, lastUserText),
  };
  return prompt;
};

/** Models that number their calls and sign the first of each turn. */
export function signsCalls(model: string): boolean {
  return /gemini-[3-9]/.test(model);
}

function refused(message: string, param: string | null): Refusal {
  return { refused: message, param };
}

interface Content {
  role?: string;
  parts: JsonObject[];
}

function isContent(value: JsonValue): value is JsonObject & Content {
  return isObject(value) && Array.isArray(value.parts) && value.parts.length > 0 && value.parts.every(isObject);
}

function wrongOrder(contents: readonly Content[]): string | null {
  if (contents[0]!.role === 'model')
    return 'Please ensure that multiturn requests alternate, beginning with a user role.';
  if (contents.at(-1)!.role === 'model') {
    return 'Please ensure that multiturn requests end with a user role or a function response.';
  }
  for (const [at, { role, parts }] of contents.entries()) {
    const calls = role === 'model' ? parts.filter((part) => isObject(part.functionCall)).length : 0;
    const results = (contents[at + 1]?.parts ?? []).filter((part) => isObject(part.functionResponse)).length;
    const before = at === 0 ? [] : contents[at - 1]!.parts;
    if (calls > 0 && calls !== results) {
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
    }
    if (parts.some((part) => isObject(part.functionResponse)) && !before.some((part) => isObject(part.functionCall))) {
      return 'Please ensure that function response turn comes immediately after a function call turn.';
    }
  }
  return null;
}

/** Of the running turn: everything after the user's last words. */
function missingSignature(contents: readonly Content[]): string | null {
  const begun = contents.findLastIndex(({ role, parts }) => role !== 'model' && textOf(parts as JsonValue[]) !== '');
  for (const { role, parts } of contents.slice(begun + 1)) {
    const first = role === 'model' ? parts.find((part) => isObject(part.functionCall)) : undefined;
    if (first !== undefined && typeof first.thoughtSignature !== 'string') {
      return 'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.';
    }
  }
  return null;
}

function toolsOf(tools: JsonValue | undefined): Tool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => {
    const declared = isObject(tool) ? tool.functionDeclarations : undefined;
    if (!Array.isArray(declared)) return [];
    return declared.flatMap((one) => {
      if (!isObject(one) || typeof one.name !== 'string') return [];
      // Google reads members in snake case too, and its SDK for Python writes this one so.
      const whole = one.parametersJsonSchema ?? one.parameters_json_schema;
      const schema = isObject(whole) ? whole : inSmallLetters(one.parameters);
      return [{ name: one.name, schema: isObject(schema) ? schema : {} }];
    });
  });
}

/** Google's own schemas write types in capitals. */
function inSmallLetters(schema: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(schema)) return schema.map((one) => inSmallLetters(one) ?? null);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === 'type' && typeof value === 'string' ? [key, value.toLowerCase()] : [key, inSmallLetters(value)],
    ),
  );
}

function choiceOf(toolConfig: JsonValue | undefined): Prompt['toolChoice'] {
  const config =
    isObject(toolConfig) && isObject(toolConfig.functionCallingConfig) ? toolConfig.functionCallingConfig : {};
  if (config.mode === 'NONE') return 'none';
  if (config.mode !== 'ANY') return 'auto';
  const [name] = stringsOf(config.allowedFunctionNames);
  return name === undefined ? 'required' : { name };
}

function formatOf(config: JsonObject): Prompt['format'] {
  if (config.responseMimeType !== 'application/json') return 'text';
  const schema = config.responseJsonSchema ?? inSmallLetters(config.responseSchema);
  return isObject(schema) ? { schema } : 'json';
}
