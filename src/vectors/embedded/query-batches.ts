import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import { type AnswerBudget, createAnswerBudget } from './answer-budget.ts';
import type { CallBounds } from './call-bounds.ts';
import { overloaded } from './storage-trouble.ts';

/** Queries of one batch are done in one turn of the thread until this much has passed; then others come in between. */
const turnMs = 20;
/** Time that all queries of a batch may take of the thread, without the turns of others. */
const batchWorkMs = 60_000;

/** Batches of more than one turn that run at once, because their results take memory; one tenant may have one. */
const longMax = 2;

/** The queries of calls, so that no call keeps the thread from the others for longer than one query takes. */
export interface QueryBatches {
  /** Rejects with an error of `one`, or a FailureError: 400 for a batch that takes too long. */
  run<Query, Found>(
    tenant: string,
    queries: readonly Query[],
    one: (query: Query, budget: AnswerBudget) => Found,
  ): Promise<readonly Found[]>;
  /** Batches that have not ended are refused (503) at their next query. */
  close(): void;
}

export function createQueryBatches(clock: Pick<Clock, 'monotonicMs'>, bounds: CallBounds): QueryBatches {
  let closed = false;
  /** Tenants whose long batch is under way. */
  const running = new Set<string>();
  /** In order of arrival; as many as there may be calls in the thread. */
  const waiting: { tenant: string; start(): void }[] = [];

  function startNext(): void {
    if (running.size >= longMax) return;
    const at = waiting.findIndex(({ tenant }) => !running.has(tenant));
    if (at === -1) return;
    const [next] = waiting.splice(at, 1);
    running.add(next!.tenant);
    next!.start();
    startNext();
  }

  /** When it is the tenant's turn. */
  async function long<Found>(tenant: string, work: () => Promise<Found>): Promise<Found> {
    await new Promise<void>((start) => {
      waiting.push({ tenant, start });
      startNext();
    });
    try {
      return await work();
    } finally {
      running.delete(tenant);
      startNext();
    }
  }

  /** All in this turn; null when that takes too long, and no result of it is kept. */
  function inOneTurn<Query, Found>(
    queries: readonly Query[],
    one: (query: Query, budget: AnswerBudget) => Found,
  ): Found[] | null {
    const budget = createAnswerBudget(bounds);
    const endMs = clock.monotonicMs() + turnMs;
    const found: Found[] = [];
    for (const query of queries) {
      if (found.length > 0 && clock.monotonicMs() >= endMs) return null;
      found.push(one(query, budget));
    }
    return found;
  }

  async function inTurns<Query, Found>(
    queries: readonly Query[],
    one: (query: Query, budget: AnswerBudget) => Found,
  ): Promise<Found[]> {
    const budget = createAnswerBudget(bounds);
    const found: Found[] = [];
    let workMs = 0;
    let startMs = clock.monotonicMs();
    for (const query of queries) {
      const spentMs = clock.monotonicMs() - startMs;
      if (workMs + spentMs >= batchWorkMs) {
        const message = `searches: ${found.length} of ${queries.length} took ${batchWorkMs / 1_000} s, the longest time of a call. Send fewer at once.`;
        throw new FailureError(invalid('searches', message));
      }
      if (spentMs >= turnMs) {
        workMs += spentMs;
        await nextTurn();
        startMs = clock.monotonicMs();
      }
      if (closed) throw overloaded('The vector store is stopping. Retry it.');
      found.push(one(query, budget));
    }
    return found;
  }

  return {
    async run(tenant, queries, one) {
      return inOneTurn(queries, one) ?? long(tenant, () => inTurns(queries, one));
    },
    close() {
      closed = true;
    },
  };
}
