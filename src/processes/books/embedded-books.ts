import { bucketsOf } from '../../books/metering/counter-scope.ts';
import { MemoryCounters } from '../../books/metering/memory-counters.ts';
import type { RecordOrder } from '../../books/metering/record-store.ts';
import { crashedEvent } from '../../books/metering/settlement.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { DataFolder } from '../../stores/sqlite/data-folder.ts';
import { naming } from '../../stores/sqlite/database.ts';
import { openSqliteLedger } from '../../stores/sqlite/ledger.ts';

/** Opens `ledger.db` and the counters over it: the process that has both is the only one that writes them. */
export async function openEmbeddedBooks({
  folder,
  bootId,
  clock,
  order,
  onTrouble,
}: {
  folder: DataFolder;
  bootId: string;
  clock: Clock;
  /** Absent: no sink is to get records. */
  order?: RecordOrder | undefined;
  onTrouble(message: string): void;
}) {
  const file = folder.ledgerDb;
  const options = { file, bootId, clock, chargeCrashed: crashedEvent, bucketsOf, onTrouble };
  // A statement that meets damage does not know its file.
  const ledger = naming(file, () => openSqliteLedger({ ...options, ...(order !== undefined && { order }) }));
  const startMs = await namingLate(file, ledger.newestBucketMs());
  const counters = new MemoryCounters({ clock, books: ledger, startMs });
  return { ledger: { ...ledger, recover: () => namingLate(file, ledger.recover()) }, counters };
}

export function namingLate<T>(file: string, result: Promise<T>): Promise<T> {
  return result.catch((error: unknown) =>
    naming(file, () => {
      throw error;
    }),
  );
}
