import { type Migration, NewerSchema, type SchemaState } from '../migration.ts';
import type { Connections, Run } from './database.ts';
import { migrations } from './schema.ts';

/** A number that no other program takes: the first bytes of `culvert`. */
const lockId = 0x63_75_6c_76;

/**
 * Brings the tables up to date; returns the names of the steps taken. All steps are one transaction under an advisory
 * lock, so of two replicas that start at once the second finds the work done. `onWait` gets a sentence where it waits for
 * the other one. Refuses tables of a newer Culvert.
 */
export async function migrate(
  connections: Connections,
  place: string,
  steps: readonly Migration[] = migrations,
  onWait: (message: string) => void = () => undefined,
): Promise<string[]> {
  // Without the lock first: every start but the first after an upgrade ends here.
  if ((await currentVersion(connections.run)) === steps.length) return [];
  return connections.transaction('write', async (run) => {
    // Another replica's steps may take a while: longer than a statement otherwise may.
    await run(`SET LOCAL statement_timeout = ${migrationTimeoutMs}`);
    const answerMaxMs = migrationTimeoutMs;
    const { rows } = await run<{ free: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS free', [lockId]);
    if (rows[0]?.free !== true) {
      onWait(
        `Waiting for another process that brings the tables of ${place} up to date, at most ${migrationTimeoutMs / 60_000} minutes.`,
      );
      await run({ text: 'SELECT pg_advisory_xact_lock($1)', answerMaxMs }, [lockId]);
    }
    const current = await currentVersion(run);
    if (current > steps.length) throw new NewerSchema(`The database ${place}`, current, steps.length, null);
    const pending = steps.filter((step) => step.version > current);
    if (current === 0) await createSchema(run);
    for (const step of pending) {
      await run({ text: step.sql, answerMaxMs });
      await run('INSERT INTO culvert.migration VALUES ($1, $2)', [step.version, step.name]);
    }
    return pending.map((step) => step.name);
  });
}

const migrationTimeoutMs = 600_000;

/** The steps that `migrate` would take. */
export async function pendingMigrations(connections: Connections, place: string): Promise<SchemaState[]> {
  const current = await currentVersion(connections.run);
  const pending = migrations.filter((step) => step.version > current).map((step) => step.name);
  return [{ database: place, current, pending }];
}

async function currentVersion(run: Run): Promise<number> {
  // Not to_regclass: it may answer from before another replica's commit.
  const { rows } = await run(`SELECT FROM pg_tables WHERE schemaname = 'culvert' AND tablename = 'migration'`);
  if (rows.length === 0) return 0;
  const { rows: found } = await run<{ version: number }>(
    'SELECT coalesce(max(version), 0)::bigint AS version FROM culvert.migration',
  );
  return found[0]?.version ?? 0;
}

/** An administrator may have made the schema for a user who may not create one. */
async function createSchema(run: Run): Promise<void> {
  const { rows } = await run(`SELECT FROM pg_namespace WHERE nspname = 'culvert'`);
  if (rows.length === 0) await run('CREATE SCHEMA culvert');
  await run('CREATE TABLE IF NOT EXISTS culvert.migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL)');
}
