import type { Lease } from '../kernel/leased-jobs.ts';
import type { SqlTables } from './sql-tables.ts';

/** The leases of a table of durable jobs; `open` is the condition of those that have not ended. See `JobStore`. */
export function leasedRows({ rows, run }: SqlTables, table: string, open: string) {
  const free = `${open} AND lease_until_ms <= $1`;
  return {
    /** Condition of jobs that nobody works at; $1 is now. */
    free,
    /** Leases are looked for all the time, and mostly there are none: this look waits for nobody's write. */
    isSomeFree: async (nowMs: number) =>
      (await rows(`SELECT 1 AS one FROM ${table} WHERE ${free} LIMIT 1`, [nowMs])).length > 0,
    async renew({ id, worker }: Lease, untilMs: number) {
      const sql = `UPDATE ${table} SET lease_until_ms = $3 WHERE id = $1 AND worker = $2 AND ${open}`;
      return (await run(sql, [id, worker, untilMs])) === 1;
    },
    async release(of: { worker: string } | { allBut: string }) {
      const [which, name] =
        'worker' in of ? ['worker = $1', of.worker] : ['substr(worker, 1, length($1)) <> $1', of.allBut];
      const sql = `UPDATE ${table} SET worker = NULL, lease_until_ms = 0 WHERE ${open} AND ${which}`;
      await run(sql, [name]);
    },
  };
}
