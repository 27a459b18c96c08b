import type { BatchRun } from './batch-parts.ts';

/** Why nobody wants further lines of a batch. */
export type Over = 'cancelled' | 'expired';

/** How often it is looked whether its caller has cancelled it: less often in a batch that takes hours. */
const lookMsFirst = 1_000;
const lookMsMax = 10_000;
const lookGrowth = 1.1;

/** Aborted, with an `Over`, once nobody wants further lines of the batch. Looked at once before it resolves. */
export async function watchEnd(run: BatchRun): Promise<{ over: AbortSignal; stop(): void }> {
  const watched = new AbortController();
  const look = async () => {
    const why = await whyOver(run);
    if (why !== null) watched.abort(why);
  };
  let timer: NodeJS.Timeout;
  const lookAgain = (afterMs: number) => {
    timer = setTimeout(() => {
      void look();
      lookAgain(Math.min(lookMsMax, afterMs * lookGrowth));
    }, afterMs);
  };
  await look();
  lookAgain(lookMsFirst);
  return { over: watched.signal, stop: () => clearTimeout(timer) };
}

async function whyOver({ batch, store, clock }: BatchRun): Promise<Over | null> {
  if (clock.wallMs() >= batch.deadlineMs) return 'expired';
  const now = await store.findBatch(batch.tenant, batch.id, clock.wallMs()).catch(() => null);
  return now !== null && now.cancellingMs !== null ? 'cancelled' : null;
}
