import type { Loss } from './loss.ts';
import type { NeutralMessage, NeutralPart } from './request.ts';
import { UniqueIds } from './unique-ids.ts';

type ToolCall = NeutralPart & { type: 'tool-call' };
type ToolResult = NeutralPart & { type: 'tool-result' };

/** Sent instead of a result that the conversation does not hold, so that the model does not wait for it. */
const noResult = '[no result was given]';

/** Losses that are named. A header of losses holds fewer, and a body may hold a hundred thousand. */
const lossesMax = 64;

export interface PairedMessages {
  /** With `place`, where it is not their index. */
  messages: readonly NeutralMessage[];
  /** In OpenAI's words: `messages[1].tool_calls[0]` had no result, the result at `messages[1].tool_call_id` no call. */
  losses: readonly Loss[];
}

/**
 * Every tool call with exactly one result directly behind it, which most dialects demand: a message for each result, in
 * the order of the calls. A later result moves up, a missing one is reported as missing, and one that answers no call of
 * the turn before becomes the user's text, so that nothing is lost. The last two are reported as losses. Messages of the
 * assistant that follow a call without anything between are one turn with it.
 */
export function pairToolCalls(messages: readonly NeutralMessage[]): PairedMessages {
  const losses: Loss[] = [];
  const paired: NeutralMessage[] = [];
  const taken = new Set<ToolResult>();
  const ids = new UniqueIds();
  for (let at = 0; at < messages.length; ) {
    const { turn, next } = turnAt(messages, at);
    const parts = turn.parts.flatMap((part): NeutralPart[] => {
      if (part.type !== 'tool-result') return [part];
      if (taken.has(part)) return [];
      lose(`messages[${at}].tool_call_id`);
      return asText(part);
    });
    const calls: { given: string; id: string }[] = [];
    const unique = parts.map((part) => {
      if (turn.role !== 'assistant' || part.type !== 'tool-call') return part;
      const id = ids.take(part.id);
      calls.push({ given: part.id, id });
      return id === part.id ? part : { ...part, id };
    });
    // The rest of a tool's own message are results that nobody called for.
    if (parts.length > 0) put({ ...turn, role: turn.role === 'tool' ? 'user' : turn.role, parts: unique }, at);
    const results = calls.length === 0 ? new Map<string, FoundResult[]>() : resultsBehind(messages, next);
    calls.forEach(({ given, id }, ordinal) => {
      const found = results.get(given)?.pop();
      if (found !== undefined) {
        taken.add(found.result);
        const result = id === given ? found.result : { ...found.result, callId: id };
        put({ role: 'tool', parts: [result] }, found.at);
        return;
      }
      lose(`messages[${at}].tool_calls[${ordinal}]`);
      const missing: ToolResult = {
        type: 'tool-result',
        callId: id,
        parts: [{ type: 'text', text: noResult }],
        isError: true,
      };
      put({ role: 'tool', parts: [missing] }, at);
    });
    at = next;
  }
  return { messages: paired, losses };

  function put(message: NeutralMessage, place: number): void {
    paired.push(place === paired.length ? message : { ...message, place });
  }

  function lose(field: string): void {
    if (losses.length < lossesMax) losses.push({ field, why: 'narrowed' });
  }
}

function isCall(part: NeutralPart): part is ToolCall {
  return part.type === 'tool-call';
}

/** The message there, with those of the assistant that follow its calls, and the index behind them. */
function turnAt(messages: readonly NeutralMessage[], at: number): { turn: NeutralMessage; next: number } {
  const first = messages[at] ?? { role: 'user', parts: [] };
  let next = at + 1;
  if (first.role !== 'assistant' || !first.parts.some(isCall)) return { turn: first, next };
  const parts = [...first.parts];
  for (let more = messages[next]; more?.role === 'assistant'; more = messages[++next]) {
    for (const part of more.parts) parts.push(part);
  }
  return { turn: next === at + 1 ? first : { ...first, parts }, next };
}

interface FoundResult {
  result: ToolResult;
  /** Index of its message. */
  at: number;
}

/** The results from `start` up to the next turn of the assistant, by the id of the call, the last of an id first. */
function resultsBehind(messages: readonly NeutralMessage[], start: number): Map<string, FoundResult[]> {
  let end = start;
  while (end < messages.length && messages[end]?.role !== 'assistant') end++;
  const results = new Map<string, FoundResult[]>();
  for (let at = end - 1; at >= start; at--) {
    for (const part of messages[at]?.parts.toReversed() ?? []) {
      if (part.type !== 'tool-result') continue;
      const found = results.get(part.callId);
      if (found === undefined) results.set(part.callId, [{ result: part, at }]);
      else found.push({ result: part, at });
    }
  }
  return results;
}

function asText({ callId, parts, isError }: ToolResult): NeutralPart[] {
  const outcome = isError ? 'failed' : 'answered';
  return [{ type: 'text', text: `[the tool call ${callId}, which is not shown, ${outcome}:]` }, ...parts];
}
