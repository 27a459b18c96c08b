import type { PostWebhook } from '../inference/transport/post-webhook.ts';
import type { Clock } from '../kernel/clock.ts';
import { newRequestId } from '../kernel/ids.ts';
import type { TracedStep, Traces } from '../kernel/trace.ts';
import type { Admission, Reservation, Settlement } from '../metering/admission.ts';

/** The same admission, whose calls of the stores are steps of their request's trace. Used only when somebody traces. */
export function tracedAdmission(admission: Admission, clock: Pick<Clock, 'monotonicMs'>): Admission {
  return {
    admit: admission.admit,
    reserve(claim) {
      const { trace } = claim;
      if (trace === null) return admission.reserve(claim);
      const startedMs = clock.monotonicMs();
      const noted = (answer: Reservation | { kind: string }) => {
        const error = answer.kind === 'reserved' ? null : answer.kind;
        trace.step(stepOf('reserve', startedMs, clock, error));
      };
      const asked = admission.reserve(claim);
      if (!(asked instanceof Promise)) {
        noted(asked);
        return asked;
      }
      return asked.then((answer) => {
        noted(answer);
        return answer;
      });
    },
  };
}

/** The same settlement, likewise. The step covers the request's part; the commit comes after it. */
export function tracedSettlement(settlement: Settlement, clock: Pick<Clock, 'monotonicMs'>): Settlement {
  return {
    settle(reservation, facts) {
      const { trace } = facts.claim;
      if (trace === null) return settlement.settle(reservation, facts);
      const startedMs = clock.monotonicMs();
      const event = settlement.settle(reservation, facts);
      if (event !== null) trace.step(stepOf('settle', startedMs, clock, null));
      return event;
    },
  };
}

/** The same webhook, each call of which is a trace of its own. Of its address the path may be a secret. */
export function tracedPost(post: PostWebhook, traces: Traces | null, clock: Clock): PostWebhook {
  if (traces === null) return post;
  return async (url, headers, body, timeoutMs) => {
    const atMs = clock.wallMs();
    const trace = traces.begin({ atMs, startedMs: clock.monotonicMs(), headers: null });
    // Where no time is given.
    let status = 504;
    try {
      status = await post(url, headers, body, timeoutMs);
      return status;
    } finally {
      const what = { method: null, route: 'webhook', status, account: '', keyId: '', about: new URL(url).origin };
      trace.end({ requestId: newRequestId(atMs), ...what }, clock.monotonicMs());
    }
  };
}

function stepOf(name: string, startedMs: number, clock: Pick<Clock, 'monotonicMs'>, error: string | null): TracedStep {
  return { name, startedMs, endedMs: clock.monotonicMs(), error };
}
