import type { Kysely } from 'kysely';
import type { AccountStore, KeyPlace, Stored } from '../../books/auth/account-store.ts';
import { keyPlacesMax } from '../../kernel/limits.ts';
import { type ClosableTables, Conflict, change, read, type SqlTables, type Work } from '../sql-tables.ts';
import {
  type AccountColumns,
  type AccountTables,
  type AuditColumns,
  auditConditions,
  auditOf,
  auditValues,
  type BodyRuleColumns,
  type CredentialColumns,
  type CreditColumns,
  type EntryColumns,
  type InvitationColumns,
  type KeyColumns,
  type OperatorColumns,
  type PlanColumns,
  type ScimColumns,
  type SecretColumns,
  scimOf,
  storedOf,
  topUpOf,
} from './account-rows.ts';
import { accountQueries, stepsOf } from './account-steps.ts';

/** Tables of accounts, in either database. Where they cannot be used, everything rejects `quota-unavailable`. */
export interface AccountTablesOf extends ClosableTables {
  /** The same tables, for the row that is looked at every second. */
  quick: Pick<SqlTables, 'rows'>;
  /** The same tables, where a revocation waits for no other query. */
  keys: Pick<SqlTables, 'transaction'>;
}

/** Accounts, keys, plans, providers and models that were set up at run time, and the audit log, over either database. */
export function createAccountStore(tables: AccountTablesOf): AccountStore {
  const { prefix, rows, write, transaction, quick, keys, close } = tables;
  let builder: Promise<Kysely<AccountTables>> | null = null;
  const version = { name: 'account-version', text: `SELECT version FROM ${prefix}store_version WHERE one = 1` };
  const provisioned = { name: 'account-scim', text: `SELECT * FROM ${prefix}scim ORDER BY created_ms, id` };
  const audited = { name: 'account-audit', text: `SELECT * FROM ${prefix}audit WHERE ${auditConditions}` };
  const toppedUp = {
    name: 'account-credit',
    text: `SELECT * FROM ${prefix}credit WHERE account = $1 ORDER BY at_ms DESC, id LIMIT $2`,
  };
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
    // One snapshot for all reads: a rotation between two of them would leave a key without a secret.
    load: () => keys.transaction('snapshot', () => stored(tables)),
    async version() {
      const [row] = await quick.rows(version, []);
      return Number(row?.version ?? 0);
    },
    async apply(changes, audit) {
      builder ??= accountQueries(prefix);
      const steps = stepsOf(await builder, changes, audit);
      try {
        await transaction('write', function* () {
          for (const { query, must } of steps) {
            const changed = yield* change(query.sql, query.parameters);
            if (must && changed === 0) throw new Conflict('absent');
          }
        });
        return 'done';
      } catch (error) {
        if (error instanceof Conflict) return error.kind;
        throw error;
      }
    },
    async scim() {
      return (await rows(provisioned, [])).map((row) => scimOf(row as ScimColumns));
    },
    async audit(query) {
      return (await rows(audited, auditValues(query))).map((row) => auditOf(row as StoredAudit));
    },
    async topUps(account, limit) {
      return (await rows(toppedUp, [account, limit])).map((row) => topUpOf(row as StoredTopUp));
    },
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
      return (await rows(places, [keyId])).map(keyPlaceOf);
    },
    close,
  };
}

const placeOf = ({ keyId, address }: { keyId: string; address: string }) => `${keyId} ${address}`;

function keyPlaceOf(row: Record<string, unknown>): KeyPlace {
  const { address, requests, first_ms, last_ms } = row;
  return { address: String(address), requests: Number(requests), firstMs: Number(first_ms), lastMs: Number(last_ms) };
}

type StoredTopUp = CreditColumns & Record<string, unknown>;
type StoredAudit = AuditColumns & { id: number };

function* stored({ prefix, byBytes }: SqlTables): Work<Stored> {
  const all = function* <Columns>(text: string): Work<Columns[]> {
    return (yield* read(`SELECT * FROM ${prefix}${text}`, [])) as Columns[];
  };
  return storedOf({
    accounts: yield* all<AccountColumns>('account ORDER BY id'),
    keys: yield* all<KeyColumns>('api_key ORDER BY created_ms, id'),
    // The one that lasts first.
    secrets: yield* all<SecretColumns>('api_key_secret ORDER BY key_id, until_ms DESC NULLS FIRST, hash'),
    plans: yield* all<PlanColumns>('plan ORDER BY name'),
    entries: yield* all<EntryColumns>(`kept ORDER BY kind ${byBytes}, name ${byBytes}`),
    credentials: yield* all<CredentialColumns>(`credential ORDER BY provider ${byBytes}, created_ms, id ${byBytes}`),
    operators: yield* all<OperatorColumns>(`operator ORDER BY name ${byBytes}`),
    invitations: yield* all<InvitationColumns>(`invitation ORDER BY created_ms, id ${byBytes}`),
    bodyRules: yield* all<BodyRuleColumns>(`body_rule ORDER BY created_ms, id ${byBytes}`),
  });
}
