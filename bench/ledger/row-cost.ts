// CPU of the ledger's statements alone, by opens per commit and closes per batch, and what an index on the id adds.
// node bench/ledger/row-cost.ts [requests]

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { newRequestId } from '../../src/kernel/ids.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { ledgerMigrations } from '../../src/stores/sqlite/ledger-schema.ts';
import { createLedgerWriter } from '../../src/stores/sqlite/ledger-writer.ts';
import { migrate } from '../../src/stores/sqlite/migrations.ts';
import { eventOf, reservation } from './rows.ts';

const requests = Number(process.argv[2] ?? 20_000);

function measure(opensPerCommit: number, closesPerBatch: number, index: string): number {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-rows-'));
  const database = openDatabase(join(dir, 'ledger.db'), 'os', 0, 2_048);
  migrate(database, ledgerMigrations);
  database.exec(`PRAGMA wal_autocheckpoint = 0; ${index}`);
  const writer = createLedgerWriter(database, bucketsOf, systemClock);
  let idMs = Date.now();
  const rows = Array.from({ length: requests }, () => {
    // Four requests a ms, in order, as a busy server sees them.
    idMs += 0.25;
    return { ...reservation(), requestId: newRequestId(idMs) };
  });
  const events = rows.map(eventOf);
  const keys: number[] = [];
  let closed = 0;
  const before = process.threadCpuUsage();
  for (let at = 0; at < requests; at += opensPerCommit) {
    writer.begin();
    for (let next = at; next < at + opensPerCommit && next < requests; next += 1) {
      keys.push(writer.writeReservation(rows[next]!));
    }
    // Ten are always running.
    if (keys.length - closed >= closesPerBatch + 10) {
      for (let end = keys.length - 10; closed < end; closed += 1) writer.writeEvent(keys[closed]!, events[closed]!);
    }
    writer.commit();
  }
  const cpu = process.threadCpuUsage(before);
  database.close();
  rmSync(dir, { recursive: true });
  return (cpu.user + cpu.system) / requests;
}

const indexes = ['', 'CREATE INDEX by_id ON usage_event (request_id)'];
console.log('| opens per commit | closes per batch | µs a request | with an index on the request id |');
console.log('|---|---|---|---|');
measure(4, 32, '');
for (const opens of [1, 2, 4, 16]) {
  for (const closes of [1, 32]) {
    const [plain = 0, indexed = 0] = indexes.map((index) => measure(opens, closes, index));
    console.log(`| ${opens} | ${closes} | ${plain.toFixed(1)} | ${indexed.toFixed(1)} |`);
  }
}
