import { isRefusal } from '../../ledger/batch-sums.ts';
import { type TrafficPoint, type TrafficQuery, TrafficSums, trafficPoint, trafficSql } from '../../ledger/traffic.ts';
import type { UsageEvent } from '../../metering/ledger.ts';
import { type Run, sqlState } from './database.ts';
import { writeTraffic } from './ledger-writer.ts';

/** The port's `traffic`. */
export async function readTraffic(run: Run, query: TrafficQuery): Promise<TrafficPoint[]> {
  const { rows } = await run(trafficSql(query, 'culvert.', '= ANY($1)'), [query.names]);
  return rows.map((row) => trafficPoint(query, row));
}

/** Traffic of settled requests that this process has not written to the table yet. */
export interface TrafficBook {
  add(events: readonly UsageEvent[]): void;
  /**
   * Writes all of it. Never rejects: rows that the server refused wait, and rows that it may have written are not
   * written twice.
   */
  write(): Promise<void>;
}

const minutesMax = 1_000;

export function createTrafficBook(run: Run): TrafficBook {
  const sums = new TrafficSums();
  let writing: Promise<void> | null = null;

  async function writeAll(): Promise<void> {
    while (sums.size > 0) {
      const rows = sums.take(minutesMax);
      try {
        await writeTraffic(run, rows);
      } catch (error) {
        if (sqlState(error) !== null) sums.putBack(rows);
        return;
      }
    }
  }

  return {
    add(events) {
      for (const event of events) if (!isRefusal(event)) sums.add(event);
    },
    async write() {
      // A caller that waits must find the earlier rows.
      await writing;
      writing ??= writeAll().finally(() => {
        writing = null;
      });
      await writing;
    },
  };
}
