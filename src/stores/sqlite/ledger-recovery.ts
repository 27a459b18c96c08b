import { setTimeout as pause } from 'node:timers/promises';
import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import { sqliteBusy, sqliteCode } from './database.ts';
import type { LedgerWriter } from './ledger-writer.ts';

/** Rows in one transaction: a few ms of the loop. */
const batchRows = 200;
const busyRetryMs = 5;
const busyWaitMaxMs = 5_000;

/**
 * Charges every reservation of another boot once. A folder has one server (data-folder-lock.ts), so another boot is a
 * dead one. Should two recover at once nevertheless, the one that removes the row first writes its event.
 */
export async function recoverReservations(
  writer: LedgerWriter,
  bootId: string,
  chargeCrashed: (reservation: ReservationRow) => UsageEvent,
): Promise<number> {
  let recovered = 0;
  let waitedMs = 0;
  for (;;) {
    try {
      const batch = recoverBatch(writer, bootId, chargeCrashed);
      recovered += batch.charged;
      if (batch.found < batchRows) return recovered;
      // Let requests in between two batches.
      await pause(0);
    } catch (error) {
      if (sqliteCode(error) !== sqliteBusy || waitedMs >= busyWaitMaxMs) throw error;
      waitedMs += busyRetryMs;
      await pause(busyRetryMs);
    }
  }
}

function recoverBatch(
  writer: LedgerWriter,
  bootId: string,
  chargeCrashed: (reservation: ReservationRow) => UsageEvent,
): { found: number; charged: number } {
  writer.begin();
  try {
    const found = writer.strangers(bootId, batchRows);
    let charged = 0;
    for (const { key, row } of found) {
      if (writer.writeEvent(key, chargeCrashed(row))) charged += 1;
    }
    if (found.length < batchRows) writer.forgetOtherBoots(bootId);
    writer.commit();
    return { found: found.length, charged };
  } catch (error) {
    writer.rollback();
    throw error;
  }
}
