import type { Clock } from '../../kernel/clock.ts';
import type { TracedStep } from '../../kernel/trace.ts';
import type { Admission, Reservation, Settlement } from './admission.ts';

/** The same admission, whose calls of the stores are steps of their request's trace. Used only if traces are on. */
export function tracedAdmission(admission: Admission, clock: Pick<Clock, 'monotonicMs'>): Admission {
  return {
    admit: admission.admit,
    left: admission.left,
    reserve(claim) {
      const { trace } = claim;
      if (trace === null) return admission.reserve(claim);
      const startedMs = clock.monotonicMs();
      const noted = (answer: Reservation | { kind: string }) => {
        const error = answer.kind === 'reserved' ? null : answer.kind;
        trace.step(stepOf('reserve', startedMs, clock, error));
      };
      const outcome = admission.reserve(claim);
      if (!(outcome instanceof Promise)) {
        noted(outcome);
        return outcome;
      }
      return outcome.then((answer) => {
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

function stepOf(name: string, startedMs: number, clock: Pick<Clock, 'monotonicMs'>, error: string | null): TracedStep {
  return { name, startedMs, endedMs: clock.monotonicMs(), error };
}
