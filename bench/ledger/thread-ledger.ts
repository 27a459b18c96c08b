import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import type { ReservationRow, UsageEvent } from '../../src/books/metering/ledger.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { ledgerMigrations } from '../../src/stores/sqlite/ledger-schema.ts';
import { createLedgerWriter } from '../../src/stores/sqlite/ledger-writer.ts';
import { migrate } from '../../src/stores/sqlite/migrations.ts';

/**
 * The other way, for comparison only: the same statements in a worker, one message of JSON text per batch (cheaper than
 * a structured clone of the rows). The next batch leaves when the last one was answered.
 */
interface Batch {
  opens: ReservationRow[];
  closes: UsageEvent[];
}

export function openThreadLedger(file: string) {
  const worker = new Worker(new URL(import.meta.url), { workerData: file });
  let opens: ReservationRow[] = [];
  let waiting: (() => void)[] = [];
  let sent: (() => void)[] = [];
  let closes: UsageEvent[] = [];
  let busy = false;
  let scheduled = false;

  const send = () => {
    scheduled = false;
    if (busy || (opens.length === 0 && closes.length === 0)) return;
    busy = true;
    worker.postMessage(JSON.stringify({ opens, closes } satisfies Batch));
    sent = waiting;
    waiting = [];
    opens = [];
    closes = [];
  };
  const schedule = () => {
    if (scheduled || busy) return;
    scheduled = true;
    setImmediate(send);
  };
  worker.on('message', () => {
    busy = false;
    for (const resolve of sent) resolve();
    send();
  });
  return {
    open(row: ReservationRow): Promise<void> {
      return new Promise((resolve) => {
        opens.push(row);
        waiting.push(resolve);
        schedule();
      });
    },
    close(event: UsageEvent): void {
      closes.push(event);
      schedule();
    },
    async shutdown(): Promise<void> {
      while (busy || closes.length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await worker.terminate();
    },
  };
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const database = openDatabase(String(workerData), 'os', 250);
  migrate(database, ledgerMigrations);
  const writer = createLedgerWriter(database, bucketsOf, systemClock);
  const keys = new Map<string, number>();
  port.on('message', (text: string) => {
    const batch = JSON.parse(text) as Batch;
    writer.begin();
    for (const event of batch.closes) {
      writer.writeEvent(keys.get(event.requestId)!, event);
      keys.delete(event.requestId);
    }
    for (const row of batch.opens) keys.set(row.requestId, writer.writeReservation(row));
    writer.commit();
    port.postMessage(0);
  });
}
