import type { Clock } from '../../../kernel/clock.ts';
import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { WorkTurns } from '../../../kernel/sharing/work-turns.ts';
import type { CallBounds } from '../call-bounds.ts';
import type { Steps } from '../index/resumable-steps.ts';
import { overloaded } from '../storage-trouble.ts';
import { type AnswerBudget, createAnswerBudget } from './answer-budget.ts';

/** A batch that takes no longer is done before other calls of its tenant. */
const shortBatchMs = 20;
/** Time that all queries of a batch may take of the thread, without the turns of others. */
const batchWorkMs = 60_000;

/** Batches of more than that time that run at once, because their results take memory; one tenant may have one. */
const longMax = 2;

/** The queries of calls, in the turns of their tenants, so that no call keeps the thread from those of others. */
export type QueryBatches = ReturnType<typeof createQueryBatches>;

export function createQueryBatches(clock: Pick<Clock, 'monotonicMs'>, bounds: CallBounds, turns: WorkTurns) {
  let closed = false;
  /** Tenants whose long batch is under way. */
  const running = new Set<string>();
  /** In order of arrival; as many as there may be calls in the thread. */
  const waiting: { tenant: string; start(): void }[] = [];

  function startNext(): void {
    if (running.size >= longMax) return;
    const next = waiting.find(({ tenant }) => !running.has(tenant));
    if (next === undefined) return;
    waiting.splice(waiting.indexOf(next), 1);
    running.add(next.tenant);
    next.start();
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

  /** The result of a query, with the time that it took; null when that is more than it may take. */
  async function inSteps<Found>(
    tenant: string,
    steps: Steps<Found>,
    workMaxMs: number,
  ): Promise<{ found: Found; workMs: number } | null> {
    let workMs = 0;
    let startMs = clock.monotonicMs();
    try {
      for (;;) {
        if (closed) throw overloaded('The vector store is stopping. Retry it.');
        const step = steps.next();
        const nowMs = clock.monotonicMs();
        if (step.done) return { found: step.value, workMs: workMs + nowMs - startMs };
        if (!turns.isOver()) continue;
        workMs += nowMs - startMs;
        if (workMs > workMaxMs) return null;
        await turns.suspend(tenant);
        startMs = clock.monotonicMs();
      }
    } finally {
      // Ends what it reads where it did not come to its end.
      steps.return(undefined as never);
    }
  }

  /** All before other calls of the tenant; null when that takes too long, and no result of it is kept. */
  async function inOneGo<Query, Found>(
    tenant: string,
    queries: readonly Query[],
    one: (query: Query, budget: AnswerBudget) => Steps<Found>,
  ): Promise<Found[] | null> {
    const budget = createAnswerBudget(bounds);
    let leftMs = queries.length === 1 ? Number.POSITIVE_INFINITY : shortBatchMs;
    const found: Found[] = [];
    for (const query of queries) {
      if (leftMs <= 0) return null;
      if (found.length > 0 && turns.isOver()) await turns.suspend(tenant);
      const result = await inSteps(tenant, one(query, budget), leftMs);
      if (result === null) return null;
      found.push(result.found);
      leftMs -= result.workMs;
    }
    return found;
  }

  async function inTurns<Query, Found>(
    tenant: string,
    queries: readonly Query[],
    one: (query: Query, budget: AnswerBudget) => Steps<Found>,
  ): Promise<Found[]> {
    const budget = createAnswerBudget(bounds);
    const found: Found[] = [];
    let workMs = 0;
    for (const query of queries) {
      if (workMs >= batchWorkMs) {
        const message = `searches: ${found.length} of ${queries.length} took ${batchWorkMs / 1_000} s, the longest time of a call. Send fewer at once.`;
        throw new FailureError(invalid('searches', message));
      }
      const waits = turns.goOn(tenant);
      if (waits !== null) await waits;
      const result = await inSteps(tenant, one(query, budget), Number.POSITIVE_INFINITY);
      found.push(result!.found);
      workMs += result!.workMs;
    }
    return found;
  }

  return {
    /**
     * `one` begins a query. Between its steps no other call of the tenant runs; others come in between the queries of a
     * long batch. Rejects with an error of `one`, or a FailureError: 400 for a batch that takes too long.
     */
    async run<Query, Found>(
      tenant: string,
      queries: readonly Query[],
      one: (query: Query, budget: AnswerBudget) => Steps<Found>,
    ): Promise<readonly Found[]> {
      const waits = turns.goOn(tenant);
      if (waits !== null) await waits;
      const found = await inOneGo(tenant, queries, one);
      return found ?? long(tenant, () => inTurns(tenant, queries, one));
    },
    /** Queries that have not ended are refused (503) at their next step. */
    close(): void {
      closed = true;
    },
  };
}
