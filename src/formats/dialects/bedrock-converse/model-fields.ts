import { isObject, type JsonObject, type JsonValue, objectIn, textIn } from '../../../kernel/json.ts';
import type { NeutralReasoning } from '../../neutral/request.ts';

/** Fields that each model's vendor defines, and that other providers have in some form. */
export interface ModelFields {
  topK: number | null;
  reasoning: NeutralReasoning | null;
  /** Names of all others. */
  lost: readonly string[];
}

/**
 * Reads `additionalModelRequestFields`, Converse's own effort, and Amazon Nova's members of `inferenceConfig`: thoughts in the forms of
 * Anthropic (`thinking`, `output_config.effort`), Amazon (`reasoningConfig`) and OpenAI (`reasoning_effort`), and
 * `top_k`, which Amazon has as `inferenceConfig.topK`.
 */
export function modelFieldsOf({
  additionalModelRequestFields,
  inferenceConfig: config,
  outputConfig,
}: JsonObject): ModelFields {
  const fields = objectIn(additionalModelRequestFields);
  const { top_k: topK, inferenceConfig, thinking, output_config: output, reasoning_effort: effort, ...rest } = fields;
  const { reasoningConfig, reasoning_config: budgeted = thinking, ...others } = rest;
  const lost = [
    ...namesOf(others, none, 'additionalModelRequestFields.'),
    ...namesOf(inferenceConfig, new Set(['topK']), 'additionalModelRequestFields.inferenceConfig.'),
    ...namesOf(config, ofConverse, 'inferenceConfig.'),
    ...namesOf(outputConfig, ofOutput, 'outputConfig.'),
  ];
  const k = topK ?? memberOf(inferenceConfig, 'topK') ?? memberOf(config, 'topK');
  const general = wordOf(outputConfig, 'effort') ?? wordOf(output, 'effort');
  const word = general ?? wordOf(reasoningConfig, 'maxReasoningEffort') ?? textIn(effort);
  return {
    topK: typeof k === 'number' && Number.isInteger(k) && k > 0 ? k : null,
    reasoning: reasoningOf(budgeted, reasoningConfig, word),
    lost,
  };
}

const none: ReadonlySet<string> = new Set();
const ofOutput: ReadonlySet<string> = new Set(['textFormat', 'effort']);
const ofConverse: ReadonlySet<string> = new Set(['maxTokens', 'temperature', 'topP', 'topK', 'stopSequences']);

/** Names of the members of `holder` that have a value and are not `known`. */
function namesOf(holder: JsonValue | undefined, known: ReadonlySet<string>, before: string): string[] {
  if (!isObject(holder)) return [];
  const names = Object.keys(holder).filter((name) => !known.has(name) && (holder[name] ?? null) !== null);
  return names.map((name) => before + name);
}

function memberOf(holder: JsonValue | undefined, name: string): JsonObject[string] {
  return isObject(holder) ? holder[name] : undefined;
}

function reasoningOf(
  thinking: JsonValue | undefined,
  nova: JsonValue | undefined,
  effort: string | null,
): NeutralReasoning | null {
  const settings = [thinking, nova].filter(isObject);
  if (settings.some(({ type }) => type === 'disabled')) return { effort: 'none' };
  const budget = isObject(thinking) ? thinking.budget_tokens : null;
  if (typeof budget === 'number' && budget > 0) return { budgetTokens: budget };
  if (effort !== null) return { effort };
  return settings.length > 0 ? { effort: 'medium' } : null;
}

function wordOf(holder: JsonValue | undefined, name: string): string | null {
  return textIn(memberOf(holder, name));
}
