import type { GivenObject, ProviderObjectStore } from '../../auth/provider-object-store.ts';
import { columnsOf } from '../../ledger/columns.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Database } from './database.ts';
import { inTime, unavailable } from './unavailable.ts';

/** A caller waits for it: as for a reservation. */
const findTimeoutMs = 250;
/** A commit is there in milliseconds. */
const lookAgainAfterMs = 150;

/** Objects at providers, shared by all replicas. */
export function createPostgresProviderObjectStore({
  opens,
  rest,
}: Pick<Database, 'opens' | 'rest'>): ProviderObjectStore {
  return {
    lookAgainAfterMs,
    async give(objects) {
      await unavailable(put.into(rest.run, objects));
    },
    async find(idHashes, nowMs) {
      const { rows } = await unavailable(inTime(opens.run<ObjectColumns>(find, [idHashes, nowMs]), findTimeoutMs));
      return rows.map(givenOf);
    },
    async trim(tenant, keepMax) {
      const { changes } = await unavailable(rest.run(trim, [tenant, keepMax]));
      return changes;
    },
    async sweep(nowMs) {
      const { changes } = await unavailable(
        rest.run('DELETE FROM culvert.provider_object WHERE expires_ms <= $1', [nowMs]),
      );
      return changes;
    },
    async close() {},
  };
}

interface ObjectColumns {
  id_hash: string;
  tenant: string;
  target: string;
  credential: string;
  expires_ms: number;
}

function givenOf(row: ObjectColumns): GivenObject {
  const { id_hash: idHash, tenant, target, credential, expires_ms: expiresMs } = row;
  return { idHash, tenant, target, credential, expiresMs };
}

const put = bulkInsert<GivenObject>(
  'provider_object',
  columnsOf([
    ['id_hash', 'text'],
    ['tenant', 'text'],
    ['target', 'text'],
    ['credential', 'text'],
    ['expires_ms', 'whole'],
  ]),
  `ON CONFLICT (id_hash, tenant) DO UPDATE
    SET target = excluded.target, credential = excluded.credential, expires_ms = excluded.expires_ms`,
);
const find = {
  name: 'provider-object-find',
  text: `
    SELECT id_hash, tenant, target, credential, expires_ms FROM culvert.provider_object
    WHERE id_hash = ANY($1::text[]) AND expires_ms > $2`,
};
const trim = {
  name: 'provider-object-trim',
  text: `
    DELETE FROM culvert.provider_object AS old USING (
      SELECT id_hash FROM culvert.provider_object WHERE tenant = $1
      ORDER BY expires_ms DESC, id_hash OFFSET $2
    ) AS surplus
    WHERE old.tenant = $1 AND old.id_hash = surplus.id_hash`,
};
