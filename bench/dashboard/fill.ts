import { BatchSums, type RollupRow, rollupTable } from '../../src/books/ledger/batch-sums.ts';
import { type Column, cellsOf, eventTable } from '../../src/books/ledger/columns.ts';
import {
  type AttemptRow,
  AttemptSums,
  attemptTable,
  type TrafficRow,
  TrafficSums,
  trafficGrainsMs,
  trafficRetentionMs,
  trafficTable,
} from '../../src/books/ledger/minute-sums.ts';
import type { UsageEvent } from '../../src/books/metering/ledger.ts';
import { connect } from '../../src/stores/postgres/database.ts';
import { bulkInsert } from '../../src/stores/postgres/ledger-writer.ts';
import { migrate } from '../../src/stores/postgres/open.ts';
import { openLedgerDatabase } from '../../src/stores/sqlite/ledger-schema.ts';
import { ledgerKey } from '../../src/stores/sqlite/ledger-writer.ts';
import { createTraffic, days, hourMs } from './events.ts';

/** Target of rows; an hour of them at once. */
interface Tables {
  events(rows: readonly UsageEvent[]): Promise<void>;
  rollups(rows: readonly RollupRow[]): Promise<void>;
  traffic(rows: readonly TrafficRow[]): Promise<void>;
  attempts(rows: readonly AttemptRow[]): Promise<void>;
  done(): Promise<void>;
}

/** Writes so many requests of the last 90 days, hour by hour, with the sums that settlements make of them. */
async function fill(tables: Tables, events: number, nowMs: number): Promise<void> {
  const next = createTraffic(7);
  const hours = days * 24;
  const perHour = Math.ceil(events / hours);
  const firstMs = (Math.floor(nowMs / hourMs) - hours + 1) * hourMs;
  let written = 0;
  for (let hour = 0; hour < hours && written < events; hour += 1) {
    const startMs = firstMs + hour * hourMs;
    const spanMs = Math.min(hourMs, nowMs - startMs);
    const count = Math.min(perHour, events - written);
    const sums = new BatchSums(() => []);
    const traffic = new TrafficSums();
    const attempts = new AttemptSums();
    const rows = Array.from({ length: count }, (_, at) => next(Math.floor(startMs + (spanMs * at) / count)));
    for (const row of rows) {
      sums.add(row);
      traffic.add(row);
      attempts.add(row);
    }
    await tables.events(rows);
    await tables.rollups(sums.rollups());
    const keptMs = nowMs - trafficRetentionMs.minute;
    const drawn = traffic.take(Number.POSITIVE_INFINITY);
    const isKept = ({ grainMs }: { grainMs: number }) => grainMs === trafficGrainsMs.hour || startMs >= keptMs;
    await tables.traffic(drawn.filter(isKept));
    await tables.attempts(attempts.take(Number.POSITIVE_INFINITY).filter(isKept));
    written += count;
    if (hour % 240 === 0) console.log(`  ${written.toLocaleString('en')} requests written`);
  }
  await tables.done();
}

export async function fillSqlite(file: string, events: number, nowMs: number): Promise<void> {
  const database = openLedgerDatabase(file);
  database.exec('PRAGMA synchronous = OFF; BEGIN');
  const insert = (table: string, columns: readonly Column[], keyed: 'keyed' | 'plain') => {
    const names = columns.map(({ name }) => `"${name}"`);
    if (keyed === 'keyed') names.push('key');
    const statement = database.prepare(
      `INSERT OR IGNORE INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    );
    return async (rows: readonly object[]) => {
      for (const row of rows) {
        const cells = cellsOf(columns, row);
        if (keyed === 'keyed') statement.run(...cells, freeKey((row as UsageEvent).requestId));
        else statement.run(...cells);
      }
      database.exec('COMMIT; BEGIN');
    };
  };
  let lastKey = 0;
  const freeKey = (requestId: string) => {
    lastKey = Math.max(lastKey + 1, ledgerKey(requestId)!);
    return lastKey;
  };
  await fill(
    {
      events: insert('usage_event', eventTable, 'keyed'),
      rollups: insert('rollup', rollupTable, 'plain'),
      traffic: insert('traffic', trafficTable, 'plain'),
      attempts: insert('attempt_sum', attemptTable, 'plain'),
      async done() {
        database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
        database.close();
      },
    },
    events,
    nowMs,
  );
}

export async function fillPostgres(url: string, events: number, nowMs: number): Promise<void> {
  const database = await connect(url);
  await migrate(database.rest, database.place);
  const insert = <Row extends object>(table: string, columns: readonly Column[]) => {
    const bulk = bulkInsert<Row>(table, columns, 'ON CONFLICT DO NOTHING');
    return async (rows: readonly Row[]) => {
      for (let at = 0; at < rows.length; at += 1_000) await bulk.into(database.rest.run, rows.slice(at, at + 1_000));
    };
  };
  await fill(
    {
      events: insert<UsageEvent>('usage_event', eventTable),
      rollups: insert<RollupRow>('rollup', rollupTable),
      traffic: insert<TrafficRow>('traffic', trafficTable),
      attempts: insert<AttemptRow>('attempt_sum', attemptTable),
      async done() {
        await database.rest.run({ name: 'analyze', text: 'ANALYZE', answerMaxMs: 600_000 });
        await database.close();
      },
    },
    events,
    nowMs,
  );
}
