import { type JsonObject, objectIn } from '../../kernel/json.ts';
import type { FitMembers } from '../dialects/forward-target.ts';
import { fittingEffort } from '../dialects/openai-chat/effort.ts';

/** OpenRouter's words for how much to think and whether to show it, in https://openrouter.ai/docs/use-cases/reasoning-tokens. */
export const wordsOfOpenRouter: readonly string[] = ['reasoning', 'include_reasoning'];

/** Words of `reasoning_effort` that nearly every model takes that takes any. */
export const lowToHigh: readonly string[] = ['low', 'medium', 'high'];

/** Words that servers of local models take. Older ones do not know `max`: `xhigh` becomes `high`, the last of the two nearest. */
export const effortsOfServers: readonly string[] = ['none', 'low', 'medium', 'max', 'high'];

/** For models that answer 400 to other words for how much to think: the nearest of these, or none where there are none. */
export function nearestEffort(words: readonly string[], dialect: 'openai-chat' | 'openai-responses'): FitMembers {
  return (body) => {
    const { effort: inResponses, ...reasoning } = objectIn(body.reasoning);
    const inChat = dialect === 'openai-chat';
    const effort = inChat ? body.reasoning_effort : inResponses;
    if (typeof effort !== 'string' || words.includes(effort)) return null;
    const isDefault = effort === 'default';
    const fitting = fittingEffort({ effort: isDefault ? 'medium' : effort }, words);
    if (fitting === null && words.length > 0) return null;
    const word: JsonObject = fitting === null ? {} : { [inChat ? 'reasoning_effort' : 'effort']: fitting.word };
    const isLost = fitting === null ? !isDefault && effort !== 'none' : !fitting.exact;
    const field = inChat ? 'reasoning_effort' : 'reasoning.effort';
    return {
      members: inChat ? word : { reasoning: { ...reasoning, ...word } },
      without: inChat && fitting === null ? [field] : [],
      losses: isLost ? [{ field, why: fitting === null ? 'unsupported' : 'narrowed' }] : [],
    };
  };
}
