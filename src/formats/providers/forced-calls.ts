import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { FitMembers, FittedMembers } from '../dialects/forward-target.ts';

/** Members that switch it off at DeepSeek and Moonshot. */
export const thinkingDisabled: JsonObject = { thinking: { type: 'disabled' } };

/**
 * For models that think unasked, and answer 400 to a call that must be made while they do: such a chat gets `off`, the
 * members that keep them from thinking. A caller's own member of that name stays.
 */
export function withoutThoughtsBeforeForcedCalls(off: JsonObject): FitMembers {
  return (body) => {
    if (!isForced(body) || Object.keys(off).some((name) => body[name] !== undefined)) return null;
    const { reasoning_effort: effort = null } = body;
    return {
      members: off,
      // Moonshot refuses both together.
      without: ['reasoning_effort'],
      losses: effort === null || effort === 'none' ? [] : [{ field: 'reasoning_effort', why: 'unsupported' }],
    };
  };
}

/** For services that do not know Mistral's word for `required`, which its clients send to any model. */
export function requiredForAny({ tool_choice: choice }: JsonObject): FittedMembers | null {
  return choice === 'any' ? { members: { tool_choice: 'required' }, losses: [] } : null;
}

function isForced({ tools, tool_choice: choice }: JsonObject): boolean {
  return Array.isArray(tools) && (choice === 'required' || isObject(choice));
}
