import type { Kysely } from 'kysely';
import type { AccountStore, Stored } from '../../books/auth/account-store.ts';
import { Conflict, change, type OwnTables, read, type SqlTables, type Work } from '../sql-tables.ts';
import {
  type AccountColumns,
  type AccountTables,
  type AuditColumns,
  auditConditions,
  auditOf,
  auditValues,
  type CredentialColumns,
  type CreditColumns,
  type InvitationColumns,
  type KeptColumns,
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
export interface AccountTablesOf extends OwnTables {
  /** The same tables, for the row that is looked at every second. */
  quick: Pick<SqlTables, 'rows'>;
  /** The same tables, where a revocation waits for no other query. */
  keys: Pick<SqlTables, 'transaction'>;
}

/** Accounts, keys, plans, providers and models that were set up at run time, and the audit log, over either database. */
export function createAccountStore(tables: AccountTablesOf): AccountStore {
  const { prefix, rows, transaction, quick, keys, close } = tables;
  let builder: Promise<Kysely<AccountTables>> | null = null;
  const version = { name: 'account-version', text: `SELECT version FROM ${prefix}store_version WHERE one = 1` };
  const provisioned = { name: 'account-scim', text: `SELECT * FROM ${prefix}scim ORDER BY created_ms, id` };
  const audited = { name: 'account-audit', text: `SELECT * FROM ${prefix}audit WHERE ${auditConditions}` };
  const toppedUp = {
    name: 'account-credit',
    text: `SELECT * FROM ${prefix}credit WHERE account = $1 ORDER BY at_ms DESC, id LIMIT $2`,
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
    close,
  };
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
    kept: yield* all<KeptColumns>(`kept ORDER BY kind ${byBytes}, name ${byBytes}`),
    credentials: yield* all<CredentialColumns>(`credential ORDER BY provider ${byBytes}, created_ms, id ${byBytes}`),
    operators: yield* all<OperatorColumns>(`operator ORDER BY name ${byBytes}`),
    invitations: yield* all<InvitationColumns>('invitation ORDER BY created_ms, id'),
  });
}
