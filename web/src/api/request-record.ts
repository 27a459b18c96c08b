import type { Caller } from './caller.ts';
import { get } from './request.ts';

/** Answer of `/v1/requests/{id}`: the record of a call. */
export interface RequestRecord {
  id: string;
  target: string | null;
  status: number;
  class: string;
  ms: number;
  first_token_ms: number | null;
  usage: Record<string, number | string | null> & { input_tokens?: number; output_tokens?: number };
  units: number;
  cost_usd: number | null;
  route: { losses?: readonly { field: string; why: string }[]; attempts?: readonly unknown[] } | null;
}

/** A call is written down a moment after its end. */
const retryDelaysMs = [0, 300, 1_200, 4_000];

/** The ledger's record of a call that has just ended; null when it has none in time. */
export async function recordOf(id: string, caller: Caller): Promise<RequestRecord | null> {
  for (const ms of retryDelaysMs) {
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    try {
      return await get<RequestRecord>(`/v1/requests/${id}`, {}, undefined, caller.headers);
    } catch {
      // It may still be running, or Culvert may be gone; the answer is there without its cost.
    }
  }
  return null;
}
