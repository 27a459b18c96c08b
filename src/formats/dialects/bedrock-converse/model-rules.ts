import { rulesOf as claudeRules } from '../anthropic-messages/model-rules.ts';

/**
 * What a model takes of Converse, by its id, inference profile or ARN. Sources: Bedrock's user guide ("Supported models
 * and model features", "Get validated JSON results from models") and Amazon Nova's.
 */
export interface ModelRules {
  /** How a wish for reasoning stands among the fields of the model's own. */
  reasoning: 'claude-budget' | 'claude-adaptive' | 'effort-word' | 'nova' | 'none';
  /** Where `top_k` stands among them. */
  topK: 'top_k' | 'inferenceConfig.topK' | 'none';
  /** `outputConfig.textFormat`; else a call that must be made stands in. */
  jsonSchema: 'native' | 'forced-tool';
  /** Whether a call can be demanded. */
  toolChoice: 'all' | 'auto';
  /** `cachePoint` blocks. */
  caches: boolean;
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
      caches: true,
    };
  }
  if (/\bnova-/.test(id)) {
    const reasoning = /\bnova-2/.test(id) ? 'nova' : 'none';
    return { reasoning, topK: 'inferenceConfig.topK', jsonSchema: 'forced-tool', toolChoice: 'all', caches: true };
  }
  const none = { reasoning: 'none', topK: 'none', caches: false } as const;
  if (/gpt-oss/.test(id)) return { ...none, reasoning: 'effort-word', jsonSchema: 'native', toolChoice: 'auto' };
  if (/llama|command-r|jamba|titan/.test(id)) return { ...none, jsonSchema: 'forced-tool', toolChoice: 'auto' };
  if (/mistral|pixtral|ministral|magistral/.test(id)) {
    return { ...none, topK: 'top_k', jsonSchema: 'native', toolChoice: 'all' };
  }
  return { ...none, jsonSchema: 'native', toolChoice: 'all' };
}
