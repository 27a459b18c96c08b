import { classOfAnthropicError } from '../dialects/anthropic-messages/errors.ts';
import { classOfBedrockError } from '../dialects/bedrock-converse/errors.ts';
import type { UpstreamError } from '../dialects/dialect.ts';
import { classOfGeminiError } from '../dialects/gemini/errors.ts';
import { classOfError } from '../dialects/openai-chat/errors.ts';
import type { FaultClass } from '../neutral/outcome.ts';
import type { Classify, ErrorRule, Provider } from './provider.ts';

/**
 * The class of an upstream's error: the provider's own rules first, in order, then what its dialect means by it.
 * Called off the hot path only.
 */
export const classifyError: Classify = (provider, status, error, dialect): FaultClass => {
  // Of what a service speaks beside its own format, only whole families of models have that format's errors; AWS's are
  // the same for all.
  const own = provider.families === undefined || dialect === undefined || provider.dialect === 'bedrock-converse';
  const asked = own ? provider.dialect : dialect;
  const classOf = asked === 'openai-responses' ? classOfError : classOfDialect[asked];
  return ruledClass(provider, status, error) ?? classOf(status, error);
};

/** What the provider's own rules say; null: nothing. They hold for an error inside an answer too, by its own status. */
export function ruledClass(
  provider: Provider,
  status: number,
  error: Pick<UpstreamError, 'code' | 'message'> | null,
): FaultClass | null {
  for (const rule of provider.errors) if (matches(rule, status, error)) return rule.class;
  return null;
}

const classOfDialect = {
  'openai-chat': classOfError,
  'anthropic-messages': classOfAnthropicError,
  gemini: classOfGeminiError,
  'bedrock-converse': classOfBedrockError,
  'cohere-chat': classOfError,
} as const satisfies Record<Provider['dialect'], (status: number, error: UpstreamError | null) => FaultClass>;

// Patterns run over words of the upstream's choosing: a bounded piece of them says it all.
const matchedCharsMax = 2_000;

function matches(rule: ErrorRule, status: number, error: Pick<UpstreamError, 'code' | 'message'> | null): boolean {
  if (rule.status !== undefined && rule.status !== status) return false;
  if (rule.code === undefined) return true;
  if (error === null) return false;
  if (typeof rule.code === 'string') return rule.code === error.code;
  return rule.code.test(`${error.code} ${error.message}`.slice(0, matchedCharsMax));
}
