import type { AlertRow, AlertStep, AlertStore } from '../../books/metering/notices/alert-store.ts';
import { type ClosableTables, change, type Row, read } from '../sql-tables.ts';

/** For `lock`: one process after another changes alerts. */
const alertLock = 0x63_76_6c;

/** Alerts, of all processes together, over either database. */
export function createAlertStore({
  prefix,
  rows,
  transaction,
  lock,
  close,
}: ClosableTables): AlertStore & Pick<ClosableTables, 'close'> {
  const alert = `${prefix}alert`;
  const all = `SELECT * FROM ${alert}`;
  const put = `INSERT INTO ${alert} (name, severity, text, fix, since_ms, seen_ms, told, told_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (name) DO UPDATE SET severity = excluded.severity, text = excluded.text, fix = excluded.fix,
      since_ms = excluded.since_ms, seen_ms = excluded.seen_ms, told = excluded.told, told_ms = excluded.told_ms`;
  const queue = `INSERT INTO ${prefix}notice (id, plan, body, created_ms, tries, next_ms)
    VALUES ($1, $2, $3, $4, $5, $4)`;
  return {
    async change(step) {
      // Mostly nothing is wrong: then it waits for nobody's write.
      if (isEmpty(step((await rows(all, [])).map(alertOf)))) return 0;
      return transaction('write', function* () {
        yield* lock(alertLock, 'alert');
        const made = step((yield* read(all, [])).map(alertOf));
        for (const { name, severity, text, fix, sinceMs, seenMs, reported, reportedMs } of made.write) {
          yield* change(put, [name, severity, text, fix, sinceMs, seenMs, reported, reportedMs]);
        }
        for (const name of made.forget) yield* change(`DELETE FROM ${alert} WHERE name = $1`, [name]);
        for (const { id, plan, body, createdMs, tries } of made.notices) {
          yield* change(queue, [id, plan, body, createdMs, tries]);
        }
        return made.notices.length;
      });
    },
    close,
  };
}

function isEmpty({ write, forget, notices }: AlertStep): boolean {
  return write.length + forget.length + notices.length === 0;
}

function alertOf(row: Row): AlertRow {
  return {
    name: String(row.name),
    severity: String(row.severity) as AlertRow['severity'],
    text: String(row.text),
    fix: row.fix === null ? null : String(row.fix),
    sinceMs: Number(row.since_ms),
    seenMs: Number(row.seen_ms),
    reported: String(row.told) as AlertRow['reported'],
    reportedMs: row.told_ms === null ? null : Number(row.told_ms),
  };
}
