import type { NeutralRequest, NeutralTool } from '../../neutral/request.ts';
import { cacheOf } from './decode-blocks.ts';
import type { Losses } from './losses.ts';
import { type CallerBody, type CallerTool, isCustomTool } from './request-wire.ts';

/** Claude Code's stand-in for the tools that it loads later: there is nothing to call behind it. */
const placeholderName = 'DeferredToolPlaceholder';
const knownMembers: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
]);

/**
 * The caller's own tools. Those that Anthropic defines or runs are known to it alone: left out and listed, and whoever
 * must call one is refused by an encoder, which finds it missing. Deferred ones are given whole at once.
 */
export function decodeTools(body: CallerBody, losses: Losses): NeutralTool[] {
  const tools: NeutralTool[] = [];
  for (const tool of body.tools ?? []) {
    if (isCustomTool(tool) && tool.name !== placeholderName) tools.push(decodeTool(tool, losses));
    else losses.add(`tools.${isCustomTool(tool) ? placeholderName : tool.type}`, 'unsupported');
  }
  return tools;
}

function decodeTool(tool: CallerTool, losses: Losses): NeutralTool {
  losses.addUnknown(tool, knownMembers, 'tools');
  const neutral: NeutralTool = { name: tool.name!, parameters: tool.input_schema!, ...cacheOf(tool) };
  if (typeof tool.description === 'string') neutral.description = tool.description;
  if (typeof tool.strict === 'boolean') neutral.strict = tool.strict;
  return neutral;
}

export function decodeToolChoice({ tool_choice: choice }: CallerBody, request: NeutralRequest): undefined {
  if (!choice) return;
  if (choice.disable_parallel_tool_use === true) request.parallelToolCalls = false;
  switch (choice.type) {
    case 'tool':
      request.toolChoice = { type: 'tool', name: choice.name! };
      return;
    case 'any':
      request.toolChoice = { type: 'required' };
      return;
    case 'auto':
    case 'none':
      request.toolChoice = { type: choice.type };
  }
}
