import assert from 'node:assert/strict';
import type { Principal } from '../auth/principal.ts';
import { configSchema } from '../config/schema.ts';
import { fakeClock } from '../kernel/clock.ts';
import { type Failure, FailureError, type QuotaExceeded } from '../kernel/failure.ts';
import type { Admission, Admitted, Claim, Reservation } from './admission.ts';
import type { ReservationRow } from './ledger.ts';
import { MemoryCounters } from './memory-counters.ts';
import { createPlanBook } from './plan-book.ts';
import { createLimitedAdmission, createSettledLimits } from './quota.ts';

export const startMs = Date.parse('2026-01-02T03:00:00Z');
/** A caller without limits of its own. */
export const alone: Principal = {
  keyId: 'k',
  keyName: 'laptop',
  tenant: 'dev/laptop',
  account: 'dev',
  plan: 'p',
  allowedModels: null,
  limits: null,
};

export interface Asked {
  tier?: string | null;
  costMilli?: number;
  principal?: Principal;
}

/** An admission over real counters, a ledger that can be broken, and a clock that the test moves. */
export function metered(plan: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const clock = fakeClock(startMs);
  const rows: ReservationRow[] = [];
  const seen: string[] = [];
  let book = createPlanBook({ config: configSchema.parse({ plans: { p: plan }, ...more }), stored: [] });
  let ledgerFailure: Failure | null = null;
  const counters = new MemoryCounters({ clock, books: { buckets: () => [], recentCalls: () => [] } });
  const observe = (_: unknown, limits: readonly { id: string }[], states: readonly { used: number }[]) =>
    void seen.push(limits.map(({ id }, i) => `${id} ${states[i]?.used}`).join(', '));
  const admission: Admission = createLimitedAdmission({
    counters,
    plans: () => book,
    bootId: 'boot-1',
    clock,
    observe,
    ledger: {
      async open(row) {
        if (ledgerFailure !== null) throw new FailureError(ledgerFailure);
        rows.push(row);
      },
    },
  });
  let ids = 0;
  const admit = (principal = alone) => {
    const arrival = { requestId: `req_${++ids}`, form: 'openai' } as const;
    return admission.admit(principal, 'one', arrival) as Admitted | Failure;
  };
  const claimOf = (admitted: Admitted, { tier = null, costMilli = 1_000, principal = alone }: Asked): Claim => ({
    requestId: `req_${ids}`,
    principal,
    admitted,
    endpoint: 'chat',
    alias: 'small',
    tier,
    costMilli,
    inputTokensEstimate: 10,
    atMs: clock.wallMs(),
    trace: null,
  });
  return {
    clock,
    rows,
    seen,
    counters,
    admission,
    admit,
    claimOf,
    settled: createSettledLimits({ counters, plans: () => book, observe }),
    change: (next: Record<string, unknown>) => {
      book = createPlanBook({ config: configSchema.parse({ plans: { p: next }, ...more }), stored: [] });
    },
    breakLedger: (failure: Failure | null) => {
      ledgerFailure = failure;
    },
    async reserve(asked: Asked = {}): Promise<Reservation | Failure> {
      const admitted = admit(asked.principal);
      if (admitted.kind !== 'admitted') return admitted;
      try {
        return await admission.reserve(claimOf(admitted, asked));
      } finally {
        admitted.release();
      }
    },
  };
}

export function exceeded(answer: { kind: string }): QuotaExceeded {
  assert.equal(answer.kind, 'quota-exceeded', JSON.stringify(answer));
  return answer as QuotaExceeded;
}

/** Value in a flat list: name, value… */
export function shownHeaders(list: readonly string[]): Record<string, string> {
  return Object.fromEntries(list.flatMap((text, i) => (i % 2 === 0 ? [[text, list[i + 1]!]] : [])));
}
