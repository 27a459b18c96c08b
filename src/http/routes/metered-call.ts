import type { Principal } from '../../auth/principal.ts';
import type { Delivery } from '../../inference/spine/sink.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { Admitted } from '../../metering/admission.ts';
import type { Exchange } from '../exchange.ts';
import { tagOf } from '../tag.ts';

/** A metered call of vectors or tools, which answer without a model. */
export interface MeteredCall {
  requestId: string;
  clientRequestId: string | null;
  principal: Principal;
  admitted: Admitted;
  client: Delivery;
  tag: string | null;
  /** Null: nobody traces it. */
  trace: Trace | null;
  /** Wall-clock and monotonic ms of arrival. */
  atMs: number;
  startedMs: number;
}

/** Principal of a route with `auth: 'key'`, once admitted. */
export function meteredCallOf(exchange: Exchange): MeteredCall {
  const { requestId, clientRequestId, atMs, startedMs, trace } = exchange;
  const { principal, admitted, client } = exchange;
  const tag = tagOf(exchange.request.headers);
  return {
    requestId,
    clientRequestId,
    principal: principal!,
    admitted: admitted!,
    client,
    tag,
    trace,
    atMs,
    startedMs,
  };
}

/** How such a call is settled. */
interface CallEnd {
  /** The answer for the caller. */
  status: number;
  failure: Failure | null;
  aborted: boolean;
}

/** Assumed until it is known better. */
export const unexpected: CallEnd = { status: 500, failure: { kind: 'internal' }, aborted: false };
export const left: CallEnd = { status: 499, failure: null, aborted: true };
