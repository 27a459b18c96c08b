import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import type { FitMembers, FittedMembers } from '../dialects/forward-target.ts';

/** Members that switch it off at DeepSeek and Moonshot. */
export const thinkingDisabled: JsonObject = { thinking: { type: 'disabled' } };

/**
 * For models that think unasked, and answer 400 to chats that are `refused` while they do: these get `off`, the members
 * that keep them from thinking. A caller's own member of that name stays.
 */
export function withoutThoughts(off: JsonObject, refused: (body: JsonObject) => boolean = isForced): FitMembers {
  return (body) => {
    if (!refused(body) || Object.keys(off).some((name) => body[name] !== undefined)) return null;
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

/** For services that do not know `any` or a choice among some tools: they get those tools alone. */
export const choiceWithoutSome = choiceAs((choice) => objectIn(choice.allowed_tools));

/** For servers that refuse or ignore a choice by name, too: LM Studio and llama.cpp take words alone. */
export const choiceInWords = choiceAs((choice) => {
  return isObject(choice.function) ? { mode: 'required', tools: [choice] } : objectIn(choice.allowed_tools);
});

/** For servers that ignore the choice: they get the tools that may be called, and whether one must be may be lost. */
export const choiceByTools: FitMembers = Object.assign(
  (body: JsonObject): FittedMembers | null => {
    const { tools, tool_choice: choice } = { ...body, ...choiceInWords(body)?.members };
    if (choice === 'none') return { members: {}, without: ['tools', 'tool_choice'], losses: [] };
    if (tools === undefined || choice == null || choice === 'auto') return null;
    const why = tools === body.tools ? 'unsupported' : 'narrowed';
    return { members: { tools }, losses: [{ field: 'tool_choice', why }] };
  },
  { of: 'tools' } as const,
);

function choiceAs(allowedIn: (choice: JsonObject) => JsonObject): FitMembers {
  const fit = (body: JsonObject): FittedMembers | null => {
    const { mode, tools } = allowedIn(objectIn(body.tool_choice));
    if (!Array.isArray(tools) || !Array.isArray(body.tools)) return requiredForAny(body);
    const names = new Set(tools.map(nameOfTool));
    const some = body.tools.filter((tool) => names.has(nameOfTool(tool)));
    return some.length === 0 ? null : { members: { tools: some, tool_choice: mode ?? 'auto' }, losses: [] };
  };
  return Object.assign(fit, { of: 'tools' } as const);
}

const nameOfTool = (tool: JsonValue) => objectIn(objectIn(tool).function).name;

/** A call must be made. */
export function isForced({ tools, tool_choice: choice }: JsonObject): boolean {
  return Array.isArray(tools) && (choice === 'required' || isObject(choice));
}
