import type { Migration } from '../migration.ts';
import * as accounts from '../schema/accounts.ts';
import * as answers from '../schema/answers.ts';
import { crawlHookTable, crawlPageTable, crawlTable } from '../schema/crawls.ts';
import { sqliteDdl } from '../schema/ddl.ts';
import {
  namedVectors,
  vectorSettings,
  vectorStoreLeases,
  vectorStorePlaces,
  vectorStoreTables,
  vectorTables,
} from '../schema/vectors.ts';
import type { Database, Durability } from './database.ts';
import { migrateWithCopy, openMigrated } from './migrations.ts';

/** Opens or creates `culvert.db`, brought up to date. A caller that finds it locked tries again (`transaction`). */
export function openCulvertDatabase(file: string, durability: Durability): Database {
  const database = openMigrated(file, durability, (opened) => migrateWithCopy(opened, culvertMigrations));
  database.exec('PRAGMA busy_timeout = 0');
  return database;
}

export const culvertMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts and keys',
    sql: sqliteDdl(
      accounts.accountTable,
      `CREATE TABLE api_key (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL REFERENCES account (id),
        name TEXT NOT NULL,
        prefix TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL CHECK (kind IN ('user', 'admin')),
        expires_ms INTEGER,
        models TEXT,
        created_ms INTEGER NOT NULL,
        revoked_ms INTEGER
      ) STRICT;`,
      accounts.keyIdentity,
      accounts.storeVersion,
    ),
  },
  {
    version: 2,
    name: 'secrets by key, plans, audit, replies, notices',
    sql: sqliteDdl(
      `ALTER TABLE api_key RENAME TO api_key_1;
      DROP INDEX api_key_identity;`,
      accounts.keyTable,
      `INSERT INTO api_key (id, account, name, tenant, prefix, kind, expires_ms, models, created_ms, revoked_ms)
        SELECT id, account, name, account || '/' || name, prefix, kind, expires_ms, models, created_ms, revoked_ms
        FROM api_key_1;`,
      accounts.keyIdentity,
      accounts.secretTable,
      'INSERT INTO api_key_secret (hash, key_id) SELECT hash, id FROM api_key_1;',
      accounts.secretIndex,
      'DROP TABLE api_key_1;',
      accounts.planAndAuditTables,
      answers.replyTable,
      answers.noticeTables,
    ),
  },
  { version: 3, name: 'collections of vectors', sql: sqliteDdl(vectorTables) },
  { version: 4, name: 'objects at providers', sql: sqliteDdl(accounts.providerObjectTable) },
  { version: 5, name: 'named vectors', sql: sqliteDdl(namedVectors) },
  { version: 6, name: 'providers and models set up at run time', sql: sqliteDdl(accounts.entryTables) },
  { version: 7, name: 'operators and sessions', sql: sqliteDdl(accounts.sessionTables) },
  { version: 8, name: 'settings of collections of vectors', sql: sqliteDdl(vectorSettings) },
  { version: 9, name: 'alerts', sql: sqliteDdl(answers.alertTable) },
  { version: 10, name: 'MCP servers set up at run time', sql: entryTable(9, "'provider', 'model', 'mcp'") },
  { version: 11, name: 'logins at MCP servers', sql: sqliteDdl(accounts.grantTables) },
  {
    version: 12,
    name: 'prompts and guards set up at run time',
    sql: entryTable(11, "'provider', 'model', 'mcp', 'prompt', 'guard'"),
  },
  { version: 13, name: 'guards of accounts and keys', sql: sqliteDdl(accounts.guardColumns) },
  { version: 14, name: 'extra budgets of accounts', sql: sqliteDdl(accounts.extraBudgetColumn) },
  { version: 15, name: 'budgets within accounts', sql: sqliteDdl(accounts.budgetsColumn) },
  { version: 16, name: 'members and invitations', sql: sqliteDdl(accounts.memberTables) },
  { version: 17, name: 'credit of accounts', sql: sqliteDdl(accounts.creditTable) },
  { version: 18, name: 'users and groups of a directory', sql: sqliteDdl(accounts.scimTable) },
  { version: 19, name: 'tags of keys', sql: sqliteDdl(accounts.keyTagsColumn) },
  { version: 20, name: 'addresses that keys were used from', sql: sqliteDdl(accounts.keyPlaceTable) },
  { version: 21, name: 'whose bodies are kept', sql: sqliteDdl(accounts.bodyRuleTable) },
  {
    version: 22,
    name: 'rules for routes set up at run time',
    sql: entryTable(21, "'provider', 'model', 'mcp', 'prompt', 'guard', 'route'"),
  },
  { version: 23, name: 'history of notices and alerts', sql: sqliteDdl(answers.noticeHistory) },
  {
    version: 24,
    name: 'agents set up at run time',
    sql: entryTable(23, "'provider', 'model', 'mcp', 'prompt', 'guard', 'route', 'agent'"),
  },
  { version: 25, name: 'assertions of SAML that were used', sql: sqliteDdl(accounts.usedAssertionTable) },
  { version: 26, name: 'data rules of accounts', sql: sqliteDdl(accounts.dataRuleColumn) },
  { version: 27, name: 'sizes of pictures', sql: sqliteDdl(answers.pictureTable) },
  { version: 28, name: 'rows that changed', sql: sqliteDdl(accounts.rowChangeTable) + changeTriggers() },
];

function changeTriggers(): string {
  const noting = (table: string, kind: string, column: string | null) =>
    (['INSERT', 'UPDATE', 'DELETE'] as const).map((event) => {
      const row = event === 'DELETE' ? 'OLD' : 'NEW';
      const id = column === null ? "''" : `${row}.${column}`;
      return `CREATE TRIGGER ${table}_${event} AFTER ${event} ON ${table} BEGIN
        INSERT INTO row_change VALUES ('${kind}', ${id}, (SELECT version + 1 FROM store_version))
        ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version;
      END;`;
    });
  return [
    ...accounts.rowsNoted.flatMap(([table, kind, column]) => noting(table, kind, column)),
    ...accounts.tablesNoted.flatMap((table) => noting(table, table, null)),
  ].join('\n');
}

/** Makes the table of what is set up at run time anew, for these kinds of it. SQLite changes no check. */
function entryTable(before: number, kinds: string): string {
  return `
      ALTER TABLE kept RENAME TO kept_${before};
      CREATE TABLE kept (
        kind TEXT NOT NULL CHECK (kind IN (${kinds})),
        name TEXT NOT NULL,
        definition TEXT NOT NULL,
        sealed TEXT,
        version INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        updated_by TEXT NOT NULL,
        PRIMARY KEY (kind, name)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO kept SELECT * FROM kept_${before};
      DROP TABLE kept_${before};
    `;
}

/** `responses.db`. A separate file: it may grow to many GB, and its writes would hold up those of accounts. */
export const responseMigrations: readonly Migration[] = [
  { version: 1, name: 'responses and conversations', sql: sqliteDdl(answers.responseTables) },
  { version: 2, name: 'places of removed items', sql: sqliteDdl(answers.conversationPlaces) },
];

/** `batches.db`. A separate file for the same reason. */
export const batchMigrations: readonly Migration[] = [
  { version: 1, name: 'files and batches', sql: sqliteDdl(answers.batchTables) },
  { version: 2, name: 'lines at providers', sql: sqliteDdl(answers.awayLines) },
  { version: 3, name: 'indexes for upkeep', sql: sqliteDdl(answers.batchUpkeep) },
];

/** `bodies.db`: what callers sent and got, where an operator wants it. A separate file for the same reason. */
export const bodyMigrations: readonly Migration[] = [
  { version: 1, name: 'bodies', sql: sqliteDdl(answers.bodyTable) },
  { version: 2, name: 'signatures of bodies', sql: sqliteDdl(answers.bodySignatureTable) },
];

/** `vector-stores.db`. A separate file, so that none is there where nobody has a store. */
export const vectorStoreMigrations: readonly Migration[] = [
  { version: 1, name: 'vector stores and their files', sql: sqliteDdl(vectorStoreTables) },
  { version: 2, name: 'places of removed files', sql: sqliteDdl(vectorStorePlaces) },
  { version: 3, name: 'leased files', sql: sqliteDdl(vectorStoreLeases) },
];

/** `crawl.db`: what crawls have read. A separate file for the same reason. */
export const crawlMigrations: readonly Migration[] = [
  { version: 1, name: 'crawls', sql: sqliteDdl(crawlTable, crawlPageTable('key TEXT', 'shape TEXT'), crawlHookTable) },
];

/** Databases of the data folder that are opened when a request first needs them, and whose changed files are copied. */
export const laterMigrations: Readonly<Record<string, readonly Migration[]>> = {
  'crawl.db': crawlMigrations,
  'responses.db': responseMigrations,
  'batches.db': batchMigrations,
  'bodies.db': bodyMigrations,
  'vector-stores.db': vectorStoreMigrations,
};
