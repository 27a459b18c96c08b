import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { NeutralRequest } from '../../neutral/request.ts';
import type { EncodedRequest, EncodeTarget, Result } from '../dialect.ts';
import { openAiAlone } from '../openai-alone.ts';
import { encodeMessages } from './encode-messages.ts';
import { encodeThinking } from './encode-thinking.ts';
import { encodeTools } from './encode-tools.ts';
import { type Encoding, lose, refuse } from './encoding.ts';
import { type ModelRules, rulesOf } from './model-rules.ts';
import { isRecursive, narrowSchema } from './narrow-schema.ts';
import { type MessagesBody, type Tool, type ToolChoice, vendor } from './wire.ts';

/** Where nobody knows the model's limit; every model takes it. Anthropic requires the field. */
const maxTokensDefault = 4_096;

/**
 * A neutral request as a Messages body. Losses are named by OpenAI's fields, the only dialect that is converted here.
 * Refused: what would change the result (audio in, logprobs, n > 1, a required search, a format that cannot be had).
 */
export function encodeRequest(request: NeutralRequest, target: EncodeTarget): Result<EncodedRequest> {
  const encoding: Encoding = { losses: [], failure: null };
  const rules = rulesOf(target.model);
  const foreign = openAiAlone(request);
  if (foreign !== null) refuse(encoding, foreign.field, foreign.message);
  const { system, turns } = encodeMessages(request.messages, rules, encoding);
  const format = encodeFormat(request, rules, encoding);
  const tools =
    format.kind === 'forced-tool'
      ? { tools: [format.tool], tool_choice: format.choice }
      : encodeTools(request, turns, rules, encoding);
  if (encoding.failure !== null) return { ok: false, failure: encoding.failure };

  const own = request.extensions?.[vendor];
  const maxTokens = maxTokensOf(request, target, encoding);
  const body: MessagesBody & JsonObject = {
    ...own,
    model: target.model,
    max_tokens: maxTokens,
    messages: turns,
    stream: target.stream,
    ...tools,
  };
  if (system.length > 0) body.system = system;
  const forced = tools.tool_choice?.type === 'tool' || tools.tool_choice?.type === 'any';
  const thinking = encodeThinking(
    request.reasoning,
    maxTokens,
    { rules, turns, toolChoice: forced ? 'forced' : 'free' },
    encoding,
  );
  if (thinking.thinking !== undefined) body.thinking = thinking.thinking;
  if (thinking.effort !== undefined || format.kind === 'native') {
    const output: JsonObject = isObject(own?.output_config) ? { ...own.output_config } : {};
    if (thinking.effort !== undefined) output.effort = thinking.effort;
    if (format.kind === 'native') output.format = format.format;
    body.output_config = output;
  }
  encodeSampling(request, body, rules, encoding);
  encodeStop(request, body, encoding);
  encodeUser(request, body, encoding);
  dropHints(request, encoding);
  omit(target, body, encoding);
  const encoded: EncodedRequest = { body, losses: encoding.losses };
  if (format.kind === 'forced-tool') encoded.decode = { unwrapTool: format.tool.name };
  return { ok: true, value: encoded };
}

function maxTokensOf(request: NeutralRequest, target: EncodeTarget, encoding: Encoding): number {
  const limit = target.maxOutputTokens;
  const wanted = request.maxOutputTokens ?? limit ?? maxTokensDefault;
  if (limit === null || wanted <= limit) return wanted;
  lose(encoding, 'max_tokens', 'clamped');
  return limit;
}

function encodeSampling(request: NeutralRequest, body: MessagesBody, rules: ModelRules, encoding: Encoding): void {
  const { temperature, topP, topK } = request;
  // A model that thinks by budget takes no temperature, no top_k, and a top_p of 0.95 at least.
  const thinks = body.thinking?.type === 'enabled';
  if (temperature !== undefined) {
    // 1 is the default: leaving it out says the same, and models that refuse the field accept that.
    if (rules.sampling === 'none' || thinks) {
      if (temperature !== 1) lose(encoding, 'temperature', 'unsupported');
    } else {
      if (temperature > 1) lose(encoding, 'temperature', 'clamped');
      body.temperature = Math.min(temperature, 1);
    }
  }
  if (topP !== undefined) {
    const alone = rules.sampling === 'all' || body.temperature === undefined;
    if (rules.sampling !== 'none' && alone && (!thinks || topP >= 0.95)) body.top_p = topP;
    else if (topP !== 1) lose(encoding, 'top_p', 'unsupported');
  }
  if (topK !== undefined) {
    if (rules.sampling !== 'none' && !thinks) body.top_k = topK;
    else lose(encoding, 'top_k', 'unsupported');
  }
}

function encodeStop(request: NeutralRequest, body: MessagesBody, encoding: Encoding): void {
  if (request.stop === undefined) return;
  // Anthropic refuses stop sequences without a visible character.
  const kept = request.stop.filter((sequence) => sequence.trim() !== '');
  if (kept.length < request.stop.length) lose(encoding, 'stop', 'narrowed');
  if (kept.length > 0) body.stop_sequences = kept;
}

// Anthropic refuses ids that look like an address or a number someone could be called by.
const personal = /@|^\+?[\d\s().-]{7,}$/;

function encodeUser(request: NeutralRequest, body: MessagesBody, encoding: Encoding): void {
  if (request.user === undefined || request.user === '') return;
  if (personal.test(request.user)) lose(encoding, 'user', 'unsupported');
  else body.metadata = { user_id: request.user };
}

function dropHints(request: NeutralRequest, encoding: Encoding): void {
  if (request.seed !== undefined) lose(encoding, 'seed', 'unsupported');
  if (request.frequencyPenalty !== undefined) lose(encoding, 'frequency_penalty', 'unsupported');
  if (request.presencePenalty !== undefined) lose(encoding, 'presence_penalty', 'unsupported');
  if (request.logitBias !== undefined) lose(encoding, 'logit_bias', 'unsupported');
  for (const name in request.hints) lose(encoding, name, 'unsupported');
  for (const dialect in request.extensions) {
    if (dialect === vendor) continue;
    for (const name in request.extensions[dialect]) lose(encoding, name, 'unknown');
  }
}

/** What the target's provider spells its own way is named to the caller by the caller's word. */
const callersWord: ReadonlyMap<string, string> = new Map([
  ['stop_sequences', 'stop'],
  ['thinking', 'reasoning_effort'],
  ['output_config', 'response_format'],
]);

function omit(target: EncodeTarget, body: MessagesBody & JsonObject, encoding: Encoding): void {
  for (const name of target.omit) {
    if (body[name] === undefined) continue;
    delete body[name];
    lose(encoding, callersWord.get(name) ?? name, 'unsupported');
  }
}

/** How structured output is asked for: natively, or as one forced call whose arguments are the answer. */
type EncodedFormat =
  | { kind: 'text' }
  | { kind: 'native'; format: JsonObject }
  | { kind: 'forced-tool'; tool: Tool; choice: ToolChoice };

const field = 'response_format';
/** Name of the tool that stands in; the decoder unwraps its call. */
const standIn = 'json_response';

function encodeFormat(request: NeutralRequest, rules: ModelRules, encoding: Encoding): EncodedFormat {
  const format = request.responseFormat;
  if (format === undefined || format.type === 'text') return { kind: 'text' };
  if (format.type === 'json-object')
    return forcedTool(openSchema, 'the answer, a JSON object', request, rules, encoding);
  const schema = format.schema;
  if (rules.jsonSchema === 'native' && !isRecursive(schema)) {
    const narrowed = narrowSchema(schema);
    if (narrowed.narrowed) lose(encoding, `${field}.json_schema.schema`, 'narrowed');
    return { kind: 'native', format: { type: 'json_schema', schema: narrowed.schema } };
  }
  if (schema.type !== undefined && schema.type !== 'object') {
    refuse(encoding, `${field}.json_schema.schema`, 'For this model the schema must describe an object.');
    return { kind: 'text' };
  }
  const whole: JsonObject = schema.type === undefined ? { type: 'object', ...schema } : schema;
  return forcedTool(whole, format.description ?? `the answer, as ${format.name}`, request, rules, encoding);
}

const openSchema: JsonObject = { type: 'object', additionalProperties: true };

function forcedTool(
  schema: JsonObject,
  what: string,
  request: NeutralRequest,
  rules: ModelRules,
  encoding: Encoding,
): EncodedFormat {
  if (request.tools !== undefined && request.tools.length > 0) {
    refuse(
      encoding,
      field,
      'This model cannot be held to a response format while it has tools: leave one of them out.',
    );
  } else if (rules.forcedTool === 'refused') {
    refuse(encoding, field, 'For this model only response_format of type json_schema, not recursive, is supported.');
  }
  return {
    kind: 'forced-tool',
    tool: { name: standIn, description: `Gives ${what}.`, input_schema: schema },
    choice: { type: 'tool', name: standIn, disable_parallel_tool_use: true },
  };
}
