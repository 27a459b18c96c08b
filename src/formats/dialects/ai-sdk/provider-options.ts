import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import type { NeutralReasoning } from '../../neutral/request.ts';

/** Meaning of a call's `providerOptions` for any provider. */
export interface CallOptions {
  reasoning: NeutralReasoning | null;
  fallbackModels: readonly string[];
  user: JsonValue | undefined;
  /** Paths of all others. */
  lost: readonly string[];
}

const none: CallOptions = { reasoning: null, fallbackModels: [], user: undefined, lost: [] };

/** Members that are read, by provider. */
const read: Readonly<Record<string, ReadonlySet<string>>> = {
  openai: new Set(['reasoningEffort']),
  anthropic: new Set(['thinking', 'effort']),
  google: new Set(['thinkingConfig']),
  gateway: new Set(['models', 'user']),
};

/** Reads how much a model is to think, in the words of three vendors, and the options of this gateway. */
export function optionsOf(options: JsonValue | undefined): CallOptions {
  if (!isObject(options)) return none;
  const lost: string[] = [];
  for (const [provider, members] of Object.entries(options)) {
    if (!isObject(members)) continue;
    const known = Object.hasOwn(read, provider) ? read[provider] : undefined;
    for (const [name, value] of Object.entries(members)) {
      if (known?.has(name) !== true && (value ?? null) !== null) lost.push(`providerOptions.${provider}.${name}`);
    }
  }
  const { gateway } = options;
  const { models, user } = objectIn(gateway);
  const fallbackModels = Array.isArray(models) ? models.filter((one) => typeof one === 'string') : [];
  return { reasoning: reasoningOf(options), fallbackModels, user, lost };
}

function reasoningOf({ openai, anthropic, google }: JsonObject): NeutralReasoning | null {
  const effort = objectIn(openai).reasoningEffort ?? objectIn(anthropic).effort;
  if (typeof effort === 'string') return { effort };
  const thinking = objectIn(anthropic).thinking;
  if (isObject(thinking)) {
    if (thinking.type === 'disabled') return { effort: 'none' };
    return typeof thinking.budgetTokens === 'number' ? { budgetTokens: thinking.budgetTokens } : { effort: 'medium' };
  }
  const config = objectIn(google).thinkingConfig;
  if (!isObject(config)) return null;
  const { thinkingBudget: budget, thinkingLevel: level } = config;
  if (typeof level === 'string') return { effort: level };
  if (typeof budget !== 'number') return null;
  return budget === 0 ? { effort: 'none' } : budget > 0 ? { budgetTokens: budget } : { effort: 'medium' };
}
