import type { Loss } from './loss.ts';
import type { NeutralMessage, NeutralPart } from './request.ts';

type ToolCall = NeutralPart & { type: 'tool-call' };
type ToolResult = NeutralPart & { type: 'tool-result' };

/** Sent instead of a result that the conversation does not hold, so that the model does not wait for it. */
const noResult = '[no result was given]';

/**
 * Every tool call with exactly one result directly behind it, which most dialects demand. A later result moves up, a
 * missing one is reported as missing, and one that answers no call of the turn before becomes the user's text, so that
 * nothing is lost. The last two are reported as losses. The same list when all is in order.
 */
export function pairToolCalls(messages: readonly NeutralMessage[]): {
  messages: readonly NeutralMessage[];
  losses: readonly Loss[];
} {
  if (!messages.some((message) => message.parts.some(isCallOrResult))) return { messages, losses: [] };
  const losses: Loss[] = [];
  const paired: NeutralMessage[] = [];
  const taken = new Set<ToolResult>();
  messages.forEach((message, at) => {
    const parts = message.parts.flatMap((part): NeutralPart[] => {
      if (part.type !== 'tool-result') return [part];
      if (taken.has(part)) return [];
      losses.push({ field: 'messages.tool_result', why: 'narrowed' });
      return asText(part);
    });
    // The rest of a tool's own message are results that nobody called for.
    if (parts.length > 0) paired.push({ ...message, role: message.role === 'tool' ? 'user' : message.role, parts });
    if (message.role !== 'assistant') return;
    const calls = parts.filter((part): part is ToolCall => part.type === 'tool-call');
    if (calls.length === 0) return;
    const results = resultsBehind(messages, at);
    const answers = calls.map((call): ToolResult => {
      const found = results.find((result) => result.callId === call.id && !taken.has(result));
      if (found !== undefined) {
        taken.add(found);
        return found;
      }
      losses.push({ field: 'messages.tool_use', why: 'narrowed' });
      return { type: 'tool-result', callId: call.id, parts: [{ type: 'text', text: noResult }], isError: true };
    });
    paired.push({ role: 'tool', parts: answers });
  });
  return { messages: paired, losses };
}

function isCallOrResult(part: NeutralPart): boolean {
  return part.type === 'tool-call' || part.type === 'tool-result';
}

/** The results up to the next turn of the assistant. */
function resultsBehind(messages: readonly NeutralMessage[], at: number): ToolResult[] {
  const results: ToolResult[] = [];
  for (let i = at + 1; ; i++) {
    const message = messages[i];
    if (message === undefined || message.role === 'assistant') return results;
    for (const part of message.parts) if (part.type === 'tool-result') results.push(part);
  }
}

function asText({ callId, parts, isError }: ToolResult): NeutralPart[] {
  const outcome = isError ? 'failed' : 'answered';
  return [{ type: 'text', text: `[the tool call ${callId}, which is not shown, ${outcome}:]` }, ...parts];
}
