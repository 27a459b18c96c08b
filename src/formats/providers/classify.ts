import { classOfAnthropicError } from '../dialects/anthropic-messages/errors.ts';
import { classOfBedrockError } from '../dialects/bedrock-converse/errors.ts';
import type { UpstreamError } from '../dialects/dialect.ts';
import { classOfGeminiError } from '../dialects/gemini/errors.ts';
import { classOfError } from '../dialects/openai-chat/errors.ts';
import type { FaultClass } from '../neutral/outcome.ts';
import type { Classify, ErrorRule, Provider } from './provider.ts';
import { matchedCharsMax, tooLongIn } from './too-long-errors.ts';

/**
 * The class of an upstream's error: the provider's own rules first, in order, then what its dialect means by it, and
 * last what the words of any vendor say. Called off the hot path only.
 */
export const classifyError: Classify = (provider, status, error, dialect): FaultClass => {
  // Of the further formats of a service, only whole families of models have that format's errors; AWS's are the same
  // for all.
  const isProviderFormat =
    provider.families === undefined || dialect === undefined || provider.dialect === 'bedrock-converse';
  const errorDialect = isProviderFormat ? provider.dialect : dialect;
  const classOf = errorDialect === 'openai-responses' ? classOfError : classOfDialect[errorDialect];
  return ruledClass(provider, status, error) ?? classByText(provider, classOf(status, error), status, error);
};

const lacking =
  /\bunsupported_(?:parameter|value)\b|\b(?:not|n.t) (?:supported|enabled) (?:with|by|for|on|in) (?:(?:this|the) model\b|models?\/)|\bdoes(?: not|n.t) support\b|\bonly supported by certain models\b|\bno such model\/|\baccess to the requested model\b|\bvoice_(?:not_found|does_not_exist)\b|\bnot a multimodal model\b|\bno endpoints found that\b/i;

/** Whether an error that is the caller's says what a model cannot do, in any vendor's words: another model may do it. */
export function isOfModel(error: ErrorText): boolean {
  return matches({ code: lacking, class: 'caller_fault' }, 0, withoutQuotes(error));
}

type ErrorText = Pick<UpstreamError, 'code' | 'message'> & Partial<Pick<UpstreamError, 'param'>>;

/** The class by the provider's own rules; null: none. They hold for an error in an answer too, by its own status. */
export function ruledClass(provider: Provider, status: number, error: ErrorText | null): FaultClass | null {
  return classBy(provider.errors, status, error);
}

/**
 * `found`, or a better class by the words, of any vendor: any service may be a proxy of another and pass its error on.
 * `status` null: the error had none.
 */
export function classByText(
  provider: Provider,
  found: FaultClass,
  status: number | null,
  error: ErrorText | null,
): FaultClass {
  const rules = ofAnyVendor[found];
  if (rules === undefined) return found;
  // A server that fails at a long prompt says so with a 500.
  const mayBeTooLong = found !== 'transient' || status === 500;
  if (error !== null && mayBeTooLong && tooLongIn(provider, error) !== null) return 'too_long';
  return classBy(rules, status ?? 400, error === null ? null : withoutQuotes(error)) ?? found;
}

/** Leaves out quotations, which may be the caller's words. */
function withoutQuotes<E extends ErrorText>(error: E): E {
  return { ...error, message: error.message.replace(quoted, '') };
}

const quoted = /(?<!\w)(['"`])[^'"`\n]{1,200}\1(?!\w)/g;

/** That a model is not there. */
const noSuchModel =
  /\b(?:no such|unknown|invalid|unrecognized|unsupported|not found the) model\b|\b(?:model|deployment|model (?:id|identifier|name)|foundation model)\b[^.;{}]{0,120}?\b(?:not found|(?:does|do|did) ?n[o']t exist|not exist|was not found|is invalid|is not valid|not available|not deployed|not served|has been (?:deprecated|decommissioned|retired|removed|shut down))\b|\bnot a valid model\b|\bno endpoints found\b|\bon-demand throughput isn.?t supported\b|模型不存在|\b(?:deploymentnotfound|model_?not_?found\w*|invalid_?model\w*|unknown_?model\w*|model_?not_?available|model_?not_?supported|model_?decommissioned)\b/i;

/** That a content filter refused it. */
const filtered =
  /\bcontent[ _-]?(?:filter|(?:management )?polic|moderation|safety)|\b(?:moderation_blocked|data_?inspection_?failed|sensitive_words?_detected|prohibited_content)\b|blocked by (?:our |the )?(?:content|safety|moderation)|safety system|\bflagged (?:as|by|for)\b|\bguardrail|(?:inappropriate|sensitive|harmful) content|violates? (?:our |the )?(?:usage|safety|content)/i;

const spentQuota =
  /\binsufficient_(?:user_)?quota\b|\bbilling_hard_limit_reached\b|\bcredit balance is too low\b|\binsufficient (?:account )?(?:balance|credits?|funds)\b|\breached[^.;{}]{0,40}\bspend(?:ing)? limit\b/i;

/** Rules for any vendor's words, by the class that they correct. */
const ofAnyVendor: Partial<Record<FaultClass, readonly ErrorRule[]>> = {
  caller_fault: [
    { status: 413, class: 'too_long' },
    { code: filtered, class: 'filtered' },
    { code: spentQuota, class: 'quota_exhausted' },
    { status: 400, code: noSuchModel, param: 'model', class: 'model_unavailable' },
    { status: 422, code: noSuchModel, param: 'model', class: 'model_unavailable' },
  ],
  bad_credential: [
    { status: 403, code: filtered, class: 'filtered' },
    { code: spentQuota, class: 'quota_exhausted' },
  ],
  rate_limited: [{ code: spentQuota, class: 'quota_exhausted' }],
  transient: [],
  malformed: [],
};

const classOfDialect = {
  'openai-chat': classOfError,
  'anthropic-messages': classOfAnthropicError,
  gemini: classOfGeminiError,
  'bedrock-converse': classOfBedrockError,
  'cohere-chat': classOfError,
} as const satisfies Record<Provider['dialect'], (status: number, error: UpstreamError | null) => FaultClass>;

function classBy(rules: readonly ErrorRule[], status: number, error: ErrorText | null): FaultClass | null {
  return rules.find((rule) => matches(rule, status, error))?.class ?? null;
}

function matches(rule: ErrorRule, status: number, error: ErrorText | null): boolean {
  if (rule.status !== undefined && rule.status !== status) return false;
  if (rule.code === undefined) return true;
  if (error === null) return false;
  // An error that blames nothing may mean it too.
  if (rule.param !== undefined && error.param != null && error.param !== rule.param) return false;
  if (typeof rule.code === 'string') return rule.code === error.code;
  return rule.code.test(`${error.code} ${error.message}`.slice(0, matchedCharsMax));
}
