import type { NeutralReasoning } from '../../neutral/request.ts';
import { type Encoding, lose } from './encoding.ts';
import type { ModelRules } from './model-rules.ts';
import type { Thinking, Turn } from './wire.ts';

export interface EncodedThinking {
  thinking?: Thinking;
  /** `output_config.effort`. */
  effort?: string;
}

/** Tokens, where the model wants a number. 1,024 is Anthropic's least. */
const budgetByEffort: ReadonlyMap<string, number> = new Map([
  ['minimal', 1_024],
  ['low', 2_048],
  ['medium', 8_192],
  ['high', 16_384],
  ['xhigh', 32_768],
]);
const budgetUsual = 8_192;
const budgetMin = 1_024;

export function encodeThinking(
  reasoning: NeutralReasoning | undefined,
  maxTokens: number,
  context: { rules: ModelRules; turns: readonly Turn[]; toolChoice: 'free' | 'forced' },
  encoding: Encoding,
): EncodedThinking {
  if (reasoning === undefined || (reasoning.effort === undefined && reasoning.budgetTokens === undefined)) return {};
  if (reasoning.effort === 'none') return withoutThinking(context.rules, encoding);
  switch (context.rules.thinking) {
    case 'none':
      lose(encoding, 'reasoning_effort', 'unsupported');
      return {};
    case 'adaptive':
      // Newer models leave the thoughts out unless asked for a summary.
      return { thinking: { type: 'adaptive', display: 'summarized' }, effort: effortWord(reasoning) };
    case 'budget': {
      const budget = budgetFor(reasoning, maxTokens);
      if (budget === null || context.toolChoice === 'forced' || breaksToolLoop(context.turns)) {
        lose(encoding, 'reasoning_effort', 'unsupported');
        return {};
      }
      return { thinking: { type: 'enabled', budget_tokens: budget } };
    }
  }
}

function withoutThinking(rules: ModelRules, encoding: Encoding): EncodedThinking {
  switch (rules.thinkingOff) {
    case 'absent':
      return {};
    case 'effort-low':
      lose(encoding, 'reasoning_effort', 'clamped');
      return { effort: 'low' };
    default:
      return { thinking: { type: rules.thinkingOff } };
  }
}

function effortWord(reasoning: NeutralReasoning): string {
  switch (reasoning.effort) {
    case 'minimal':
    case 'low':
      return 'low';
    case 'high':
    case 'xhigh':
    case 'max':
      return reasoning.effort;
    case 'medium':
      return 'medium';
    default: {
      const budget = reasoning.budgetTokens ?? budgetUsual;
      return budget < 4_096 ? 'low' : budget < 16_384 ? 'medium' : 'high';
    }
  }
}

/** Below max_tokens, which counts thoughts and answer together: a quarter is kept for the answer. Null: no room. */
function budgetFor(reasoning: NeutralReasoning, maxTokens: number): number | null {
  const wanted = reasoning.budgetTokens ?? budgetByEffort.get(reasoning.effort ?? '') ?? budgetUsual;
  const room = Math.floor(maxTokens * 0.75);
  if (room < budgetMin) return null;
  return Math.max(budgetMin, Math.min(wanted, room));
}

/**
 * With a budget, Anthropic refuses to go on with a tool's result unless the turn that called it begins with its
 * signed thought, which callers of other dialects do not send back.
 */
function breaksToolLoop(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  if (last?.role !== 'user' || last.content[0]?.type !== 'tool_result') return false;
  const first = turns.at(-2)?.content[0]?.type;
  return first !== 'thinking' && first !== 'redacted_thinking';
}
