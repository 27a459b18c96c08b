import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from './database.ts';
import { patiently } from './patient-transaction.ts';

/** In one transaction: answers that give out ids wait for it. */
const batchRows = 500;
/** Between two batches, so that they get in first. */
const pauseMs = 20;

/** Removes a tenant's oldest objects beyond `keepMax`, with those of the same moment as the last; resolves to how many. */
export async function trimObjects(database: Database, tenant: string, keepMax: number): Promise<number> {
  const oldest = database
    .prepare('SELECT expires_ms FROM provider_object WHERE tenant = ? ORDER BY expires_ms DESC LIMIT 1 OFFSET ?')
    .get(tenant, keepMax);
  if (oldest === undefined) return 0;
  return removeWhere(database, 'tenant = ? AND expires_ms <= ?', [tenant, Number(oldest.expires_ms)]);
}

/** Removes what expired; resolves to how many. */
export function sweepObjects(database: Database, nowMs: number): Promise<number> {
  return removeWhere(database, 'expires_ms <= ?', [nowMs]);
}

async function removeWhere(database: Database, where: string, values: readonly (string | number)[]): Promise<number> {
  const remove = database.prepare(
    `DELETE FROM provider_object WHERE (id_hash, tenant) IN (
       SELECT id_hash, tenant FROM provider_object WHERE ${where} ORDER BY expires_ms LIMIT ${batchRows})`,
  );
  let removed = 0;
  for (;;) {
    const batch = await patiently(database, () => Number(remove.run(...values).changes));
    removed += batch;
    if (batch < batchRows) return removed;
    await pause(pauseMs);
  }
}
