import { type Failure, invalid } from '../../kernel/failure.ts';
import type { NeutralRequest } from './request.ts';

/**
 * Why nobody can make the required call: only the caller's format knows its tool, such as a search that the provider
 * runs. Leaving it out would change the answer. Null when there is such a tool, or no such requirement.
 */
export function missingTool({ tools = [], toolChoice }: Pick<NeutralRequest, 'tools' | 'toolChoice'>): Failure | null {
  if (toolChoice?.type === 'tool' && !tools.some((tool) => tool.name === toolChoice.name)) {
    return invalid(
      'tool_choice',
      `'tool_choice' names '${toolChoice.name.slice(0, 64)}', which no provider of this model can call.`,
    );
  }
  if (toolChoice?.type === 'required' && tools.length === 0) {
    return invalid(
      'tool_choice',
      "'tool_choice' asks for a call, and no provider of this model can call any of the tools.",
    );
  }
  return null;
}
