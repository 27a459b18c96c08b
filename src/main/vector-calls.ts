import type { Principal } from '../auth/principal.ts';
import type { Services } from '../inference/endpoints/services.ts';
import { createVectorMeter } from '../inference/metered/meter-vectors.ts';
import { admittedBefore } from '../inference/spine/model-call.ts';
import { type Failure, statusOf } from '../kernel/failure.ts';
import { newRequestId } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { VectorAnswer, VectorEngine } from '../vectors/engine.ts';
import type { VectorVerb } from '../vectors/verbs.ts';

/** A call of the vector API that this gateway makes for a key's owner. */
export interface OwnVectorCall {
  principal: Principal;
  verb: VectorVerb;
  /** Path parameters. */
  params: Readonly<Record<string, string>>;
  body: JsonObject | null;
  /** What it is part of, as traces name it. */
  route: string;
  /** The request that it is made for, and the tag of that one; absent: none. */
  of?: { requestId: string; tag: string | null };
}

/** The path of a vector call (http/routes/vector-call), for which nobody waits: the owner's own, at the same cost. */
export function createVectorCalls({ engine, services }: { engine: VectorEngine; services: Services }) {
  const { clock } = services;
  const meter = createVectorMeter(services);

  return async ({ principal, verb, params, body, route, of }: OwnVectorCall): Promise<VectorAnswer | Failure> => {
    const { tenant, account, keyId } = principal;
    const bytes = body === null ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(body));
    // Its memory may go to the thread.
    const bodyBytes = bytes.length;
    const prepared = await engine.prepare({ owner: { tenant, account }, verb, params, search: '', body: bytes });
    if (prepared.kind !== 'prepared') return prepared;
    const atMs = clock.wallMs();
    const startedMs = clock.monotonicMs();
    const requestId = newRequestId(atMs);
    const trace = services.traces?.begin({ atMs, startedMs, headers: null }) ?? null;
    const endTrace = (status: number) =>
      trace?.end({ requestId, method: null, route, status, account, keyId, about: null }, clock.monotonicMs());
    const call = { requestId, principal, admitted: admittedBefore, trace, atMs, startedMs };
    const { texts, rerank, effect } = prepared;
    const needs = { texts, rerank, effect, bodyBytes };
    const held = await meter
      .hold({ ...call, clientRequestId: of?.requestId ?? null, tag: of?.tag ?? null }, needs)
      .catch((error: unknown) => {
        prepared.drop();
        endTrace(500);
        throw error;
      });
    if (held.kind !== 'held') {
      prepared.drop();
      endTrace(statusOf(held));
      return held;
    }
    let failure: Failure | null = { kind: 'internal' };
    try {
      const embedded = prepared.texts === null ? null : await held.embed();
      if (embedded !== null && 'kind' in embedded) {
        prepared.drop();
        failure = embedded;
        return failure;
      }
      const answer = await prepared.run(embedded, ({ texts }) => held.rank(texts));
      failure = answer.kind === 'answer' ? null : answer;
      return answer;
    } finally {
      const status = failure === null ? 200 : statusOf(failure);
      held.settle({ status, failure, aborted: false });
      endTrace(status);
    }
  };
}
