import { invalid } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralReasoning, NeutralRequest, NeutralTool } from '../../neutral/request.ts';
import type { EncodedRequest, EncodeTarget, Result } from '../dialect.ts';
import { loseUnspoken } from '../lose-unspoken.ts';
import { openAiAlone } from '../openai-chat/request-fields.ts';
import { openAiChatId } from '../openai-chat/wire.ts';
import { standInTool } from '../stand-in-tool.ts';
import { type Encoding, encodeMessages, lose } from './encode-messages.ts';
import { rulesOf } from './model-rules.ts';
import { type CohereBody, ownFields, vendor } from './wire.ts';

/**
 * A neutral request as the body of Chat v2. Losses are named by OpenAI's fields. Refused: what would change the result
 * (audio and files in, logprobs, n > 1, a required search).
 */
export function encodeRequest(request: NeutralRequest, target: EncodeTarget): Result<EncodedRequest> {
  const { responseFormat } = request;
  const wantsFormat = responseFormat !== undefined && responseFormat.type !== 'text';
  const encoding: Encoding = {
    rules: rulesOf(target.model),
    // Cohere refuses documents together with a format.
    documents: wantsFormat ? 'as-text' : 'beside',
    losses: [],
    failure: null,
  };
  const foreign = openAiAlone(request);
  if (foreign !== null) encoding.failure = invalid(foreign.field, foreign.message);
  const { messages, documents } = encodeMessages(request.messages, encoding);
  if (messages.length === 0 && documents.length === 0) {
    encoding.failure ??= invalid('messages', 'The messages have no content. Send at least one with text or a picture.');
  }
  if (request.toolChoice !== undefined) encoding.failure ??= missingTool(request);
  const { own, others } = ownFieldsOf(request);
  const body: CohereBody = { model: target.model, messages };
  if (target.stream) body.stream = true;
  putSampling(body, request, target, encoding);
  const unwrapTool = putToolsAndFormat(body, request, encoding);
  putReasoning(body, request.reasoning, target, encoding);
  if (documents.length > 0) body.documents = documents;
  if (encoding.failure !== null) return { ok: false, failure: encoding.failure };

  Object.assign(
    body,
    own,
    documents.length > 0 &&
      Array.isArray(own.documents) && {
        documents: [...documents, ...own.documents],
      },
  );
  if (request.user !== undefined && request.user !== '') lose(encoding, 'user', 'unsupported');
  loseUnspoken({ ...request, extensions: others }, vendor, (field, why) => lose(encoding, field, why));
  for (const name of target.omit) {
    if (body[name] === undefined) continue;
    delete body[name];
    lose(encoding, name, 'unsupported');
  }
  const value: EncodedRequest = { body, losses: encoding.losses };
  if (documents.length > 0) value.kept = ['messages.document.citations'];
  if (unwrapTool !== null) value.decode = { unwrapTool };
  return { ok: true, value };
}

/** Cohere's own members among those that the caller added to OpenAI's, and the rest, which it does not know. */
function ownFieldsOf({ extensions = {} }: NeutralRequest): { own: JsonObject; others: Record<string, JsonObject> } {
  const others: JsonObject = { ...extensions[openAiChatId] };
  const own: JsonObject = {};
  for (const name of ownFields) {
    if (others[name] === undefined) continue;
    own[name] = others[name];
    delete others[name];
  }
  return { own, others: { ...extensions, [openAiChatId]: others } };
}

const stopMax = 5;
const topKMax = 500;
const topPRange = [0.01, 0.99] as const;

function putSampling(body: JsonObject, request: NeutralRequest, target: EncodeTarget, encoding: Encoding): void {
  const { temperature, topP, topK, frequencyPenalty, presencePenalty, seed, stop = [] } = request;
  const put = (name: string, value: number | undefined, least: number, most: number, field: string) => {
    if (value === undefined) return;
    const fitted = Math.min(Math.max(value, least), most);
    if (fitted !== value) lose(encoding, field, 'clamped');
    body[name] = fitted;
  };
  put('max_tokens', request.maxOutputTokens, 1, target.maxOutputTokens ?? Number.MAX_SAFE_INTEGER, 'max_tokens');
  put('temperature', temperature, 0, 1, 'temperature');
  put('p', topP, ...topPRange, 'top_p');
  put('k', topK, 0, topKMax, 'top_k');
  put('frequency_penalty', frequencyPenalty, 0, 1, 'frequency_penalty');
  // Cohere refuses both penalties in one request.
  if (presencePenalty && frequencyPenalty) lose(encoding, 'presence_penalty', 'unsupported');
  else put('presence_penalty', presencePenalty, 0, 1, 'presence_penalty');
  if (seed !== undefined) body.seed = seed;
  if (stop.length > stopMax) lose(encoding, 'stop', 'narrowed');
  if (stop.length > 0) body.stop_sequences = stop.slice(0, stopMax);
}

/** The name of the tool that stands in for a format: Cohere refuses a format beside tools. Null: none does. */
function putToolsAndFormat(body: JsonObject, request: NeutralRequest, encoding: Encoding): string | null {
  const { tools = [], toolChoice, responseFormat, parallelToolCalls } = request;
  const format = responseFormat?.type === 'text' ? undefined : responseFormat;
  const mayCall = tools.length > 0 && toolChoice?.type !== 'none';
  if (format !== undefined && !mayCall) {
    body.response_format = {
      type: 'json_object',
      ...(format.type === 'json-schema' && { json_schema: format.schema }),
    };
    if (tools.length > 0) lose(encoding, 'tools', 'narrowed');
    return null;
  }
  if (tools.length === 0) return null;
  if (parallelToolCalls === false) lose(encoding, 'parallel_tool_calls', 'unsupported');
  // Cohere has no word for one tool: it gets that one alone, which it must call then.
  const callable = toolChoice?.type === 'tool' ? tools.filter(({ name }) => name === toolChoice.name) : tools;
  const mustCall = toolChoice?.type === 'tool' || toolChoice?.type === 'required';
  // A model that must call a tool of the caller's gives no answer yet.
  const standIn = format === undefined || mustCall ? null : standInTool(format, tools);
  if (standIn?.ok === false) encoding.failure ??= standIn.failure;
  const forced = standIn?.ok ? standIn.value : null;
  const sent = forced === null ? callable : [...callable, forced];
  body.tools = sent.map(wireTool);
  if (toolChoice?.type === 'none') body.tool_choice = 'NONE';
  else if (forced !== null || mustCall) body.tool_choice = 'REQUIRED';
  putStrict(body, callable, sent, encoding);
  return forced?.name ?? null;
}

function wireTool({ name, description, parameters }: NeutralTool): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  };
}

/** `strict_tools` holds for all tools of a request, and wants a required parameter of each. */
function putStrict(
  body: JsonObject,
  tools: readonly NeutralTool[],
  sent: readonly NeutralTool[],
  encoding: Encoding,
): void {
  const allStrict = tools.every(({ strict }) => strict === true);
  if (allStrict && sent.every(({ parameters }) => listLength(parameters?.required) > 0)) body.strict_tools = true;
  else {
    tools.forEach(({ strict }, i) => {
      if (strict === true) lose(encoding, `tools[${i}].function.strict`, 'unsupported');
    });
  }
}

function listLength(value: JsonValue | undefined): number {
  return Array.isArray(value) ? value.length : 0;
}

/** Tokens to think for; higher efforts have no limit. */
const budgetByEffort: ReadonlyMap<string, number> = new Map([
  ['minimal', 512],
  ['low', 2_048],
  ['medium', 8_192],
]);

function putReasoning(
  body: JsonObject,
  reasoning: NeutralReasoning | undefined,
  target: EncodeTarget,
  encoding: Encoding,
): void {
  if (reasoning === undefined || (reasoning.effort === undefined && reasoning.budgetTokens === undefined)) return;
  const { effort, budgetTokens } = reasoning;
  if (!encoding.rules.thinks || target.omit.includes('reasoning_effort')) {
    if (effort !== 'none') lose(encoding, 'reasoning_effort', 'unsupported');
    return;
  }
  const budget = budgetTokens ?? budgetByEffort.get(effort ?? '');
  body.thinking =
    effort === 'none'
      ? { type: 'disabled' }
      : { type: 'enabled', ...(budget !== undefined && { token_budget: budget }) };
}
