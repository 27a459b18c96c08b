import { setTimeout as pause } from 'node:timers/promises';
import {
  type TrafficPoint,
  type TrafficQuery,
  trafficGrainsMs,
  trafficKeptMs,
  trafficPoint,
  trafficSql,
} from '../../ledger/traffic.ts';
import type { Database } from './database.ts';
import { patiently } from './patient-transaction.ts';

/** The port's `traffic`. */
export function readTraffic(database: Database, query: TrafficQuery): TrafficPoint[] {
  const sql = trafficSql(query, '', 'IN (SELECT value FROM json_each(?))');
  return database
    .prepare(sql)
    .all(JSON.stringify(query.names))
    .map((row) => trafficPoint(query, row));
}

/** In one transaction: the writer waits for it. */
const batchNames = 50;
const batchRows = 500;
const pauseMs = 20;

/** Removes traffic that is too old for charts, name by name: each is one range of the primary key. */
export async function pruneTraffic(database: Database, nowMs: number): Promise<void> {
  for (const grain of ['minute', 'hour'] as const)
    await pruneGrain(database, trafficGrainsMs[grain], nowMs - trafficKeptMs[grain]);
}

async function pruneGrain(database: Database, grainMs: number, beforeMs: number): Promise<void> {
  const next = database.prepare(
    'SELECT kind, name FROM traffic WHERE grain_ms = ? AND (kind, name) > (?, ?) ORDER BY kind, name LIMIT 1',
  );
  const remove = database.prepare(
    `DELETE FROM traffic WHERE grain_ms = ?1 AND kind = ?2 AND name = ?3 AND bucket IN (
       SELECT bucket FROM traffic WHERE grain_ms = ?1 AND kind = ?2 AND name = ?3 AND bucket < ?4
       ORDER BY bucket LIMIT ${batchRows})`,
  );
  const dead = Math.floor(beforeMs / grainMs);
  let done = { kind: '', name: '' };

  /** Whether there is more. */
  function pruneSome(): boolean {
    let removed = 0;
    for (let names = 0; names < batchNames && removed < batchRows; names += 1) {
      const row = next.get(grainMs, done.kind, done.name);
      if (row === undefined) return false;
      const [kind, name] = [String(row.kind), String(row.name)];
      const changes = Number(remove.run(grainMs, kind, name, dead).changes);
      removed += changes;
      // With as many as fit there may be more of it.
      if (changes < batchRows) done = { kind, name };
    }
    return true;
  }

  while (await patiently(database, pruneSome)) await pause(pauseMs);
}
