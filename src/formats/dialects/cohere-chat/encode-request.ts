import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { type JsonObject, listIn } from '../../../kernel/json.ts';
import { lose } from '../../neutral/loss.ts';
import { missingTool } from '../../neutral/missing-tool.ts';
import type { NeutralReasoning, NeutralTool } from '../../neutral/request.ts';
import { standInTool } from '../../neutral/stand-in-tool.ts';
import type { EncodedRequest, EncodeTarget } from '../dialect.ts';
import { openAiAlone } from '../openai-chat/request-fields.ts';
import { openAiChatId } from '../openai-chat/wire.ts';
import * as taken from '../taken-fields.ts';
import { type Encoding, encodeMessages } from './encode-messages.ts';
import { type ModelRules, rulesOf } from './model-rules.ts';
import { type CohereBody, cohereOnlyFields, vendor } from './wire.ts';

const takes = ['messages', 'tools', 'tools.strict', ...taken.byHand] as const;
type EncodedMembers = taken.Taken<(typeof takes)[number]>;

/** Facts that decide how a field is written: the target, and the body as far as it is made. */
interface SentTo extends Pick<EncodeTarget, 'maxOutputTokens'> {
  body: CohereBody;
}

const fields = taken.fieldsOf<SentTo>({
  max_tokens: ['maxOutputTokens', taken.tokenLimit()],
  temperature: ['temperature', taken.clamp(0, 1)],
  p: ['topP', taken.clamp(0.01, 0.99)],
  k: ['topK', taken.clamp(0, 500)],
  frequency_penalty: ['frequencyPenalty', taken.clamp(0, 1)],
  // Cohere refuses both penalties in one request.
  presence_penalty: [
    'presencePenalty',
    taken.when<SentTo>(({ body }, penalty) => penalty === 0 || !body.frequency_penalty, taken.clamp(0, 1)),
  ],
  seed: ['seed'],
  stop_sequences: ['stop', taken.firstTexts(5)],
});

/**
 * A neutral request as the body of Chat v2. Losses are named by OpenAI's fields. Refused: what would change the result
 * (audio and files in, logprobs, n > 1, a required search).
 */
const encodeByRules = taken.encoderOf({
  vendor,
  takes,
  fields,
  borrows: { [openAiChatId]: new Set(cohereOnlyFields) },
  encode,
});

export const { encodeRequest, encoderFor } = taken.encodersByModel(encodeByRules, rulesOf);

function encode(request: EncodedMembers, target: EncodeTarget, rules: ModelRules): EncodedRequest | Failure {
  const { responseFormat } = request;
  const hasFormat = responseFormat !== undefined && responseFormat.type !== 'text';
  const encoding: Encoding = {
    rules,
    // Cohere refuses documents together with a format.
    documents: hasFormat ? 'as-text' : 'beside',
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
  const cohereFields = cohereFieldsOf(request);
  const body: CohereBody = { model: target.model, messages };
  if (target.stream) body.stream = true;
  taken.writeFields(fields, request, { maxOutputTokens: target.maxOutputTokens, body }, body, encoding.losses);
  const unwrapTool = putToolsAndFormat(body, request, encoding);
  putReasoning(body, request, target, encoding);
  if (documents.length > 0) body.documents = documents;
  if (encoding.failure !== null) return encoding.failure;

  Object.assign(
    body,
    cohereFields,
    documents.length > 0 &&
      Array.isArray(cohereFields.documents) && { documents: [...documents, ...cohereFields.documents] },
  );
  const value: EncodedRequest = { body, losses: encoding.losses };
  if (documents.length > 0) value.recovered = ['messages.document.citations'];
  if (unwrapTool !== null) value.decode = { unwrapTool };
  return value;
}

/** Cohere's members among those that the caller added to OpenAI's. */
function cohereFieldsOf({ extensions }: EncodedMembers): JsonObject {
  const added = extensions?.[openAiChatId];
  const fields: JsonObject = {};
  if (added === undefined) return fields;
  for (const name of cohereOnlyFields) if (added[name] !== undefined) fields[name] = added[name];
  return fields;
}

/** Name of the tool that replaces a format: Cohere refuses a format together with tools. Null: none does. */
function putToolsAndFormat(body: JsonObject, request: EncodedMembers, encoding: Encoding): string | null {
  const { tools = [], toolChoice, responseFormat, parallelToolCalls } = request;
  const format = responseFormat?.type === 'text' ? undefined : responseFormat;
  const mayCall = tools.length > 0 && toolChoice?.type !== 'none';
  if (format !== undefined && !mayCall) {
    body.response_format = {
      type: 'json_object',
      ...(format.type === 'json-schema' && { json_schema: format.schema }),
    };
    if (format.type === 'json-schema' && format.description !== undefined) {
      lose(encoding, 'response_format.json_schema.description', 'unsupported');
    }
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
  if (isFailure(standIn)) encoding.failure ??= standIn;
  const forced = isFailure(standIn) ? null : standIn;
  const sent = forced === null ? callable : [...callable, forced];
  body.tools = sent.map(({ name, description, parameters }) => ({
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  }));
  if (toolChoice?.type === 'none') body.tool_choice = 'NONE';
  else if (forced !== null || mustCall) body.tool_choice = 'REQUIRED';
  putStrict(body, callable, sent, encoding);
  return forced?.name ?? null;
}

/** `strict_tools` holds for all tools of a request, and wants a required parameter of each. */
function putStrict(
  body: JsonObject,
  tools: readonly NeutralTool[],
  sent: readonly NeutralTool[],
  encoding: Encoding,
): void {
  const allStrict = tools.every(({ strict }) => strict === true);
  if (allStrict && sent.every(({ parameters }) => listIn(parameters?.required).length > 0)) body.strict_tools = true;
  else {
    tools.forEach(({ strict }, i) => {
      if (strict === true) lose(encoding, `tools[${i}].function.strict`, 'unsupported');
    });
  }
}

/** Tokens to think for; higher efforts have no limit. */
const budgetByEffort: ReadonlyMap<string, number> = new Map([
  ['minimal', 512],
  ['low', 2_048],
  ['medium', 8_192],
]);

function putReasoning(body: JsonObject, { reasoning }: EncodedMembers, target: EncodeTarget, encoding: Encoding): void {
  if (reasoning === undefined || (reasoning.effort === undefined && reasoning.budgetTokens === undefined)) return;
  const { effort } = reasoning;
  if (!encoding.rules.thinks || target.omit.includes('reasoning_effort')) {
    if (effort !== 'none') lose(encoding, 'reasoning_effort', 'unsupported');
    return;
  }
  body.thinking = thinkingOf(reasoning);
}

/** Cohere's `thinking` for an effort or a budget. */
export function thinkingOf({ effort, budgetTokens }: NeutralReasoning): JsonObject {
  if (effort === 'none') return { type: 'disabled' };
  const budget = budgetTokens ?? budgetByEffort.get(effort ?? '');
  return { type: 'enabled', ...(budget !== undefined && { token_budget: budget }) };
}
