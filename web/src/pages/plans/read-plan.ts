import type { PlanReply } from '../../../../src/admin/entries/plans.ts';
import { plans } from '../../api/entries.ts';
import { get } from '../../api/request.ts';
import { isMissing } from '../../parts/error-note.tsx';

/** A plan as the server has it now; null: there is none of this name. */
export async function planOrNone(name: string, signal?: AbortSignal): Promise<PlanReply | null> {
  try {
    return await get<PlanReply>(plans.addressOf(name), {}, signal);
  } catch (error) {
    if (isMissing(error as Error)) return null;
    throw error;
  }
}
