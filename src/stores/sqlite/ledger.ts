import type { BucketsOf } from '../../books/ledger/batch-sums.ts';
import type { Ledger, ReservationRow, UsageEvent } from '../../books/metering/ledger.ts';
import type { RecordOrder } from '../../books/metering/record-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { createExperimentBook } from '../ledger/experiment-book.ts';
import { RecentCalls } from '../ledger/recent-calls.ts';
import { createStatementBook } from '../ledger/statement-book.ts';
import type { SqlTables } from '../sql-tables.ts';
import { createTroubleReport, ledgerWords } from '../trouble-report.ts';
import { isCheckpointing, openDatabase, transaction } from './database.ts';
import { createHousekeeper, type Housekeeper } from './housekeeper.ts';
import { LedgerQueue } from './ledger-queue.ts';
import { createLedgerReader } from './ledger-reader.ts';
import { openLedgerDatabase } from './ledger-schema.ts';
import { recoverReservations } from './ledger-upkeep.ts';
import { createLedgerWriter, ledgerKeyAt, WalSync } from './ledger-writer.ts';
import { beginSinks, sinkPosition } from './record-order.ts';
import { tablesIn } from './tables.ts';

export interface SqliteLedgerOptions {
  file: string;
  /** Names this process in its reservations; a fresh UUID at each start. */
  bootId: string;
  clock: Clock;
  /** Cost of a reservation whose process died; a rule of metering. */
  chargeCrashed: (reservation: ReservationRow) => UsageEvent;
  /** How an event moves the quota buckets; a rule of metering. */
  bucketsOf: BucketsOf;
  /** Absent: no sink is to get records. */
  order?: RecordOrder;
  /** Called with troubles that no caller sees: dropped closes and failed housekeeping. For the log. */
  onTrouble: (message: string) => void;
}

export interface SqliteLedger extends Ledger {
  gauges(): LedgerGauges;
}

export interface LedgerGauges {
  /** Rows waiting for a commit. */
  queued: number;
  /** Reservations of this process that are not settled. */
  open: number;
  /** Closes given up after 30 s; the next start charges them at their estimate. */
  dropped: number;
  /** Bytes of the write-ahead log that are not yet in the database, as of the last sync. */
  walBytes: number;
}

/** A checkpoint begins here. The file itself is never shrunk below: reusing it is cheaper than growing it. */
const walCheckpointBytes = 16 * 1024 * 1024;
/** A reader somewhere can keep the log from starting over: from here on nothing new is admitted. */
const walBytesMax = 1024 * 1024 * 1024;
const heartbeatIntervalMs = 5_000;
/** A requested page may write this many rows of minutes first: some 10 ms of the loop, with many busy accounts. */
const readTrafficMinutesMax = 512;
/** Longer than the minute in which calls are limited. */
const callsRetentionMs = 65_000;

/**
 * Opens or creates `ledger.db`, of which this is the only writer. Commits run in the loop's own turn (measured: a
 * thread costs nearly twice the CPU, docs/decisions/0001), syncs and checkpoints elsewhere. `kill -9` loses nothing
 * that was acknowledged, a power cut at most 100 ms.
 */
export function openSqliteLedger(options: SqliteLedgerOptions): SqliteLedger {
  const { file, bootId, clock, onTrouble } = options;
  openLedgerDatabase(file).close();
  const database = openDatabase(file, 'os', 0);
  database.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${walCheckpointBytes * 2}`);
  const writer = createLedgerWriter(database, options.bucketsOf, clock, options.order ?? null);
  const reader = createLedgerReader(database);
  const housekeeper = createHousekeeper(file);
  const calls = new RecentCalls(callsRetentionMs);
  for (const call of reader.calls(clock.wallMs() - callsRetentionMs)) calls.add(call.atMs, call);

  const walSync = new WalSync(database, {
    longBytes: walCheckpointBytes,
    onLong(pendingBytes) {
      queue.admit(pendingBytes > walBytesMax ? 'a reader keeps the ledger from compacting its log' : null);
      if (pendingBytes > walCheckpointBytes) checkpoint(housekeeper, onTrouble);
    },
    onBroken: (error) => queue.admit(`the ledger could not be synced (${error.message}); restart Culvert`, 'for-good'),
  });
  const queue = new LedgerQueue(writer, clock, calls, {
    onCommitted: walSync.dirty,
    isCheckpointing: () => isCheckpointing(file),
    onDropped: (event, reason) => onTrouble(`ledger: the end of ${event.requestId} could not be written: ${reason}`),
  });

  queue.heartbeat(bootId, clock.wallMs());
  const troubles = createTroubleReport({
    trouble: () => queue.trouble(),
    words: ledgerWords,
    report: onTrouble,
    clock,
  });
  const stopHeartbeat = every(heartbeatIntervalMs, () => {
    // Why the last beat was refused, if it was.
    troubles.look();
    queue.heartbeat(bootId, clock.wallMs());
  });

  /** Callers must see their own requests, so waiting rows are written first. */
  async function upToDate<Answer>(read: () => Answer | Promise<Answer>): Promise<Answer> {
    await queue.caughtUp();
    return read();
  }

  return {
    open: queue.open,
    close: queue.close,
    note: (refused) => queue.note(refused),
    recover: () => recoverReservations(writer, bootId, options.chargeCrashed).finally(walSync.dirty),
    find: (id, account) => upToDate(() => reader.find(id, account)),
    buckets(scopes) {
      queue.nudge();
      return reader.buckets(scopes, clock.wallMs());
    },
    recentCalls: (account, sinceMs) => calls.of(account, sinceMs),
    async seed(account, scopes, openIds) {
      queue.nudge();
      // One turn of the loop and the only writer: all three are of one instant.
      return {
        buckets: reader.buckets(scopes, clock.wallMs()),
        open: reader.openReservations(account),
        settled: reader.settled(openIds),
      };
    },
    newestBucketMs: () => upToDate(() => reader.newestBucketMs()),
    openReservations: (account) => upToDate(() => reader.openReservations(account)),
    settled: (requestIds) => upToDate(() => reader.settled(requestIds)),
    async livingBoots() {
      return 1;
    },
    list: (query) => upToDate(() => housekeeper.list(query)),
    usage: (query) => upToDate(() => housekeeper.usage(query)),
    async traffic(query) {
      await queue.caughtUp();
      writer.writeTraffic(readTrafficMinutesMax);
      return housekeeper.traffic(query);
    },
    async attempts(query) {
      await queue.caughtUp();
      writer.writeTraffic(readTrafficMinutesMax);
      return housekeeper.attempts(query);
    },
    cacheUses: (query) => upToDate(() => housekeeper.cacheUses(query)),
    promptCacheDays: (query) => upToDate(() => housekeeper.promptCacheDays(query)),
    reprice: (changes, atMs) => upToDate(() => housekeeper.reprice(changes, atMs, clock.wallMs())),
    repriced: (query) => upToDate(() => housekeeper.repriced(query)),
    async flush() {
      await queue.drain();
      await walSync.sync();
    },
    prune: (beforeMs) => housekeeper.prune(ledgerKeyAt(beforeMs), clock.wallMs()),
    records: {
      begin: (sinks) => transaction(database, () => beginSinks(database, sinks, clock.wallMs())),
      take: async (sink) => sinkPosition(database, sink),
      failed: async () => {},
      failure: async () => null,
      letGo: async () => {},
      read: (after, limit) => housekeeper.readRecords(after, limit),
      async arrived(sink, position) {
        await housekeeper.recordsArrived(sink, position, clock.wallMs());
      },
    },
    ...booksIn(tablesIn(database, { wrote: walSync.dirty }), queue, (query) =>
      upToDate(() => housekeeper.results(query)),
    ),
    trouble: () => queue.trouble(),
    gauges: () => ({ ...queue.gauges(), walBytes: walSync.pendingBytes }),
    async shutdown() {
      stopHeartbeat();
      await queue.stop();
      writer.writeTraffic(Number.POSITIVE_INFINITY);
      await walSync.stop();
      await housekeeper.close();
      // The last connection checkpoints as it closes; that must be safe against a power cut too.
      database.exec('PRAGMA synchronous = NORMAL');
      database.close();
    },
  };
}

/** Books that do not go through the queue. Their writes wait while another connection writes. */
function booksIn(
  tables: SqlTables,
  queue: Pick<LedgerQueue, 'keyOf'>,
  results: Ledger['experiments']['results'],
): Pick<Ledger, 'began' | 'experiments' | 'statements'> {
  return {
    began(requestId, endpoint) {
      const values = [queue.keyOf(requestId) ?? null, endpoint];
      void tables.run('UPDATE reservation SET endpoint = $2 WHERE key = $1', values).catch(() => {});
    },
    experiments: { ...createExperimentBook(tables), results },
    statements: createStatementBook(tables),
  };
}

function checkpoint(housekeeper: Housekeeper, onTrouble: (message: string) => void): void {
  housekeeper.checkpoint().catch((error: unknown) => onTrouble(`ledger: checkpoint failed: ${String(error)}`));
}
