import type { Held, Spent } from '../../books/metering/counters.ts';
import { every } from '../../kernel/every.ts';
import type { Turns } from './operation-turns.ts';
import type { Plans } from './plans.ts';
import type { Seeding } from './seeding.ts';
import type { Takes } from './takes.ts';

/** Settlements that did not reach Redis; above it the oldest are left to the sweep, which reads the ledger. */
const pendingMax = 10_000;

/** By then the ledger has the end of the request, or gives it up: the sweep knows more than we do. */
const pendingMaxMs = 60_000;

const retryEveryMs = 500;

/** Settlements tried again at once. */
const retriesAtOnceMax = 32;

const needsSeed = 3;

/** The parts of a hold that Redis needs to find it again. */
export type Ended = Pick<Held, 'requestId' | 'account' | 'scopes'>;

/** Reports to Redis what requests came to: pipelined, never waited for, and again until it is known to be done. */
export type Settlements = ReturnType<typeof createSettlements>;

export function createSettlements(
  link: { ready(): boolean; turns: Turns; takes: Takes; plans: Pick<Plans, 'settle'> },
  seeding: Seeding,
  nowMs: () => number,
) {
  const pending = new Map<string, { held: Ended; spent: Spent; sinceMs: number }>();
  let retrying = false;
  const close = every(retryEveryMs, () => void retry());

  function keep(held: Ended, spent: Spent): void {
    const known = pending.get(held.requestId);
    pending.set(held.requestId, known ?? { held, spent, sinceMs: nowMs() });
    if (pending.size > pendingMax) for (const [oldest] of pending) return void pending.delete(oldest);
  }

  /** True once Redis has done it, or knows nothing of the request. */
  async function report({ requestId, account, scopes }: Ended, spent: Spent): Promise<boolean> {
    const taken = link.takes.reported(requestId);
    if (taken !== true && !(await taken)) return false;
    for (let seeded = false; ; seeded = true) {
      const values = [requestId, String(spent.costMilli), String(spent.tokens), String(spent.usdNano)];
      const { answer } = await link.turns.ask('settle', link.plans.settle(account, scopes), values);
      if (typeof answer === 'string') return false;
      if (answer[0] !== needsSeed) return true;
      // Only the ledger's snapshot tells whether the seed will count this request as running: asked again after it.
      if (seeded || !(await seeding.ensure(account, scopes))) return false;
    }
  }

  async function retry(): Promise<void> {
    if (retrying || !link.ready()) return;
    retrying = true;
    try {
      const work = [...pending.entries()].values();
      const one = async () => {
        for (const [requestId, { held, spent, sinceMs }] of work) {
          if (!link.ready()) return;
          if ((await report(held, spent)) || nowMs() - sinceMs > pendingMaxMs) {
            pending.delete(requestId);
            link.takes.forget(requestId);
          }
        }
      };
      await Promise.all(Array.from({ length: Math.min(retriesAtOnceMax, pending.size) }, one));
    } finally {
      retrying = false;
    }
  }

  return {
    settle(held: Ended, spent: Spent): void {
      void report(held, spent).then((done) => {
        if (done) link.takes.forget(held.requestId);
        else keep(held, spent);
      });
    },
    onReady: (): void => void retry(),
    close,
  };
}
