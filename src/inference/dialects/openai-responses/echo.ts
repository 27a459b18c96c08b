import type { JsonObject } from '../../../kernel/json.ts';
import type { ResponsesRequest } from './wire.ts';

/**
 * What an answer repeats of its request, as plain data. Tools and instructions are left out: no client reads them
 * back, and the 30 KB of a coding agent's would travel three times a turn.
 */
export function echoOf(body: ResponsesRequest): JsonObject {
  const customTools = (body.tools ?? []).flatMap((tool) => (tool.type === 'custom' && tool.name ? [tool.name] : []));
  return {
    settings: {
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      tool_choice: body.tool_choice ?? 'auto',
      temperature: body.temperature ?? null,
      top_p: body.top_p ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      metadata: body.metadata ?? {},
      ...(body.reasoning && { reasoning: body.reasoning }),
      ...(body.text && { text: body.text }),
      ...(body.user && { user: body.user }),
    },
    ...(customTools.length > 0 && { customTools }),
  };
}
