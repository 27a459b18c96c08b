import { rulesOf as claudeRules } from '../anthropic-messages/model-rules.ts';

/**
 * Features of Converse that a model accepts, by its id, inference profile or ARN. Sources: Bedrock's user guide
 * ("Supported models and model features", "Get validated JSON results from models") and Amazon Nova's.
 */
export interface ModelRules {
  /** Form of a wish for reasoning among the model's additional fields. */
  reasoning: 'claude-budget' | 'claude-adaptive' | 'effort-word' | 'nova' | 'none';
  /** Place of `top_k` among them. */
  topK: 'top_k' | 'inferenceConfig.topK' | 'none';
  /** `outputConfig.textFormat`; else a call that must be made replaces it. */
  jsonSchema: 'native' | 'forced-tool';
  /** Kinds of calls that can be demanded. */
  toolChoice: 'all' | 'auto';
  /** Places of `cachePoint` blocks. Nova refuses them among tools, behind calls and behind their results. */
  caches: 'everywhere' | 'apart-from-tools' | 'nowhere';
  /** Schemas of tools: Nova takes `type`, `properties` and `required` alone (its user guide, "Defining a tool"). */
  toolSchemas?: 'bare';
}

export function rulesOf(model: string): ModelRules {
  const id = model.toLowerCase();
  if (id.includes('claude')) {
    const { thinking, jsonSchema } = claudeRules(id.slice(id.lastIndexOf('anthropic.') + 'anthropic.'.length));
    return {
      reasoning: thinking === 'none' ? 'none' : `claude-${thinking}`,
      topK: 'top_k',
      jsonSchema: jsonSchema === 'native' ? 'native' : 'forced-tool',
      toolChoice: 'all',
      caches: 'everywhere',
    };
  }
  if (/\bnova-/.test(id)) {
    const reasoning = /\bnova-2/.test(id) ? 'nova' : 'none';
    const caches = 'apart-from-tools';
    return {
      reasoning,
      topK: 'inferenceConfig.topK',
      jsonSchema: 'forced-tool',
      toolChoice: 'all',
      caches,
      toolSchemas: 'bare',
    };
  }
  const none = { reasoning: 'none', topK: 'none', caches: 'nowhere' } as const;
  if (/gpt-oss/.test(id)) return { ...none, reasoning: 'effort-word', jsonSchema: 'native', toolChoice: 'auto' };
  if (/llama|command-r|jamba|titan/.test(id)) return { ...none, jsonSchema: 'forced-tool', toolChoice: 'auto' };
  if (/mistral|pixtral|ministral|magistral/.test(id)) {
    return { ...none, topK: 'top_k', jsonSchema: 'native', toolChoice: 'all' };
  }
  return { ...none, jsonSchema: 'native', toolChoice: 'all' };
}
