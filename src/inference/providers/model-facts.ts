import type { DialectId } from '../dialects/dialect.ts';
import { anthropic } from './anthropic.ts';
import type { ProviderQuirks } from './provider.ts';

/** What is publicly documented of a family of models. A null or absent fact is unknown and never filters a target. */
export interface ModelFacts {
  /** Tokens. */
  contextWindow: number | null;
  maxOutputTokens: number | null;
  vision: boolean | null;
  tools: boolean | null;
  reasoning: boolean | null;
}

interface Family extends ModelFacts {
  /** Over the id without a vendor's prefix and in lower case. */
  pattern: RegExp;
}

function family(pattern: RegExp, contextWindow: number, maxOutputTokens: number, can: string): Family {
  return {
    pattern,
    contextWindow,
    maxOutputTokens,
    vision: can.includes('vision'),
    tools: can.includes('tools'),
    reasoning: can.includes('reasoning'),
  };
}

/**
 * First match decides. Sources: platform.openai.com/docs/models, platform.claude.com/docs (models overview), ai.google.dev/gemini-api/docs/models.
 * What those do not say is not here: `capabilities`, `context_window` and `max_output_tokens` of a target state it.
 */
const families: readonly Family[] = [
  family(/^gpt-5(\.\d+)?-chat/, 128_000, 16_384, 'vision tools'),
  family(/^gpt-5(-mini|-nano)?(-\d{4}|$)/, 400_000, 128_000, 'vision tools reasoning'),
  family(/^gpt-5\.1(-\d{4}|$)/, 400_000, 128_000, 'vision tools reasoning'),
  family(/^gpt-4\.1(-mini|-nano)?(-\d{4}|$)/, 1_047_576, 32_768, 'vision tools'),
  family(/^gpt-4o(-mini)?(-\d{4}|$)/, 128_000, 16_384, 'vision tools'),
  family(/^gpt-4-turbo/, 128_000, 4_096, 'vision tools'),
  family(/^gpt-3\.5-turbo(-0125|-1106)?$/, 16_385, 4_096, 'tools'),
  family(/^o3-mini/, 200_000, 100_000, 'tools reasoning'),
  family(/^(o1|o3|o4-mini)(-\d{4}|$)/, 200_000, 100_000, 'vision tools reasoning'),
  family(/^claude-opus-5(-5)?(-\d{8}|$)/, 1_000_000, 128_000, 'vision tools reasoning'),
  family(/^claude-(opus-4-[678]|sonnet-4-6)(-\d{8}|$)/, 1_000_000, 128_000, 'vision tools reasoning'),
  family(/^claude-(opus|sonnet|haiku)-4-5(-\d{8}|-latest|$)/, 200_000, 64_000, 'vision tools reasoning'),
  family(/^claude-opus-4(-1)?(-\d{8}|-latest|-0|$)/, 200_000, 32_000, 'vision tools reasoning'),
  family(/^claude-(sonnet-4|3-7-sonnet)(-\d{8}|-latest|-0|$)/, 200_000, 64_000, 'vision tools reasoning'),
  family(/^claude-3-5-(sonnet|haiku)/, 200_000, 8_192, 'vision tools'),
  family(/^claude-3-(opus|haiku|sonnet)/, 200_000, 4_096, 'vision tools'),
  family(
    /^gemini-(2\.5|3(\.\d+)?)-(pro|flash|flash-lite)(-preview|-latest|-\d|$)/,
    1_048_576,
    65_536,
    'vision tools reasoning',
  ),
  family(/^gemini-2\.0-(flash|flash-lite)(-\d|$)/, 1_048_576, 8_192, 'vision tools'),
];

/** Facts of a model by its upstream id (`gpt-4o`, `openai/gpt-4o`); null for one that is not in the table. */
export function modelFacts(model: string): ModelFacts | null {
  const name = bareName(model);
  const found = families.find((one) => one.pattern.test(name));
  if (found === undefined) return null;
  const { pattern: _, ...facts } = found;
  return facts;
}

const openAi: readonly string[] = ['openai', 'azure-openai'];

/** Models that take less than the API they stand in; every match applies. What would change the answer stays in. */
const narrower: readonly {
  providers: readonly string[];
  pattern: RegExp;
  omit?: readonly string[];
  rename?: Readonly<Record<string, string>>;
}[] = [
  // "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead": the o-series, GPT-5 and later.
  { providers: openAi, pattern: /^(o\d|gpt-([5-9]|\d\d))/, rename: { max_tokens: 'max_completion_tokens' } },
  // Refuse sampling at all times; GPT-5.1 and later take it when they do not reason, so they keep it.
  {
    providers: openAi,
    pattern: /^(o\d|gpt-5(-mini|-nano)?(-\d{4}|$))/,
    omit: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs', 'logit_bias'],
  },
  // docs.x.ai, "Reasoning": adding them results in an error. `stop` too, but leaving that out would change the answer.
  {
    providers: ['xai'],
    pattern: /^grok-(4|3-mini)(?!.*non-reasoning)/,
    omit: ['presence_penalty', 'frequency_penalty'],
  },
];

const quirksByModel = new WeakMap<ProviderQuirks, Map<string, ProviderQuirks>>();
/** Patterns let callers make up models: at the bound the map begins anew. */
const rememberedModelsMax = 1_000;

/**
 * A provider's quirks for one of its models, with everything that must be left out in `omit`. The same object each
 * time, and the provider's own when the model takes all that its API does, so it may be asked for every request.
 */
export function quirksOf(provider: { id: string; quirks: ProviderQuirks }, model: string): ProviderQuirks {
  let byModel = quirksByModel.get(provider.quirks);
  if (byModel === undefined) {
    byModel = new Map();
    quirksByModel.set(provider.quirks, byModel);
  }
  const known = byModel.get(model);
  if (known !== undefined) return known;
  if (byModel.size >= rememberedModelsMax) byModel.clear();
  const quirks = narrowed(provider, bareName(model));
  byModel.set(model, quirks);
  return quirks;
}

/**
 * The same for a body of `dialect`. Quirks are told of the provider's own API: what it refuses there says nothing of
 * fields of the same name in Anthropic's Messages, which it takes whole.
 */
export function quirksIn(
  dialect: DialectId,
  provider: { id: string; dialect: DialectId; quirks: ProviderQuirks },
  model: string,
): ProviderQuirks {
  return dialect === 'anthropic-messages' && provider.dialect !== dialect
    ? quirksOf(anthropic, model)
    : quirksOf(provider, model);
}

function narrowed(provider: { id: string; quirks: ProviderQuirks }, name: string): ProviderQuirks {
  const { quirks } = provider;
  const omit = new Set(quirks.omit);
  let { rename } = quirks;
  for (const rule of narrower) {
    if (!rule.providers.includes(provider.id) || !rule.pattern.test(name)) continue;
    for (const field of rule.omit ?? []) omit.add(field);
    if (rule.rename !== undefined) rename = { ...rename, ...rule.rename };
  }
  if (!quirks.logprobs) omit.add('logprobs').add('top_logprobs');
  if (!quirks.seed) omit.add('seed');
  if (omit.size === quirks.omit.length && rename === quirks.rename) return quirks;
  return { ...quirks, omit: [...omit], rename, logprobs: quirks.logprobs && !omit.has('logprobs') };
}

function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).toLowerCase();
}
