import type { JsonObject } from '../kernel/json.ts';
import { putNewest } from '../kernel/put-newest.ts';
import { createTurns } from '../kernel/sharing/turns.ts';
import { createTimedThreads } from '../kernel/threads/timed-thread.ts';
import type { SchemaOrder } from './schema-check-worker.ts';

const waitingMax = 256;
const waitingBytesMax = 16 * 1024 * 1024;
/** Limit of a check: schemas and answers are callers', and both can be made to take for ever. */
const workMaxMs = 1_000;
/** Limit of waiting: longer than what is under way can take, and what is next. */
const waitMaxMs = 3_000;
/** Limit of a thread's loading, once a minute at most. An answer that comes late is better than one that nobody checked. */
const loadWaitMaxMs = 10_000;
const threadsMax = 2;
/** Checks of a tenant that took longer than this make it slow, for so long. */
const slowAfterMs = 250;
const slowForMs = 60_000;
/** Slow tenants that are remembered. */
const slowMax = 1_000;

/**
 * Says whether texts meet JSON schemas, in separate threads, each started when it is needed. Slow tenants share one of
 * the threads: however many they are, another tenant finds one. `loadWaitMs` bounds how long a check waits for its
 * thread to load, which takes more than a second on a busy machine.
 */
export type SchemaCheck = ReturnType<typeof createSchemaCheck>;

export function createSchemaCheck(loadWaitMs = loadWaitMaxMs) {
  const entry = new URL('./schema-check-worker.ts', import.meta.url);
  const threads = createTimedThreads(threadsMax, entry, 'thread that checks schemas', { workMaxMs, loadWaitMs });
  const slow = createSlowTenants();
  const mayTake = slow.mayTake;
  const turns = createTurns({ name: 'Answers to check', places: threadsMax, waitingMax, waitingBytesMax, mayTake });
  return {
    /** `why` the text does not meet the schema, null when it does; or null, when nobody could tell in time. */
    async look(tenant: string, text: string, schema: JsonObject): Promise<{ why: string | null } | null> {
      const turn = await turns.take(tenant, AbortSignal.timeout(waitMaxMs), text.length).catch(() => null);
      if (turn === null) return null;
      const took = slow.began(tenant);
      try {
        const order: Omit<SchemaOrder, 'id'> = { text, schema };
        const why = await threads.run<string>(order);
        return why === null ? null : { why: why || null };
      } catch {
        // A schema that cannot be read says nothing of the answer.
        return null;
      } finally {
        took();
        turn.giveBack();
      }
    },
    close: threads.close,
  };
}

/** Tenants whose last check took long. */
function createSlowTenants() {
  /** Until when (monotonic ms), the one marked last at the end. */
  const until = new Map<string, number>();
  /** The slow tenant that has a thread. */
  let holder: string | null = null;
  const isSlow = (tenant: string) => (until.get(tenant) ?? 0) > performance.now();
  return {
    mayTake: (tenant: string) => holder === null || !isSlow(tenant),
    /** A check of the tenant began; the result ends it. */
    began(tenant: string): () => void {
      const beganMs = performance.now();
      if (isSlow(tenant)) holder = tenant;
      return () => {
        if (holder === tenant) holder = null;
        until.delete(tenant);
        const endMs = performance.now();
        if (endMs - beganMs < slowAfterMs) return;
        putNewest(until, tenant, endMs + slowForMs, slowMax);
      };
    },
  };
}
