import type { GivenObject, ProviderObjectStore } from '../../auth/provider-object-store.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { isPassing, sqliteCode } from './database.ts';
import { createHousekeeper, createLateCheckpoint } from './housekeeper.ts';
import { transaction, unavailable } from './transaction.ts';

/**
 * Objects at providers in `culvert.db`. An id is written before its answer goes on, so a kill loses none. A power cut
 * may take the last ones, which are then as unknown as those of others; so no turn of the loop waits for the disk.
 */
export function openSqliteProviderObjectStore(options: {
  file: string;
  /** Hears of failed housekeeping. For the log. */
  onTrouble: (message: string) => void;
}): ProviderObjectStore {
  const { file, onTrouble } = options;
  const database = openCulvertDatabase(file, 'checkpoint');
  const housekeeper = createHousekeeper(file);
  const log = createLateCheckpoint(database, housekeeper, (error) =>
    onTrouble(`objects at providers: checkpoint failed: ${String(error)}`),
  );
  const put = database.prepare('INSERT OR REPLACE INTO provider_object VALUES (?, ?, ?, ?, ?)');
  const select = database.prepare('SELECT * FROM provider_object WHERE id_hash = ? AND expires_ms > ?');

  function rowsOf(idHash: string, nowMs: number): GivenObject[] {
    try {
      return select.all(idHash, nowMs).map(givenOf);
    } catch (error) {
      throw isPassing(sqliteCode(error)) ? unavailable(error) : error;
    }
  }

  return {
    lookAgainAfterMs: null,
    async give(objects) {
      await transaction(database, () => {
        for (const { idHash, tenant, target, credential, expiresMs } of objects) {
          put.run(idHash, tenant, target, credential, expiresMs);
        }
      });
      log.wrote();
    },
    async find(idHashes, nowMs) {
      return idHashes.flatMap((idHash) => rowsOf(idHash, nowMs));
    },
    trim: (tenant, keepMax) => housekeeper.trimObjects(tenant, keepMax),
    sweep: (nowMs) => housekeeper.sweepObjects(nowMs),
    async close() {
      await housekeeper.close();
      database.close();
    },
  };
}

function givenOf(row: Record<string, unknown>): GivenObject {
  return {
    idHash: String(row.id_hash),
    tenant: String(row.tenant),
    target: String(row.target),
    credential: String(row.credential),
    expiresMs: Number(row.expires_ms),
  };
}
