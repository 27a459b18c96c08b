import { readEvent } from '../../books/ledger/columns.ts';
import type { OrderedRecord } from '../../books/metering/record-store.ts';
import { sinkForgottenMs } from '../ledger/ledger-waits.ts';
import type { Database } from './database.ts';

/** Positions only grow, also after the rows are gone: AUTOINCREMENT remembers the last one. */
export const recordOrderSql = `
  CREATE TABLE record_order (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    event INTEGER NOT NULL,
    -- JSON, until all sinks have it.
    bodies TEXT
  ) STRICT;
  CREATE TABLE sink (name TEXT PRIMARY KEY, position INTEGER NOT NULL, seen_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** The port's `begin`. */
export function beginSinks(database: Database, sinks: readonly string[], nowMs: number): void {
  const known = database.prepare(`
    INSERT INTO sink VALUES (?1, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'record_order'), 0), ?2)
    ON CONFLICT DO UPDATE SET seen_ms = excluded.seen_ms`);
  for (const sink of sinks) known.run(sink, nowMs);
  database.prepare('DELETE FROM sink WHERE seen_ms < ?').run(nowMs - sinkForgottenMs);
}

/** The port's `take`: the folder has one server, so nobody else asks. */
export function sinkPosition(database: Database, sink: string): number | null {
  const position = database.prepare('SELECT position FROM sink WHERE name = ?').get(sink)?.position;
  return position === undefined ? null : Number(position);
}

/** The port's `read`. */
export function readRecords(database: Database, after: number, limit: number): OrderedRecord[] {
  const rows = database
    .prepare(
      `SELECT record_order.position, record_order.bodies, usage_event.* FROM record_order
       JOIN usage_event ON usage_event.key = record_order.event
       WHERE record_order.position > ? ORDER BY record_order.position LIMIT ?`,
    )
    .all(after, limit);
  return rows.map((row) => ({
    position: Number(row.position),
    event: readEvent(row),
    bodies: row.bodies === null ? null : String(row.bodies),
  }));
}

/** The port's `arrived`, within a transaction; how many records are forgotten. */
export function recordsArrived(database: Database, sink: string, position: number, nowMs: number): number {
  database.prepare('UPDATE sink SET position = ?, seen_ms = ? WHERE name = ?').run(position, nowMs, sink);
  const forget = database.prepare('DELETE FROM record_order WHERE position <= (SELECT min(position) FROM sink)');
  return Number(forget.run().changes);
}
