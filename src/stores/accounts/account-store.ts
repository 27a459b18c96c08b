import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AccountStore, AuditRow, KeyPlace } from '../../books/auth/account-store.ts';
import { keyPlacesMax } from '../../kernel/limits.ts';
import { rowShape } from '../row-shape.ts';
import { type ClosableTables, Conflict, change, type SqlTables } from '../sql-tables.ts';
import { auditConditions, auditShape, auditValues, scimShape, topUpShape } from './account-rows.ts';
import { AccountSteps } from './account-steps.ts';
import { createLoad } from './load-accounts.ts';

/** Tables of accounts, in either database. Where they cannot be used, everything rejects `quota-unavailable`. */
export interface AccountTablesOf extends ClosableTables {
  /** The same tables, for the row that is looked at every second. */
  quick: Pick<SqlTables, 'rows'>;
  /** The same tables, where a revocation waits for no other query. */
  keys: Pick<SqlTables, 'transaction'>;
}

/** Rows of the audit log that one turn of the loop goes through: a filter may match none of millions. */
const auditedAtOnce = 20_000;

/** Accounts, keys, plans, providers and models that were set up at run time, and the audit log, over either database. */
export function createAccountStore(tables: AccountTablesOf): AccountStore {
  const { prefix, rows, transaction, quick, close } = tables;
  const steps = new AccountSteps(prefix);
  const version = { name: 'account-version', text: `SELECT version FROM ${prefix}store_version WHERE one = 1` };
  const provisioned = { name: 'account-scim', text: `SELECT * FROM ${prefix}scim ORDER BY created_ms, id` };
  const audited = { name: 'account-audit', text: `SELECT * FROM ${prefix}audit WHERE ${auditConditions}` };
  const newestAudited = { name: 'account-newest-audit', text: `SELECT max(id) AS id FROM ${prefix}audit` };
  const toppedUp = {
    name: 'account-credit',
    text: `SELECT * FROM ${prefix}credit WHERE account = $1 ORDER BY at_ms DESC, id LIMIT $2`,
  };
  return {
    load: createLoad(tables),
    async version() {
      const [row] = await quick.rows(version, []);
      return Number(row?.version ?? 0);
    },
    async apply(changes, audit) {
      try {
        await transaction('write', function* () {
          for (const { sql, values, must } of steps.of(changes, audit)) {
            if ((yield* change(sql, values)) === 0 && must) throw new Conflict('absent');
          }
        });
        return 'done';
      } catch (error) {
        if (error instanceof Conflict) return error.kind;
        throw error;
      }
    },
    async scim() {
      return (await rows(provisioned, [])).map(scimShape.read);
    },
    async audit(query) {
      const [newest] = await rows(newestAudited, []);
      const found: AuditRow[] = [];
      for (let before = Math.min(query.before ?? Number.MAX_SAFE_INTEGER, Number(newest?.id ?? 0) + 1); ; ) {
        const from = before - auditedAtOnce;
        const some = await rows(audited, auditValues({ ...query, before, from, limit: query.limit - found.length }));
        for (const row of some) found.push({ id: Number(row.id), ...auditShape.read(row) });
        if (from <= 0 || found.length === query.limit) return found;
        before = from;
        await nextTurn();
      }
    },
    async topUps(account, limit) {
      return (await rows(toppedUp, [account, limit])).map(topUpShape.read);
    },
    ...keyPlaces(tables),
    close,
  };
}

const placeShape = rowShape<KeyPlace>()({ text: ['address'], number: ['requests', 'firstMs', 'lastMs'] });

/** Addresses that keys were used from. */
function keyPlaces({ prefix, rows, write }: SqlTables): Pick<AccountStore, 'usedFrom' | 'places'> {
  const place = `${prefix}key_place`;
  const added = `INSERT INTO ${place} AS held (key_id, address, requests, first_ms, last_ms) VALUES ($1, $2, $3, $4, $4)
    ON CONFLICT (key_id, address) DO UPDATE SET requests = held.requests + excluded.requests, last_ms = excluded.last_ms`;
  const lastOfKey = `SELECT address FROM ${place} WHERE key_id = $1 ORDER BY last_ms DESC, address`;
  const surplus = `DELETE FROM ${place} WHERE key_id = $1 AND address NOT IN (${lastOfKey} LIMIT $2)`;
  const places = {
    name: 'account-key-places',
    text: `SELECT * FROM ${place} WHERE key_id = $1 ORDER BY last_ms DESC, address`,
  };
  return {
    async usedFrom(counts, atMs) {
      // In one order, or two replicas could wait for each other.
      const ordered = counts.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
      await write([
        ...ordered.map(({ keyId, address, requests }) => ({ sql: added, values: [keyId, address, requests, atMs] })),
        ...[...new Set(ordered.map(({ keyId }) => keyId))].map((keyId) => ({
          sql: surplus,
          values: [keyId, keyPlacesMax],
        })),
      ]);
    },
    async places(keyId) {
      return (await rows(places, [keyId])).map(placeShape.read);
    },
  };
}

const placeOf = ({ keyId, address }: { keyId: string; address: string }) => `${keyId} ${address}`;
