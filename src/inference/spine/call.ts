import type { Principal } from '../../books/auth/principal.ts';
import type { Admitted } from '../../books/metering/admission.ts';
import type { Clock } from '../../kernel/clock.ts';
import { statusOf } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import { defaultPreferences, type RoutingPreferences } from '../../routing/route.ts';
import type { ServeServices } from './answer-cache.ts';
import { BufferedAnswer, bufferAnswer, type Outcome } from './buffered-answer.ts';
import type { Endpoint, Plan } from './endpoint.ts';
import type { ChargedCall } from './held-call.ts';
import { admittedBefore, type ModelCall, type RunCall } from './model-call.ts';
import type { RequestBody } from './request-body.ts';
import { serve } from './serve.ts';
import type { Client } from './sink.ts';
import type { ReadRequest, WorkEndpoint, WorkPlan } from './work.ts';

/** For whom Culvert makes a call itself: a page of a crawl, a line of a batch, a step of a session, a tool's call. */
export interface CallOwner {
  principal: Principal;
  /** Absent: it was admitted when its work began. */
  admitted?: Admitted;
  /** Absent: a new one. */
  requestId?: string;
  /** Id by which the calls of one piece of work are found; null or absent: none. */
  of?: string | null;
  /** Tag by which its use is summed. */
  tag?: string | null;
  /** Headers of the caller, of which an allow-list reaches an upstream. */
  headers?: Readonly<Record<string, string | string[] | undefined>>;
}

export interface CallBounds {
  /** Leaves the call: what has run is charged as for a caller who left. Absent: it runs to its end. */
  signal?: AbortSignal;
  /** Absent: of no caller. */
  preferences?: Partial<RoutingPreferences>;
  /** Name of the trace that the call begins and ends, and what it is about; absent: it has none. */
  traced?: { route: string; about?: string };
  /** Takes the answer; absent: it is kept whole. */
  client?: BufferedAnswer;
  /** For a provider's own batch API; absent: it is asked now. */
  batched?: ChargedCall['batched'];
}

/** A call that Culvert makes, which begins now. */
export function insideCall(
  clock: Pick<Clock, 'wallMs' | 'monotonicMs'>,
  { principal, admitted, requestId, of = null, tag = null }: CallOwner,
): ChargedCall {
  const atMs = clock.wallMs();
  return {
    requestId: requestId ?? newRequestId(atMs),
    clientRequestId: of,
    principal,
    admitted: admitted ?? { ...admittedBefore },
    tag,
    trace: null,
    atMs,
    startedMs: clock.monotonicMs(),
  };
}

/** Work within a call whose reservation stays open: texts that a search embeds or ranks. */
export type WithinCall = Pick<ModelCall, 'requestId' | 'principal' | 'atMs' | 'startedMs' | 'trace'> & {
  /** Its end ends the work; absent: nobody waits. */
  client?: Client;
};

/** The facts for attempts of such work, whose answer is kept. */
export function bufferedWithin(call: WithinCall, answer: BufferedAnswer): RunCall {
  return { ...call, client: call.client ?? answer, sink: answer, callerHeaders: {}, preferences: defaultPreferences };
}

/**
 * Asks an endpoint of this gateway as the owner's key could, planned, limited and charged as such. Null when it was left
 * before its end. Rejects only for a fault of ours.
 */
export async function call<
  I,
  R extends RequestBody,
  P extends Plan,
  W extends ReadRequest = ReadRequest,
  Q extends WorkPlan = WorkPlan,
>(
  services: ServeServices,
  endpoint: Endpoint<I, R, P> | WorkEndpoint<I, W, Q>,
  owner: CallOwner,
  input: I,
  { signal, preferences, traced, client = new BufferedAnswer(), batched }: CallBounds,
): Promise<Outcome | null> {
  const { clock, traces } = services;
  const inside = insideCall(clock, owner);
  const { requestId, atMs, startedMs, principal } = inside;
  const trace = traced === undefined ? undefined : traces?.begin({ atMs, startedMs, headers: null });
  try {
    return await bufferAnswer(signal, client, () =>
      serve(
        services,
        endpoint,
        {
          ...inside,
          trace: trace ?? null,
          delivery: client,
          client,
          sink: client,
          callerHeaders: owner.headers ?? {},
          preferences: preferences === undefined ? defaultPreferences : { ...defaultPreferences, ...preferences },
          idempotencyKey: null,
          batched,
        },
        input,
      ),
    );
  } finally {
    if (trace !== undefined && traced !== undefined) {
      const { account, keyId } = principal;
      const { route, about = null } = traced;
      const status = statusIn(client.outcome);
      const ids = { requestId, clientRequestId: inside.clientRequestId, account, keyId };
      trace.end({ ...ids, method: null, route, status, about }, clock.monotonicMs());
    }
  }
}

function statusIn(outcome: Outcome | null): number {
  if (outcome === null) return 502;
  return outcome.kind === 'answered' ? outcome.status : statusOf(outcome.failure);
}
