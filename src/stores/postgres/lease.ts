import type { Clock } from '../../kernel/clock.ts';
import { databaseNowMs } from './boots.ts';
import type { Database } from './database.ts';

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
  await run(buryOwn, [folderId]);
  const { rows: sharing } = await run<{ servers: number }>(othersThatLive, [bootId]);
  const servers = sharing[0]?.servers ?? 0;
  if (servers > 0) return { kind: 'held', message: sharedMessage(servers, database.place) };
  const { rows } = await run<{ boot_id: string }>(take, [folderId, bootId]);
  if (rows[0]?.boot_id !== bootId) {
    return { kind: 'held', message: heldMessage(database.place) };
  }

  let renewedMs = clock.monotonicMs();
  let lost = false;
  let timer: NodeJS.Timeout | null = null;
  let released = false;

  async function renew(): Promise<void> {
    const askedMs = clock.monotonicMs();
    const { changes } = await run(renewal, [bootId]);
    if (changes === 1) renewedMs = askedMs;
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
      // If that cannot be written, it ends by itself.
      await run('DELETE FROM culvert.lease WHERE boot_id = $1', [bootId]).catch(() => {});
    },
  };
}

/**
 * For a server that shares its counters, any number of which may run. Not beside one that counts in its own memory:
 * together they would let everybody have every limit twice.
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

const buryOwn = `
  UPDATE culvert.boot SET seen_ms = 0 WHERE id = (SELECT boot_id FROM culvert.lease WHERE folder_id = $1)`;
/** Those that hold the lease are refused, or waited for, by the lease itself. */
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
