import type { AlertRow, AlertStore } from '../../metering/alert-store.ts';
import type { Migration } from '../migration.ts';
import type { Database, Run } from './database.ts';
import { unavailable } from './unavailable.ts';

export const alertMigration: Migration = {
  version: 19,
  name: 'alerts',
  sql: `
    CREATE TABLE culvert.alert (
      name TEXT PRIMARY KEY,
      severity TEXT NOT NULL,
      text TEXT NOT NULL,
      fix TEXT,
      since_ms BIGINT NOT NULL,
      seen_ms BIGINT NOT NULL,
      told TEXT NOT NULL,
      told_ms BIGINT
    );
  `,
};

/** Alerts in PostgreSQL, of all replicas together. */
export function createPostgresAlertStore({ rest }: Pick<Database, 'rest'>): AlertStore {
  const rows = async (run: Run): Promise<AlertRow[]> => (await run<AlertRow>(all)).rows;
  return {
    change: (step) =>
      unavailable(
        (async () => {
          // Mostly nothing is wrong: then no lock is taken.
          const first = step(await rows(rest.run));
          if (first.write.length + first.forget.length + first.notices.length === 0) return 0;
          return rest.transaction('write', async (run) => {
            await run('LOCK TABLE culvert.alert IN SHARE ROW EXCLUSIVE MODE');
            const { write, forget, notices } = step(await rows(run));
            for (const row of write) {
              const { name, severity, text, fix, sinceMs, seenMs, told, toldMs } = row;
              await run(upsert, [name, severity, text, fix, sinceMs, seenMs, told, toldMs]);
            }
            if (forget.length > 0) await run('DELETE FROM culvert.alert WHERE name = ANY($1)', [forget]);
            for (const { id, plan, body, createdMs, tries } of notices) {
              await run(
                `INSERT INTO culvert.notice (id, plan, body, created_ms, tries, next_ms)
                 VALUES ($1, $2, $3, $4::bigint, $5, $4::bigint)`,
                [id, plan, body, createdMs, tries],
              );
            }
            return notices.length;
          });
        })(),
      ),
  };
}

const all = `
  SELECT name, severity, text, fix, since_ms AS "sinceMs", seen_ms AS "seenMs", told, told_ms AS "toldMs"
  FROM culvert.alert`;
const upsert = {
  name: 'alert-write',
  text: `
    INSERT INTO culvert.alert (name, severity, text, fix, since_ms, seen_ms, told, told_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (name) DO UPDATE SET severity = excluded.severity, text = excluded.text, fix = excluded.fix,
      since_ms = excluded.since_ms, seen_ms = excluded.seen_ms, told = excluded.told, told_ms = excluded.told_ms`,
};
