import type { Principal } from '../../auth/principal.ts';
import type { Delivery } from '../../inference/spine/sink.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { Admitted } from '../../metering/admission.ts';
import type { Exchange } from '../exchange.ts';
import { tagOf } from '../tag.ts';

/** A call of what answers by itself, vectors or tools, as its meter knows it. */
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

/** Of a route with `auth: 'key'` that was admitted. */
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
  /** What the caller gets. */
  status: number;
  failure: Failure | null;
  aborted: boolean;
}

/** Until it is known better. */
export const unexpected: CallEnd = { status: 500, failure: { kind: 'internal' }, aborted: false };
export const left: CallEnd = { status: 499, failure: null, aborted: true };

/** What was held is not what it costs: a refused call costs nothing, and says so. */
export function withCost(headers: readonly string[], units: number): string[] {
  return headers.map((value, at) => (headers[at - 1] === 'x-culvert-cost' && at % 2 === 1 ? String(units) : value));
}
