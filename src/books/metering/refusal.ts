import { blankEvent } from '../ledger/columns.ts';
import type { RefusedSource } from '../ledger/settled-request.ts';
import type { UsageEvent } from './ledger.ts';

/** Owner of the setting that refused a request, so that an operator finds where to change it. */
export interface RefusedBy {
  kind: 'plan' | 'key' | 'model' | 'guard' | 'rule';
  /** The key's id, or the name of the others. */
  name: string;
}

/** A request that was answered with an error before anything was held for it: no reservation, no cost. */
export interface Refusal {
  requestId: string;
  clientRequestId: string | null;
  /** Wall-clock ms of arrival, and how long the answer took. */
  atMs: number;
  ms: number;
  /** '' where no key was recognised; so are the two below. */
  account: string;
  keyId: string;
  tenant: string;
  /** Endpoint as the ledger names it, or the path that the route table knows; '' when there is none. */
  endpoint: string;
  /** The model it asked for; '' where that was not known yet. */
  model: string;
  status: number;
  /** The failure's kind. */
  reason: string;
  /** The limit of a 429; '' otherwise. */
  limit: string;
  /** The caller's message, cut to `refusalMessageMax` characters. */
  message: string;
  /** Null: no setting did, as for a body that cannot be read. */
  by: RefusedBy | null;
  /** Null: nobody traces it. */
  traceId: string | null;
}

export const refusalMessageMax = 500;

/** A refusal in the ledger, among the requests that ran. */
export function refusalEvent({ model, reason, limit, message, by, traceId: _, ...further }: Refusal): UsageEvent {
  const { atMs, ms } = further;
  return {
    ...blankEvent,
    ...further,
    alias: model,
    quotaMs: atMs,
    settledMs: atMs + ms,
    class: reason,
    usageSource: 'refused' satisfies RefusedSource,
    route: { attempts: [], refused: { message, ...(limit === '' ? {} : { limit }), ...(by === null ? {} : { by }) } },
  };
}
