import type { Clock } from '../../kernel/clock.ts';
import type { Database, Run } from './database.ts';

/** A boot says that it lives this often; while PostgreSQL is away it asks for it faster. */
const beatIntervalMs = 5_000;
const lostBeatIntervalMs = 1_000;
/** Longer silent than this, a boot is over (design §11). */
const silentMs = 30_000;
/**
 * Whoever judges by silence must have heard the others beat for two beats without a break: after an outage everybody
 * has been silent, the living too.
 */
const watchMs = 2 * beatIntervalMs;
/** Rows of boots that left nothing behind. */
const forgottenAfterMs = 24 * 3_600_000;

/** The database's own wall clock in ms: the one clock that all replicas share. */
export const databaseNowMs = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** SQL: whether the boot in this column is over. One that shut down has said so (`seen_ms` 0), at once. */
export function bootIsOver(column: string): string {
  return `NOT EXISTS (
    SELECT 1 FROM culvert.boot WHERE boot.id = ${column} AND boot.seen_ms > ${databaseNowMs} - ${silentMs})`;
}

/** SQL: whether it said itself that it is over, or never was. */
export function bootSaidGoodbye(column: string): string {
  return `NOT EXISTS (SELECT 1 FROM culvert.boot WHERE boot.id = ${column} AND boot.seen_ms > 0)`;
}

export interface Boots {
  /** Resolves once this boot is known to be living; rejects when PostgreSQL cannot be written. */
  begin(): Promise<void>;
  /** Whether `bootIsOver` may be believed; `bootSaidGoodbye` always may. */
  mayJudgeSilence(): boolean;
  /** How many live by now, this one included. Rejects when PostgreSQL cannot be asked. */
  living(): Promise<number>;
  /** Says goodbye: whatever this boot left open is over at once. */
  end(): Promise<void>;
}

/** `onBeat` hears of each attempt: null, or the trouble. */
export function createBoots(
  { rest }: Pick<Database, 'rest'>,
  bootId: string,
  clock: Clock,
  onBeat: (error: unknown) => void,
): Boots {
  /** Time of the first of an unbroken series of beats. */
  let beatingSinceMs: number | null = null;
  let timer: NodeJS.Timeout | null = null;
  let ended = false;

  async function beat(): Promise<void> {
    try {
      await rest.run(upsertBeat, [bootId]);
      beatingSinceMs ??= clock.monotonicMs();
      onBeat(null);
    } catch (error) {
      beatingSinceMs = null;
      onBeat(error);
      throw error;
    } finally {
      if (!ended) schedule(beatingSinceMs === null ? lostBeatIntervalMs : beatIntervalMs);
    }
  }

  function schedule(afterMs: number): void {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => beat().catch(() => {}), afterMs);
    timer.unref();
  }

  return {
    begin: beat,
    mayJudgeSilence: () => beatingSinceMs !== null && clock.monotonicMs() - beatingSinceMs >= watchMs,
    async living() {
      const { rows } = await rest.run<{ living: number }>(countLiving, [bootId]);
      return rows[0]?.living ?? 1;
    },
    async end() {
      ended = true;
      if (timer !== null) clearTimeout(timer);
      await rest.run('UPDATE culvert.boot SET seen_ms = 0 WHERE id = $1', [bootId]);
    },
  };
}

const upsertBeat = {
  name: 'boot-beat',
  text: `
    INSERT INTO culvert.boot (id, seen_ms) VALUES ($1, ${databaseNowMs})
    ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms`,
};

const countLiving = {
  name: 'boots-living',
  text: `
    SELECT 1 + count(*) AS living FROM culvert.boot WHERE id <> $1 AND seen_ms > ${databaseNowMs} - ${silentMs}`,
};

/** Removes boots of long ago that have nothing open; in the transaction of a recovery. */
export async function forgetOldBoots(run: Run): Promise<void> {
  await run(`
    DELETE FROM culvert.boot WHERE seen_ms < ${databaseNowMs} - ${forgottenAfterMs}
      AND NOT EXISTS (SELECT 1 FROM culvert.reservation WHERE reservation.boot_id = boot.id)`);
}
