import type { AlertRow, AlertStore } from '../../metering/alert-store.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { transaction } from './transaction.ts';

/** Alerts in `culvert.db`. */
export function openSqliteAlertStore(file: string): AlertStore & { close(): Promise<void> } {
  const database = openCulvertDatabase(file, 'fsync');
  const all = database.prepare('SELECT * FROM alert');
  const write = database.prepare('INSERT OR REPLACE INTO alert VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  const forget = database.prepare('DELETE FROM alert WHERE name = ?');
  const queue = database.prepare('INSERT INTO notice VALUES (?, ?, ?, ?, ?, ?)');
  return {
    async change(step) {
      // Mostly nothing is wrong: then it waits for nobody's write.
      const rows = () => all.all().map(rowOf);
      const first = step(rows());
      if (first.write.length + first.forget.length + first.notices.length === 0) return 0;
      return transaction(database, () => {
        const made = step(rows());
        for (const row of made.write) {
          const { name, severity, text, fix, sinceMs, seenMs, told, toldMs } = row;
          write.run(name, severity, text, fix, sinceMs, seenMs, told, toldMs);
        }
        for (const name of made.forget) forget.run(name);
        for (const { id, plan, body, createdMs, tries } of made.notices)
          queue.run(id, plan, body, createdMs, tries, createdMs);
        return made.notices.length;
      });
    },
    async close() {
      database.close();
    },
  };
}

function rowOf(row: Record<string, unknown>): AlertRow {
  return {
    name: String(row.name),
    severity: String(row.severity) as AlertRow['severity'],
    text: String(row.text),
    fix: row.fix === null ? null : String(row.fix),
    sinceMs: Number(row.since_ms),
    seenMs: Number(row.seen_ms),
    told: String(row.told) as AlertRow['told'],
    toldMs: row.told_ms === null ? null : Number(row.told_ms),
  };
}
