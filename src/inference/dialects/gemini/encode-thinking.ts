import type { NeutralReasoning } from '../../neutral/request.ts';
import { type Encoding, lose } from './encoding.ts';
import type { ThinkingConfig, ThinkingLevel } from './wire.ts';

/** As Google's own OpenAI-compatible endpoint translates the words. */
const budgetByEffort: ReadonlyMap<string, number> = new Map([
  ['minimal', 1_024],
  ['low', 1_024],
  ['medium', 8_192],
  ['high', 24_576],
  ['xhigh', 32_768],
  ['max', 32_768],
]);
const levelByEffort: ReadonlyMap<string, ThinkingLevel> = new Map([
  ['none', 'MINIMAL'],
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
  ['xhigh', 'HIGH'],
  ['max', 'HIGH'],
]);
const budgetUsual = 8_192;
const levelOrder: readonly ThinkingLevel[] = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'];

/** Null leaves the model to its own ways. Thoughts are shown to whoever asks for thinking. */
export function encodeThinking(reasoning: NeutralReasoning | undefined, encoding: Encoding): ThinkingConfig | null {
  if (reasoning === undefined || (reasoning.effort === undefined && reasoning.budgetTokens === undefined)) return null;
  const includeThoughts = reasoning.effort !== 'none';
  switch (encoding.rules.thinking) {
    case 'none':
      if (includeThoughts) lose(encoding, 'reasoning_effort', 'unsupported');
      return null;
    case 'budget':
      return { includeThoughts, thinkingBudget: budgetFor(reasoning, encoding) };
    case 'level':
      return { includeThoughts, thinkingLevel: levelFor(reasoning, encoding) };
  }
}

function budgetFor({ effort, budgetTokens }: NeutralReasoning, encoding: Encoding): number {
  const { min, max } = encoding.rules.budget;
  const wanted = effort === 'none' ? 0 : (budgetTokens ?? budgetByEffort.get(effort ?? '') ?? budgetUsual);
  const budget = Math.min(Math.max(wanted, min), max);
  if (budget !== wanted) lose(encoding, 'reasoning_effort', 'clamped');
  return budget;
}

function levelFor({ effort, budgetTokens }: NeutralReasoning, encoding: Encoding): ThinkingLevel {
  const { levels } = encoding.rules;
  const wanted = effort === undefined ? levelOfBudget(budgetTokens!) : (levelByEffort.get(effort) ?? 'MEDIUM');
  if (effort === undefined) lose(encoding, 'thinking.budget_tokens', 'narrowed');
  // The next stronger one; there is always HIGH.
  const level = levelOrder.slice(levelOrder.indexOf(wanted)).find((one) => levels.includes(one)) ?? 'HIGH';
  if (level !== wanted || effort === 'none' || effort === 'xhigh' || effort === 'max') {
    lose(encoding, 'reasoning_effort', 'clamped');
  }
  return level;
}

function levelOfBudget(budgetTokens: number): ThinkingLevel {
  return budgetTokens < 4_096 ? 'LOW' : budgetTokens < 16_384 ? 'MEDIUM' : 'HIGH';
}
