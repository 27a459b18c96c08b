import type { AlertRow, AlertStep, AlertStore } from '../../books/metering/notices/alert-store.ts';
import { rowShape } from '../row-shape.ts';
import { type ClosableTables, change, changeAll, read } from '../sql-tables.ts';
import { queueStep } from './notice-store.ts';

const alertShape = rowShape<AlertRow>()(
  {
    text: ['name', 'severity', 'text', 'reported'],
    'text?': ['fix'],
    number: ['sinceMs', 'seenMs'],
    'number?': ['reportedMs'],
  },
  { reported: 'told', reportedMs: 'told_ms' },
);

/** For `lock`: one process after another changes alerts. */
const alertLock = 0x63_76_6c;

/** Alerts, of all processes together, over either database. `aheadMs`: as in `JobWorker`. */
export function createAlertStore(sql: ClosableTables, aheadMs = () => 0): AlertStore & Pick<ClosableTables, 'close'> {
  const { prefix, rows, transaction, lock, close } = sql;
  const alert = `${prefix}alert`;
  const all = `SELECT * FROM ${alert}`;
  const put = alertShape.put(alert, 'name');
  return {
    async change(step) {
      // Mostly nothing is wrong: then it waits for nobody's write.
      if (isEmpty(step((await rows(all, [])).map(alertShape.read)))) return 0;
      return transaction('write', function* () {
        yield* lock(alertLock, 'alert');
        const made = step((yield* read(all, [])).map(alertShape.read));
        for (const row of made.write) yield* change(put, alertShape.cells(row));
        for (const name of made.forget) yield* change(`DELETE FROM ${alert} WHERE name = $1`, [name]);
        yield* changeAll(made.notices.map((notice) => queueStep(prefix, notice, aheadMs())));
        return made.notices.length;
      });
    },
    close,
  };
}

function isEmpty({ write, forget, notices }: AlertStep): boolean {
  return write.length + forget.length + notices.length === 0;
}
