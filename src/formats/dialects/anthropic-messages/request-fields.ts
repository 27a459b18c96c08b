import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, jsonText, objectIn, parsedData } from '../../../kernel/json.ts';
import { bodySchema, described, schemaOf } from '../../neutral/described-check.ts';
import type { Losses } from '../../neutral/loss.ts';
import { markMessage } from '../../neutral/mark-message.ts';
import type { NeutralRequest, NeutralTool } from '../../neutral/request.ts';
import * as v from '../../neutral/value-checks.ts';
import type { EncodeTarget } from '../dialect.ts';
import { fallbackNames } from '../fallback-models.ts';
import { type Checked, checkFields, fieldTable, judged, writtenFields } from '../field-table.ts';
import { clamp, firstTexts, from, tokenLimit, when } from '../taken-fields.ts';
import { asFunction, toolsAtEnd } from './client-tools.ts';
import { cacheOf, messages, systemContent } from './decode-messages.ts';
import type { ModelRules } from './model-rules.ts';
import type { CallerBody, CustomTool, MessagesBody } from './wire.ts';

const functionTool = v.members("an object with 'name' and 'input_schema'", {
  type: v.stringOf(1, 128),
  cache_control: v.object,
  name: v.needed(v.stringOf(1, 256), 'the name of the tool'),
  description: v.string,
  input_schema: v.needed(v.object, 'a JSON Schema of the input, an object'),
});
/** Tools that Anthropic defines have whatever members they have. */
const vendorTool = v.members("an object with 'type'", {
  type: v.needed(v.stringOf(1, 128), 'the type of the tool'),
  cache_control: v.object,
  name: v.string,
});
const tool = described({ anyOf: [schemaOf(functionTool), schemaOf(vendorTool)] }, (value) =>
  (isObject(value) && typeof value.type === 'string' && value.type !== 'custom' ? vendorTool : functionTool)(value),
);

const choiceSend = 'an object such as {"type":"auto"}';
const parallel = v.members(choiceSend, { disable_parallel_tool_use: v.boolean });
const toolChoice = v.byType(choiceSend, "'auto', 'any', 'tool' or 'none'", {
  auto: parallel,
  any: parallel,
  none: parallel,
  tool: v.members(choiceSend, {
    disable_parallel_tool_use: v.boolean,
    name: v.needed(v.stringOf(1, 256), 'the name of the tool to call'),
  }),
});

const thinkingSend = 'an object such as {"type":"adaptive"}';
const thinking = v.byType(
  thinkingSend,
  "'enabled', 'adaptive' or 'disabled'",
  {
    adaptive: null,
    disabled: null,
    enabled: v.members(thinkingSend, {
      budget_tokens: v.needed(v.integerIn(1, Number.MAX_SAFE_INTEGER), 'how many tokens it may think'),
    }),
  },
  'pass',
);

const metadata = v.members('an object such as {"user_id":"…"}', { user_id: v.string });

const outputConfig = v.members('an object such as {"effort":"high"}', { effort: v.string, format: v.object });

/** Placeholder of Claude Code for the tools that it loads later: it cannot be called. */
const placeholderName = 'DeferredToolPlaceholder';
const knownMembers: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
]);

/**
 * Tools that the caller runs. Only Anthropic knows those that it runs itself: they are left out and listed, and an encoder
 * that finds a required one missing refuses it. Deferred ones are given whole from the start.
 */
export function putTools(request: NeutralRequest, body: CallerBody, losses: Losses): void {
  const tools: NeutralTool[] = [];
  for (const tool of toolsAtEnd(body)) {
    const custom = asFunction(tool);
    if (custom !== null && custom.name !== placeholderName) tools.push(decodeTool(custom, losses));
    // A toolset only says more of `mcp_servers`.
    else if (tool.type !== 'mcp_toolset' || !Array.isArray(body.mcp_servers))
      losses.add(`tools.${custom === null ? jsonText(tool.type) : placeholderName}`, 'unsupported');
  }
  if (tools.length > 0) request.tools = tools;
}

function decodeTool(tool: CustomTool, losses: Losses): NeutralTool {
  losses.addUnknown(tool, knownMembers, 'tools');
  const neutral: NeutralTool = { name: tool.name, parameters: tool.input_schema, ...cacheOf(tool) };
  if (typeof tool.description === 'string') neutral.description = tool.description;
  if (typeof tool.strict === 'boolean') neutral.strict = tool.strict;
  return neutral;
}

function putToolChoice(request: NeutralRequest, { tool_choice: choice }: CallerBody): undefined {
  if (choice?.disable_parallel_tool_use === true) request.parallelToolCalls = false;
  switch (choice?.type) {
    case 'tool':
      request.toolChoice = { type: 'tool', name: choice.name };
      return;
    case 'any':
      request.toolChoice = { type: 'required' };
      return;
    case 'auto':
    case 'none':
      request.toolChoice = { type: choice.type };
  }
}

/** Anthropic keeps all that has such a mark, up to the end of the messages: elsewhere it is the mark of the last one. */
function putCacheMark(request: NeutralRequest, { cache_control: cache }: CallerBody): undefined {
  const last = request.messages.at(-1);
  if (last !== undefined && isObject(cache)) request.messages = request.messages.with(-1, markMessage(last, cache));
}

const configMembers: ReadonlySet<string> = new Set(['effort', 'format']);

/** `output_format` was its name in beta. */
function putFormat(
  request: NeutralRequest,
  { output_config: config, output_format: beta }: CallerBody,
  losses: Losses,
): undefined {
  losses.addUnknown(config, configMembers, 'output_config');
  const format = config?.format ?? beta;
  if (!isObject(format) || format.type !== 'json_schema' || !isObject(format.schema)) return;
  request.responseFormat = { type: 'json-schema', name: 'answer', schema: format.schema };
}

const modelName = v.stringOf(1, 256);
/** Anthropic's are objects, for which it asks its models; names are LiteLLM's. */
const fallbacks = described({}, (value) => (isNames(value) ? fallbackNames(value) : null));

/** If it is unknown how a conversation goes on, none of it must be lost in silence. */
const threadForm = "{type: 'create'}, or {type: 'continue', previous_message_id}";
const thread = v.byType(threadForm, "'create' or 'continue'", {
  create: null,
  continue: v.members(threadForm, {
    previous_message_id: v.needed(v.stringOf(1, 256), 'the id of the last answer of the thread'),
  }),
});

export function isNames(fallbacks: JsonValue | undefined): fallbacks is string[] {
  return Array.isArray(fallbacks) && fallbacks.every((one) => typeof one === 'string');
}
// 0 fills the prompt cache and answers nothing.
const outputLimit = v.integerIn(0, Number.MAX_SAFE_INTEGER);

/** Facts that decide how a field is written: the target, its rules, and the body as far as it is made. */
export interface SentTo extends Pick<EncodeTarget, 'maxOutputTokens'> {
  rules: ModelRules;
  body: Partial<MessagesBody>;
}

/** A model that thinks by budget takes no temperature, no top_k, and a top_p of 0.95 at least. */
function takesSampling({ rules, body }: SentTo): boolean {
  return rules.sampling !== 'none' && body.thinking?.type !== 'enabled';
}

function takesTopP({ rules, body }: SentTo, topP: number): boolean {
  if (rules.sampling === 'none' || (rules.sampling !== 'all' && body.temperature !== undefined)) return false;
  return body.thinking?.type !== 'enabled' || topP >= 0.95;
}

// Anthropic refuses ids that look like an address or a number someone could be called by.
const personal = /@|^\+?[\d\s().-]{7,}$/;

/** Other fields are kept and forwarded unchanged: one 400 costs Claude Code six requests (clients.md §1). */
export const requestFields = fieldTable<CallerBody, Losses, SentTo>({
  model: [modelName, 'read', null, modelName],
  messages: [messages, 'read', null, v.turnsOf('content', 1)],
  max_tokens: [
    outputLimit,
    (request, body) => {
      if (body.max_tokens) request.maxOutputTokens = body.max_tokens;
    },
    tokenLimit(),
    outputLimit,
  ],
  stream: [v.boolean, 'read', null, v.boolean],
  system: [systemContent, 'read'],
  cache_control: [v.object, putCacheMark],
  // Anthropic's bound is 1; models behind other dialects take up to 2.
  temperature: [v.numberIn(0, 2), 'temperature', when(takesSampling, clamp(0, 1))],
  top_p: [v.numberIn(0, 1), 'topP', when(takesTopP)],
  top_k: [
    v.integerIn(0, Number.MAX_SAFE_INTEGER),
    (request, body) => {
      if (body.top_k) request.topK = body.top_k;
    },
    from('topK', when(takesSampling)),
  ],
  stop_sequences: [
    v.arrayOf(v.string, 0, Number.POSITIVE_INFINITY, 'strings'),
    (request, body) => {
      if (body.stop_sequences?.length) request.stop = body.stop_sequences;
    },
    // Anthropic refuses those without a visible character.
    from(
      'stop',
      firstTexts(Number.POSITIVE_INFINITY, (text) => text.trim() !== ''),
    ),
  ],
  // By putTools, with those that messages define.
  tools: [v.arrayOf(tool, 0, Number.POSITIVE_INFINITY, 'tools'), 'read'],
  tool_choice: [toolChoice, putToolChoice],
  // With output_config, which says how hard: by decodeReasoning.
  thinking: [thinking, 'read'],
  output_config: [outputConfig, putFormat],
  output_format: [v.anyJson, putFormat],
  thread: [thread, 'vendor'],
  metadata: [
    metadata,
    (request, body) => {
      const user = endUserOf(body);
      if (user !== null) request.user = user;
    },
    from('user', { fit: (user: string) => (user === '' || personal.test(user) ? undefined : { user_id: user }) }),
  ],
  models: [fallbackNames, 'read', null, fallbackNames],
  fallbacks: [fallbacks, (_, body) => (isNames(body.fallbacks) ? undefined : 'vendor'), null, fallbacks],
});

export const encodedFields = writtenFields(requestFields);

/** `answer`: a request for one. `count`: only for its number of tokens, so nothing bounds the output. */
type RequestFor = 'answer' | 'count';

const requiredToCount: readonly [string, string][] = [
  ['model', 'the name of a model (GET /v1/models lists them)'],
  ['messages', 'an array of at least one message'],
];
const requiredFields = {
  count: new Map(requiredToCount),
  answer: new Map([...requiredToCount, ['max_tokens', 'the largest number of tokens that the answer may have']]),
} as const satisfies Record<RequestFor, ReadonlyMap<string, string>>;

/**
 * Types and bounds of a Messages request; the first fault found names its field. The body is the caller's itself, not a
 * copy, so unknown fields stay.
 */
export function checkRequest(body: JsonObject, purpose: RequestFor): Checked<CallerBody> | Failure {
  const needed = requiredFields[body.max_tokens === null ? 'answer' : purpose];
  return judged(requestFields, body, needed, checkFields(requestFields, body, needed));
}

const endUserCharsMax = 256;

/**
 * End user of `metadata.user_id`, as ledger and log may keep it; null if it names none. Claude Code writes the ids of
 * device, account and session there, as JSON or joined with words: the account is the end user, else the device. A
 * session is none.
 */
export function endUserOf({ metadata }: CallerBody): string | null {
  const id = isObject(metadata) ? metadata.user_id : undefined;
  return typeof id === 'string' ? (v.cleanUser(named(id))?.slice(0, endUserCharsMax) ?? null) : null;
}

const joined = /^user_([0-9a-f]{16,})_account_([\w-]*?)_session_/;

function named(id: string): string {
  const [, user, account] = joined.exec(id) ?? [];
  if (user !== undefined) return account || user;
  if (!id.startsWith('{')) return id;
  // One that is not JSON names a user in any case.
  const ids = objectIn(parsedData(id));
  for (const name of ['account_uuid', 'account_id', 'device_id']) {
    const value = ids[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return id;
}

/** Schema of such a body for `/openapi.json`. */
export const requestSchema = (purpose: RequestFor) => bodySchema(requestFields, requiredFields[purpose]);
