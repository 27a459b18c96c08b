import { errorUrlOf } from '../../../kernel/error-topic.ts';
import { type ErrorContext, type Failure, reportedByProvider } from '../../../kernel/failure.ts';
import { type FailureFacts, factsOf } from '../../../kernel/failure-facts.ts';
import { isObject, type JsonObject, type JsonValue, objectIn, parsedJson } from '../../../kernel/json.ts';
import type { FinishReason } from '../../neutral/event.ts';
import { type Fault, type FaultClass, fault } from '../../neutral/outcome.ts';
import { classOfStatus } from '../class-of-status.ts';
import type { UpstreamError } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';

/**
 * Body of an error answer: OpenAI's shape with the HTTP status as `code`, or a provider's word for a refusal by it; and
 * for a reached limit the facts that a caller can act on.
 */
export function errorBody(failure: Failure, context: ErrorContext): JsonObject {
  const facts = factsOf(failure, context.nowMs);
  const { message, type, status } = facts;
  const param = facts.param ?? (isAiSdk(context) ? '' : null);
  return {
    error: {
      // LangChain's class for NVIDIA skips an error in a stream that has no such member.
      ...(isFrom(context, /^langchain-nvidia-/) && { object: 'error' }),
      ...vendorMembers(failure),
      ...{ message, type, param },
      code: (isOpenRouters(context) ? null : vendorCode(failure, facts)) ?? (readsTextCodes(context) ? null : status),
      request_id: context.requestId,
      doc_url: errorUrlOf(failure, context.publicUrl),
      ...quotaMembers(facts),
    },
    // Voyage's SDK for Python and classes for Jina read errors there alone. They name no more than their HTTP library.
    ...(isFrom(context, /^python-requests\/|\baiohttp\//) && { detail: message }),
    ...(isAiSdk(context) && { object: 'error', message, type, param, code: `${status}` }),
  };
}

const isFrom = ({ userAgent = '' }: ErrorContext, client: RegExp) => client.test(userAgent);

/** Its providers for Mistral and Cerebras read flat errors alone, that for Open Responses no `param` that is null. */
const isAiSdk = (context: ErrorContext) => isFrom(context, /^ai(?:-sdk[-\w]*)?\//);

/** Providers of the AI SDK that read no number in `code`. Only streams name them. */
const readsTextCodes = (context: ErrorContext) => isFrom(context, /^ai-sdk-(?:moonshotai|alibaba)\//);

/** OpenRouter's SDKs, which read a number in `code` alone and a chunk in each frame; else the error is lost. */
export const isOpenRouters = (context: ErrorContext) => isFrom(context, /^speakeasy-sdk\/.*\bopenrouter\b/);

/** OpenAI's word for a prompt that does not fit: clients shorten it, or say so. */
export const tooLongCode = 'context_length_exceeded';

/** A provider's word for its error, when it says more than the type does. */
function vendorCode(failure: Failure, { type }: FailureFacts): string | null {
  if (failure.kind === 'upstream-refused' && failure.tooLong !== undefined) return tooLongCode;
  const { code } = reportedByProvider(failure);
  return code === undefined || code === type ? null : code;
}

/** Further members of a provider's error, such as Groq's `failed_generation`. */
export function vendorMembers(failure: Failure): JsonObject {
  return reportedByProvider(failure).members ?? {};
}

/** The last frame of a broken stream. No [DONE] follows: a cut answer must not look like a finished one. */
export function errorFrame(failure: Failure, context: ErrorContext): string {
  const { requestId: id, nowMs } = context;
  const chunk = isOpenRouters(context) && {
    ...{ id, object: 'chat.completion.chunk', created: Math.floor(nowMs / 1_000) },
    ...{ model: '', choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] },
  };
  // SDKs of Perplexity and SambaNova take an error without this name for a chunk, and the stream for a whole answer.
  const name = isFrom(context, /^(Async)?(Perplexity|SambaNova)\//) ? 'event: error\n' : '';
  // Flat members would make the AI SDK's provider for Cerebras take it for a chunk.
  const { error, detail } = errorBody(failure, context);
  return `${name}data: ${JSON.stringify({ ...chunk, error, detail })}\n\n`;
}

const messageCharsMax = 2_000;

/**
 * The error in an answer's body, in any of the shapes that servers of this format use: OpenAI's `{error: {…}}`,
 * a bare string under `error` (Ollama, llama.cpp), Mistral's and vLLM's `{object: "error", message}`, FastAPI's
 * `{detail}`, ElevenLabs's `{detail: {status, message}}`, Deepgram's `{err_code, err_msg}`, Google's array of one, SageMaker's
 * `{OriginalStatusCode, OriginalMessage}`, which holds one of these. Null when there is none.
 */
export function readError(body: unknown): UpstreamError | null {
  if (Array.isArray(body)) return body.length > 0 ? readError(body[0]) : null;
  if (!isObject(body)) return null;
  const { error } = body;
  if (typeof error === 'string' && error !== '') return { message: cut(error), code: codeOf(body.code), param: null };
  if (isObject(error)) {
    return {
      message: cut(textOf(error.message) ?? textOf(error.detail) ?? 'an error without a message'),
      // `code` may be the HTTP status again; a word in `type` says more.
      code: wordIn(error.code) ?? wordIn(error.type) ?? wordIn(error.status) ?? codeOf(error.code),
      param: typeof error.param === 'string' ? error.param : null,
      ...membersOf(error),
    };
  }
  if (Array.isArray(body.choices)) return null;
  if (typeof body.OriginalMessage === 'string') return errorPassedOn(body.OriginalMessage, body.OriginalStatusCode);
  if (body.object === 'error' || (typeof body.message === 'string' && body.choices === undefined)) {
    return {
      message: cut(textOf(body.message) ?? 'an error without a message'),
      code: wordIn(body.code) ?? wordIn(body.type) ?? codeOf(body.code),
      param: typeof body.param === 'string' ? body.param : null,
    };
  }
  const detail = textOf(body.detail) ?? textOf(body.errors) ?? textOf(body.Message) ?? textOf(body.err_msg);
  const { code, status } = objectIn(body.detail);
  const word = wordIn(code) ?? wordIn(status) ?? wordIn(body.err_code);
  return detail === null ? null : { message: cut(detail), code: word ?? '', param: null };
}

/** AWS's message contains the account's number, so it is not passed on. */
function errorPassedOn(original: string, status: JsonValue | undefined): UpstreamError {
  const inside = readError(parsedJson(original)) ?? { message: cut(original || 'no words'), code: '', param: null };
  return typeof status === 'number' && status >= 400 ? { ...inside, status } : inside;
}

/** By which errors say what every error says. */
const common = new Set(['message', 'detail', 'type', 'code', 'param', 'status', 'status_code', 'request_id']);

/** Further members of an error, under the vendor's names. */
export function membersOf(error: JsonObject): Pick<UpstreamError, 'members'> {
  const vendorMembers = Object.entries(error).filter(([name, value]) => !common.has(name) && value !== null);
  return vendorMembers.length === 0 ? {} : { members: Object.fromEntries(vendorMembers) };
}

function wordIn(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' && !/^\d+$/.test(value) ? value : null;
}

function codeOf(value: JsonValue | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function textOf(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  if (Array.isArray(value)) return value.length > 0 ? textOf(value[0]) : null;
  if (!isObject(value)) return null;
  const text = textOf(value.msg) ?? textOf(value.message) ?? textOf(value.detail);
  // FastAPI's servers and Mistral name the place apart: "Extra inputs are not permitted" alone helps nobody.
  return text !== null && Array.isArray(value.loc) ? `${text} (${value.loc.join('.')})` : text;
}

function cut(text: string): string {
  return text.length > messageCharsMax ? `${text.slice(0, messageCharsMax)}…` : text;
}

/** Codes that say more than the status they come with, whichever that is. */
const byCode: ReadonlyMap<string, FaultClass> = new Map<string, FaultClass>([
  ['insufficient_quota', 'quota_exhausted'],
  ['billing_hard_limit_reached', 'quota_exhausted'],
  ['billing_not_active', 'quota_exhausted'],
  ['insufficient_balance', 'quota_exhausted'],
  ['insufficient_credits', 'quota_exhausted'],
  ['rate_limit_exceeded', 'rate_limited'],
  ['too_many_requests', 'rate_limited'],
  ['rate_limit_error', 'rate_limited'],
  ['resource_exhausted', 'rate_limited'],
  ['invalid_api_key', 'bad_credential'],
  ['account_deactivated', 'bad_credential'],
  ['authentication_error', 'bad_credential'],
  ['model_not_found', 'model_unavailable'],
  ['model_not_available', 'model_unavailable'],
  ['model_decommissioned', 'model_unavailable'],
  ['model_permission_blocked', 'model_unavailable'],
  ['deploymentnotfound', 'model_unavailable'],
  ['unsupported_country_region_territory', 'region_blocked'],
  ['context_length_exceeded', 'too_long'],
  ['string_above_max_length', 'caller_fault'],
  ['content_policy_violation', 'filtered'],
  ['content_filter', 'filtered'],
  ['responsibleaipolicyviolation', 'filtered'],
  ['moderation_blocked', 'filtered'],
  // Words of a failed response (OpenAI's API reference, "The response object").
  ['invalid_prompt', 'caller_fault'],
  ['bio_policy', 'filtered'],
  ['cyber_policy', 'filtered'],
  ['invalid_image', 'caller_fault'],
  ['invalid_image_url', 'caller_fault'],
  ['invalid_image_format', 'caller_fault'],
  ['invalid_image_mode', 'caller_fault'],
  ['invalid_base64_image', 'caller_fault'],
  ['image_too_large', 'caller_fault'],
  ['image_too_small', 'caller_fault'],
  ['image_parse_error', 'caller_fault'],
  ['image_content_policy_violation', 'filtered'],
  ['image_file_too_large', 'caller_fault'],
  ['image_file_not_found', 'caller_fault'],
  ['empty_image_file', 'caller_fault'],
  ['unsupported_image_media_type', 'caller_fault'],
  ['failed_to_download_image', 'caller_fault'],
  // Groq: the model's JSON, or its call of a tool, was none.
  ['json_validate_failed', 'caller_fault'],
  ['tool_use_failed', 'caller_fault'],
]);

/** Words for a whole family of errors: believed only when no status says it better. */
const byFamily: ReadonlyMap<string, FaultClass> = new Map<string, FaultClass>([
  ['invalid_request_error', 'caller_fault'],
  ['invalid_argument', 'caller_fault'],
  ['badrequesterror', 'caller_fault'],
  ['permission_error', 'bad_credential'],
  ['permission_denied', 'bad_credential'],
  ['unauthenticated', 'bad_credential'],
  ['not_found_error', 'model_unavailable'],
  ['overloaded_error', 'transient'],
  ['server_error', 'transient'],
  ['internal_server_error', 'transient'],
  ['internalservererror', 'transient'],
  ['api_error', 'transient'],
  ['service_unavailable', 'transient'],
  ['unavailable', 'transient'],
  ['timeout', 'transient'],
  ['deadline_exceeded', 'transient'],
]);

/**
 * The class of an upstream error by the format's own rules; a provider's table goes before it. `status` is that of
 * the answer: null, or a 2xx, when the error stood inside it.
 */
export function classOfError(status: number | null, error: UpstreamError | null): FaultClass {
  const code = error?.code.toLowerCase() ?? '';
  const known = byCode.get(code);
  if (known !== undefined) return known;
  const inside = status === null || (status >= 200 && status < 300);
  // OpenRouter and others repeat inside the answer the status that it should have had.
  const effective = inside && /^[345]\d\d$/.test(code) ? Number(code) : inside ? null : status;
  if (effective === null) return byFamily.get(code) ?? 'malformed';
  return classBy(effective, error);
}

function classBy(status: number, error: UpstreamError | null): FaultClass {
  const message = error?.message ?? '';
  // A missing object that the body refers to (a file, a voice) is the caller's fault; a bare 404 is a wrong address.
  if (status === 404 && (error?.param ?? 'model') !== 'model') return 'caller_fault';
  if (
    status === 429 &&
    /\b(quota|billing|credits?|balance)\b/i.test(message) &&
    /exceeded|insufficient|exhausted/i.test(message)
  ) {
    return /per (minute|second|hour|day)|\b[rt]p[md]\b/i.test(message) ? 'rate_limited' : 'quota_exhausted';
  }
  if (status === 403 && /model/i.test(message) && /access|permission/i.test(message)) return 'model_unavailable';
  return classOfStatus(status);
}

/** Why a 2xx body is not an answer: an error inside it, or nothing to show. Null for an answer. */
export function faultInWhole(body: unknown): Fault | null {
  const error = readError(body);
  if (error !== null) return faultInside(body, error, classOfError);
  if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
  const { choices } = body;
  if (!Array.isArray(choices)) return fault('malformed', "the answer has no 'choices'");
  if (choices.length === 0) return fault('malformed', 'the answer is empty');
  for (const choice of choices) {
    if (!isObject(choice) || !(isObject(choice.message) || hasReason(choice)))
      return fault('malformed', 'the answer has a choice without a message');
    const broken = faultOfChoice(choice);
    if (broken !== null) return broken;
  }
  return null;
}

/** Why a choice whose finish reason means a failure has failed; null for all other choices. */
export function faultOfChoice(choice: JsonObject): Fault | null {
  const word = choice.finish_reason;
  if (typeof word !== 'string' || neutralFinishReason(word) !== null) return null;
  // OpenRouter gives the reason in addition to the word.
  const error = isObject(choice.error) ? readError({ error: choice.error }) : null;
  if (error !== null) return faultInside(choice, error, classOfError);
  return fault('transient', `the upstream broke its answer off (${word.slice(0, 40)})`);
}

/** Azure leaves the message out where it filtered it. */
function hasReason({ message, finish_reason: reason }: JsonObject): boolean {
  return (message === undefined || message === null) && reason === 'content_filter';
}

/** OpenAI's words, and those of providers of its format that differ. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  // Mistral: the context is full.
  ['model_length', 'context-full'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
  ['safety', 'content-filter'],
  ['guardrail_intervened', 'content-filter'],
  // Zhipu's GLM; servers in front of Gemini.
  ['sensitive', 'content-filter'],
  ['recitation', 'content-filter'],
  ['prohibited_content', 'content-filter'],
  // Zhipu's GLM, as Anthropic calls it.
  ['model_context_window_exceeded', 'context-full'],
]);

/** Words for a broken answer: DeepSeek without resources, GLM without its model, OpenRouter and Mistral with an error. */
const brokenOff: ReadonlySet<string> = new Set([
  'error',
  'insufficient_system_resource',
  'network_error',
  'cancelled',
  'abort',
]);

/**
 * Null when the word means that the answer failed. Unknown words (`eos`, `end_turn`) are a normal stop. Google's endpoint
 * of this format says more behind a colon: `content_filter: PROHIBITED_CONTENT`. Its `function_call_filter` is a call
 * that it withheld.
 */
export function neutralFinishReason(word: string): FinishReason | null {
  const key = word.toLowerCase().replace(/:.*$/s, '').replace('function_call_filter', 'content_filter');
  return brokenOff.has(key) ? null : (finishReasons.get(key) ?? 'stop');
}

/** Facts of a reached limit in an error of OpenAI's formats, so that its caller can act on it. */
function quotaMembers({ quota, retryAfterMs }: FailureFacts): JsonObject {
  if (quota === null) return {};
  return {
    limit: quota.limit,
    ...(quota.window !== null && { window: quota.window }),
    used: quota.used,
    allowed: quota.allowed,
    resets_at: quota.freeAtMs === null ? null : new Date(quota.freeAtMs).toISOString(),
    retry_after_ms: retryAfterMs,
  };
}
