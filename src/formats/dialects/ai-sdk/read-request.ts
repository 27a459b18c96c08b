import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonScan, type JsonValue, stringOr } from '../../../kernel/json.ts';
import type { Loss } from '../../neutral/loss.ts';
import {
  type NeutralReasoning,
  type NeutralRequest,
  type NeutralResponseFormat,
  type NeutralTool,
  type NeutralToolChoice,
  noNeeds,
  type RequestNeeds,
} from '../../neutral/request.ts';
import { estimatedInput } from '../../neutral/usage.ts';
import { cleanUser, conversationStart } from '../../neutral/value-checks.ts';
import type { CallerRequest } from '../dialect.ts';
import { memberKinds, objectsBy } from '../named-objects.ts';
import { someExtras } from '../request-extras.ts';
import { cacheOf, decodePrompt } from './decode-messages.ts';
import { optionsOf } from './provider-options.ts';
import { invalidFieldIn, unknownFieldsIn } from './request-fields.ts';

/** Files that a provider keeps. */
export const objects = objectsBy({
  members: memberKinds({
    input: 'opaque',
    value: 'opaque',
    inputSchema: 'opaque',
    schema: 'opaque',
    headers: 'opaque',
    reference: 'free-names',
    providerOptions: 'opaque',
  }),
});

/** Checks a call of the AI SDK. The route adds model, stream and version of its headers (`withCallMembers`). */
export function readRequest(raw: Buffer, body: JsonObject, _: JsonScan): CallerRequest | Failure {
  const failure = invalidFieldIn(body);
  if (failure !== null) return failure;
  const options = optionsOf(body.providerOptions);
  const reasoning = reasoningOf(body.reasoning) ?? options.reasoning;
  const at = toolsOf(body).findIndex(({ type }) => type !== 'function');
  const nativeOnly =
    at === -1
      ? null
      : invalid(
          `tools[${at}]`,
          `'tools[${at}]': tools that a provider runs are not taken in this format. Leave it out.`,
        );
  return {
    model: stringOr(body.model, ''),
    stream: body.stream === true,
    includeUsage: true,
    n: 1,
    seed: typeof body.seed === 'number' ? body.seed : null,
    needs: needsOf(body, raw.length, reasoning),
    user: cleanUser(options.user),
    conversationStart: conversationStart(body.prompt as JsonObject[]),
    echo: { version: body.specification ?? 4 },
    wordFor,
    extras: someExtras({ nativeOnly, fallbackModels: options.fallbackModels }),
    neutral: () => neutralOf(body, reasoning, options.lost),
    forward() {
      throw new Error('no provider is asked in the format of the AI SDK');
    },
  };
}

function toolsOf({ tools }: JsonObject): JsonObject[] {
  return Array.isArray(tools) ? (tools as JsonObject[]) : [];
}

function reasoningOf(word: JsonValue | undefined): NeutralReasoning | null {
  return typeof word === 'string' && word !== 'provider-default' ? { effort: word } : null;
}

function needsOf(body: JsonObject, bodyBytes: number, reasoning: NeutralReasoning | null): RequestNeeds {
  const { maxOutputTokens, responseFormat, stopSequences } = body;
  const needs: RequestNeeds = {
    ...noNeeds,
    tools: toolsOf(body).length > 0,
    jsonSchema: isObject(responseFormat) && isObject(responseFormat.schema),
    reasoning: reasoning !== null && reasoning.effort !== 'none',
    ...(Array.isArray(stopSequences) && stopSequences.length > 0 && { stop: true }),
    stream: body.stream === true,
    inputTokensEstimate: estimatedInput(body, bodyBytes),
    maxOutputTokens: typeof maxOutputTokens === 'number' ? maxOutputTokens : null,
  };
  for (const { content } of body.prompt as JsonObject[]) {
    if (!Array.isArray(content)) continue;
    for (const part of content as JsonObject[]) {
      const type = part.type === 'file' ? stringOr(part.mediaType, '') : '';
      if (type.startsWith('image')) needs.vision = true;
      else if (type.startsWith('audio')) needs.audioIn = true;
      else if (type === 'application/pdf') needs.files = true;
    }
  }
  return needs;
}

const plain = ['maxOutputTokens', 'temperature', 'topP', 'presencePenalty', 'frequencyPenalty', 'seed'] as const;

function neutralOf(body: JsonObject, reasoning: NeutralReasoning | null, lost: readonly string[]): NeutralRequest {
  const request: NeutralRequest = {
    model: stringOr(body.model, ''),
    messages: decodePrompt(body.prompt as JsonObject[]),
    stream: body.stream === true,
    includeUsage: true,
  };
  for (const name of plain) {
    const value = body[name];
    if (typeof value === 'number') request[name] = value;
  }
  const { topK, stopSequences: stop } = body;
  if (typeof topK === 'number' && topK > 0) request.topK = topK;
  if (Array.isArray(stop) && stop.length > 0) request.stop = stop as string[];
  const tools = toolsOf(body)
    .filter(({ type }) => type === 'function')
    .map(toolOf);
  if (tools.length > 0) request.tools = tools;
  const choice = choiceOf(body.toolChoice);
  if (choice !== null && tools.length > 0) request.toolChoice = choice;
  const format = formatOf(body.responseFormat);
  if (format !== null) request.responseFormat = format;
  if (reasoning !== null) request.reasoning = reasoning;
  const losses = [...unknownFieldsIn(body), ...lost].map((field): Loss => ({ field, why: 'unsupported' }));
  if (losses.length > 0) request.lost = losses;
  return request;
}

function toolOf(tool: JsonObject): NeutralTool {
  const { name, description, inputSchema, strict } = tool;
  return {
    name: stringOr(name, ''),
    ...(typeof description === 'string' && { description }),
    ...(isObject(inputSchema) && { parameters: inputSchema }),
    ...(strict === true && { strict }),
    ...cacheOf(tool),
  };
}

function choiceOf(choice: JsonValue | undefined): NeutralToolChoice | null {
  if (!isObject(choice)) return null;
  if (choice.type === 'tool') return { type: 'tool', name: stringOr(choice.toolName, '') };
  return { type: choice.type as 'auto' | 'none' | 'required' };
}

function formatOf(format: JsonValue | undefined): NeutralResponseFormat | null {
  if (!isObject(format) || format.type !== 'json') return null;
  const { schema, name, description } = format;
  if (!isObject(schema)) return { type: 'json-object' };
  const described = typeof description === 'string' ? { description } : {};
  return { type: 'json-schema', name: stringOr(name, 'response'), schema, ...described };
}

const words: ReadonlyMap<string, string> = new Map([
  ['max_completion_tokens', 'maxOutputTokens'],
  ['max_tokens', 'maxOutputTokens'],
  ['max_output_tokens', 'maxOutputTokens'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['stop', 'stopSequences'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['reasoning_effort', 'reasoning'],
  ['thinking.budget_tokens', 'providerOptions.anthropic.thinking'],
  ['tool_choice', 'toolChoice'],
  ['cache_control', 'providerOptions.anthropic.cacheControl'],
]);

/** OpenAI's names of fields, which encoders use for losses and refusals, as the AI SDK's. */
function wordFor(field: string): string {
  const word = words.get(field);
  if (word !== undefined) return word;
  if (field.startsWith('response_format')) return 'responseFormat';
  return field.replace(/^messages\b/, 'prompt').replace(/^(tools\[\d+\])\.function/, '$1');
}
