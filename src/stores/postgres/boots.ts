import type { Replicas, SeenProcess } from '../../books/metering/replicas.ts';
import type { Clock } from '../../kernel/clock.ts';
import { endedShownMs, seenProcessesMax } from '../../kernel/limits.ts';
import { type Database, type Run, unavailable } from './database.ts';

/** A boot says that it lives this often; while PostgreSQL is away it asks for it faster. */
const beatIntervalMs = 5_000;
const lostBeatIntervalMs = 1_000;
/** Longer silent than this, a boot is over (design §11). */
const silentMs = 30_000;
/**
 * A judge of silence must have seen two beats of the others without a break: after an outage everybody has been silent,
 * the living too.
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
export function bootEndedCleanly(column: string): string {
  return `NOT EXISTS (SELECT 1 FROM culvert.boot WHERE boot.id = ${column} AND boot.seen_ms > 0)`;
}

export interface Boots {
  /** Resolves once this boot is known to be living; rejects when PostgreSQL cannot be written. */
  begin(): Promise<void>;
  /** Whether `bootIsOver` may be believed; `bootEndedCleanly` always may. */
  mayJudgeSilence(): boolean;
  /** How many live by now, this one included. Rejects when PostgreSQL cannot be asked. */
  living(): Promise<number>;
  /** How far the database's clock was before (negative) or after ours at the last beat. */
  aheadMs(): number;
  replicas: Replicas;
  /** Another one is known to be dead: whatever it left open is over at once. */
  bury(boot: string): Promise<void>;
  /** Says goodbye: whatever this boot left open is over at once. */
  end(): Promise<void>;
}

/** `onBeat` is called after each attempt: with null, or the trouble. */
export function createBoots(
  { rest }: Pick<Database, 'rest'>,
  bootId: string,
  clock: Clock,
  onBeat: (error: unknown) => void,
): Boots {
  /** Time of the first of an unbroken series of beats. */
  let beatingSinceMs: number | null = null;
  let timer: NodeJS.Timeout | null = null;
  let beating: Promise<void> = Promise.resolve();
  let ended = false;
  let aheadMs = 0;
  let facts: Facts | null = null;

  async function beat(): Promise<void> {
    try {
      const values = [bootId, await jsonOf(facts), clock.wallMs()];
      const { rows } = await rest.run<{ ahead_ms: number }>(upsertBeat, values);
      aheadMs = rows[0]?.ahead_ms ?? 0;
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
    timer = setTimeout(() => {
      beating = beat().catch(() => {});
    }, afterMs);
    timer.unref();
  }

  const bury = async (boot: string) => void (await rest.run(`${buryBoot} WHERE id = $1`, [boot]));

  return {
    begin: beat,
    mayJudgeSilence: () => beatingSinceMs !== null && clock.monotonicMs() - beatingSinceMs >= watchMs,
    async living() {
      const { rows } = await rest.run<{ living: number }>(countLiving, [bootId]);
      return rows[0]?.living ?? 1;
    },
    aheadMs: () => aheadMs,
    replicas: {
      report(next) {
        facts = next;
        schedule(0);
      },
      async seen() {
        const { rows } = await unavailable(rest.run<SeenRow>(listSeen, [clock.wallMs()]));
        return rows.map(seenOf);
      },
    },
    bury,
    async end() {
      ended = true;
      if (timer !== null) clearTimeout(timer);
      // A beat that arrived behind the goodbye would let it live on.
      await beating;
      await bury(bootId);
    },
  };
}

type Facts = Parameters<Replicas['report']>[0];

/** Facts that cannot be read keep no boot from beating. */
async function jsonOf(facts: Facts | null): Promise<string | null> {
  return facts === null ? null : facts().then(JSON.stringify, () => null);
}

const upsertBeat = {
  name: 'boot-beat',
  text: `
    INSERT INTO culvert.boot (id, seen_ms, facts) VALUES ($1, ${databaseNowMs}, $2)
    ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, facts = coalesce(excluded.facts, boot.facts)
    RETURNING seen_ms - $3::bigint AS ahead_ms`,
};

/** It is over at once, and a list of processes still says when. */
const buryBoot = 'UPDATE culvert.boot SET seen_ms = 0, ended_ms = GREATEST(seen_ms, ended_ms)';

const countLiving = {
  name: 'boots-living',
  text: `
    SELECT 1 + count(*) AS living FROM culvert.boot WHERE id <> $1 AND seen_ms > ${databaseNowMs} - ${silentMs}`,
};

interface SeenRow {
  id: string;
  facts: string | null;
  seen_ms: number;
  over: boolean;
}

/** By this process' wall clock ($1), which tells its readers how long ago that was. */
const listSeen = {
  name: 'boots-seen',
  text: `
    SELECT id, facts, $1::bigint - ${databaseNowMs} + last_ms AS seen_ms, seen_ms <= ${databaseNowMs} - ${silentMs} AS over
    FROM (SELECT id, facts, seen_ms, GREATEST(seen_ms, ended_ms) AS last_ms FROM culvert.boot) AS known
    WHERE last_ms > ${databaseNowMs} - ${endedShownMs} ORDER BY last_ms DESC LIMIT ${seenProcessesMax}`,
};

function seenOf({ id, facts, seen_ms: seenMs, over }: SeenRow): SeenProcess {
  return { id, facts: facts === null ? null : (JSON.parse(facts) as SeenProcess['facts']), seenMs, over };
}

/** Removes boots of long ago that have nothing open; in the transaction of a recovery. */
export async function forgetOldBoots(run: Run): Promise<void> {
  await run(`
    DELETE FROM culvert.boot WHERE seen_ms < ${databaseNowMs} - ${forgottenAfterMs}
      AND coalesce(ended_ms, 0) < ${databaseNowMs} - ${endedShownMs}
      AND NOT EXISTS (SELECT 1 FROM culvert.reservation WHERE reservation.boot_id = boot.id)`);
}

const renewIntervalMs = 5_000;
const lostRenewIntervalMs = 1_000;
/** A holder that has not renewed for this long loses it to the next one that asks. */
const leaseMs = 30_000;
/** The holder stops before that: another may have it the moment it ends. */
const trustedMs = 25_000;

export interface LeaseOptions {
  database: Pick<Database, 'rest' | 'place'>;
  /** Names the data folder, whose own lock proves that an earlier server of this folder is dead. */
  folderId: string;
  bootId: string;
  clock: Clock;
}

export type LeaseResult =
  | {
      kind: 'leased';
      /** Why nothing may be counted here right now, in words for the operator; null while it is ours. */
      trouble(): string | null;
      release(): Promise<void>;
    }
  /** `message` is the sentence to refuse the start with. */
  | { kind: 'held'; message: string };

/**
 * Makes this the one server of a database whose counters are in its own memory (`state: memory`): a second one would
 * let everybody have every limit twice. The same data folder takes over at once, another one after 30 s of silence.
 */
export async function takeLease(options: LeaseOptions): Promise<LeaseResult> {
  const { database, folderId, bootId, clock } = options;
  const { run } = database.rest;
  // The folder's lock proves that its own last server is dead, whatever its last beat says.
  await run(buryPrevious, [folderId]);
  const { rows: sharing } = await run<{ servers: number }>(othersThatLive, [bootId]);
  const servers = sharing[0]?.servers ?? 0;
  if (servers > 0) return { kind: 'held', message: sharedMessage(servers, database.place) };
  const { rows } = await run<{ boot_id: string }>(take, [folderId, bootId]);
  if (rows[0]?.boot_id !== bootId) return { kind: 'held', message: heldMessage(database.place) };

  let renewedMs = clock.monotonicMs();
  let lost = false;
  let timer: NodeJS.Timeout | null = null;
  let released = false;

  async function renew(): Promise<void> {
    const sentMs = clock.monotonicMs();
    const { changes } = await run(renewal, [bootId]);
    if (changes === 1) renewedMs = sentMs;
    else lost = true;
  }

  function schedule(afterMs: number): void {
    if (released || lost) return;
    timer = setTimeout(() => {
      renew().then(
        () => schedule(renewIntervalMs),
        () => schedule(lostRenewIntervalMs),
      );
    }, afterMs);
    timer.unref();
  }
  schedule(renewIntervalMs);

  return {
    kind: 'leased',
    trouble() {
      if (lost)
        return `another Culvert has taken over ${database.place}; restart this one, or set storage.state to Redis`;
      if (clock.monotonicMs() - renewedMs < trustedMs) return null;
      return `${database.place} did not answer for ${trustedMs / 1_000} s, so another Culvert may be counting now`;
    },
    async release() {
      released = true;
      if (timer !== null) clearTimeout(timer);
      // If that cannot be written, the lease expires.
      await run('DELETE FROM culvert.lease WHERE boot_id = $1', [bootId]).catch(() => {});
    },
  };
}

/**
 * For a server that shares its counters, any number of which may run. Not together with one that counts in its own
 * memory: every limit would hold twice.
 */
export async function takeNoLease({
  database,
  folderId,
}: Pick<LeaseOptions, 'database' | 'folderId'>): Promise<LeaseResult> {
  const { rows } = await database.rest.run(held, [folderId]);
  if (rows.length > 0) return { kind: 'held', message: heldMessage(database.place) };
  return { kind: 'leased', trouble: () => null, release: async () => {} };
}

function heldMessage(place: string): string {
  return `Another Culvert counts quota in its own memory over ${place}. Stop it and wait 30 s, or let both share their counters (storage.state: redis://…).`;
}

function sharedMessage(servers: number, place: string): string {
  const others = servers === 1 ? 'Another Culvert shares its' : `${servers} other Culverts share their`;
  return `${others} quota counters over ${place}, but this one would count in its own memory (storage.state). Stop them and wait 30 s, or let this one share the counters too (storage.state: redis://…).`;
}

const buryPrevious = `${buryBoot} WHERE id = (SELECT boot_id FROM culvert.lease WHERE folder_id = $1)`;
/** Other servers that live, without the holder of the lease: the lease refuses that one, or waits for it. */
const othersThatLive = `
  SELECT count(*) AS servers FROM culvert.boot
  WHERE seen_ms > ${databaseNowMs} - ${leaseMs} AND id <> $1 AND id NOT IN (SELECT boot_id FROM culvert.lease)`;
const held = `SELECT FROM culvert.lease WHERE folder_id <> $1 AND seen_ms > ${databaseNowMs} - ${leaseMs}`;
const take = `
  INSERT INTO culvert.lease AS held (one, folder_id, boot_id, seen_ms) VALUES (1, $1, $2, ${databaseNowMs})
  ON CONFLICT (one) DO UPDATE
    SET folder_id = excluded.folder_id, boot_id = excluded.boot_id, seen_ms = excluded.seen_ms
    WHERE held.folder_id = excluded.folder_id OR held.seen_ms <= ${databaseNowMs} - ${leaseMs}
  RETURNING boot_id`;
const renewal = `UPDATE culvert.lease SET seen_ms = ${databaseNowMs} WHERE boot_id = $1`;
