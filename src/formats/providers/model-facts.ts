/** Publicly documented facts of a family of models. A null or absent fact is unknown and never filters a target. */
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
  family(/^gpt-6(\.\d+)?-(sol|terra|luna)$/, 1_050_000, 128_000, 'vision tools reasoning'),
  family(/^gpt-5(\.\d+)?-chat/, 128_000, 16_384, 'vision tools'),
  family(/^gpt-5(-mini|-nano)?(-\d{4}|$)/, 400_000, 128_000, 'vision tools reasoning'),
  family(/^gpt-5\.1(-\d{4}|$)/, 400_000, 128_000, 'vision tools reasoning'),
  family(/^gpt-4\.1(-mini|-nano)?(-\d{4}|$)/, 1_047_576, 32_768, 'vision tools'),
  family(/^gpt-4o(-mini)?(-\d{4}|$)/, 128_000, 16_384, 'vision tools'),
  family(/^gpt-4-turbo/, 128_000, 4_096, 'vision tools'),
  family(/^gpt-3\.5-turbo(-0125|-1106)?$/, 16_385, 4_096, 'tools'),
  family(/^o3-mini/, 200_000, 100_000, 'tools reasoning'),
  family(/^(o1|o3|o4-mini)(-\d{4}|$)/, 200_000, 100_000, 'vision tools reasoning'),
  family(/^claude-(opus|sonnet|haiku|fable|mythos)-5(-\d)?(-\d{8}|$)/, 1_000_000, 128_000, 'vision tools reasoning'),
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

/** Whether the model thinks before it answers: by its facts, else as others of its family do. */
export function isThinker(model: string): boolean {
  return modelFacts(model)?.reasoning ?? thinkers.test(bareName(model));
}

const thinkers =
  /^(gpt-[5-9]|o\d\b|claude-|gemini-(2\.5|[3-9])|grok-[3-9]|magistral|deepseek-(r|v3\.|v[4-9])|kimi-k|minimax-m|glm-(4\.[5-9]|[5-9])|qw(en[3-9]|q)|gpt-oss)|think|reason/;

/**
 * Without a vendor's prefix, or Bedrock's of a region and a vendor with its end `-v1:0`, in lower case, and with versions as
 * their vendor writes them: Vertex puts `@` before them.
 */
export function bareName(model: string): string {
  return model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(?:[a-z-]{2,6}\.)?anthropic\.(.*?)(?:-v\d(?::\d)?)?$/, '$1')
    .replace('@', '-');
}
