import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { FinishReason } from '../../neutral/event.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { faultInside } from './errors.ts';

/** Why a whole answer is none; null for one. */
export function faultInWhole(body: unknown): Fault | null {
  if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
  if (
    isObject(body.error) ||
    typeof body.error === 'string' ||
    body.status === 'failed' ||
    body.status === 'cancelled'
  ) {
    return faultInside(body);
  }
  if (!Array.isArray(body.output)) return fault('malformed', "the answer has no 'output'");
  return null;
}

/** Why it ended, after so many `calls` of functions. */
export function reasonOf(response: JsonObject, calls: number): FinishReason {
  const details = isObject(response.incomplete_details) ? response.incomplete_details.reason : null;
  if (response.status === 'incomplete' || typeof details === 'string') {
    return details === 'content_filter' ? 'content-filter' : 'length';
  }
  return calls > 0 ? 'tool-calls' : 'stop';
}

/** Work of a tool that the provider runs: `web_search_call`, `mcp_list_tools`, `image_generation_call` and those to come. */
export function isHosted(type: string): boolean {
  return type !== 'message' && type !== 'reasoning' && type !== '';
}
