import { cacheSumsOfPast, cacheUseIndex, promptCacheIndex } from '../ledger/cache-uses.ts';
import { hourDdl, nameTablesSql, narrowDdl } from '../ledger/day-sums.ts';
import { refusedIndex, sessionColumn } from '../ledger/ledger-filters.ts';
import { trafficOfPast } from '../ledger/traffic-of-past.ts';
import { unpricedOfPast } from '../ledger/unpriced-of-past.ts';
import type { Migration } from '../migration.ts';
import * as accounts from '../schema/accounts.ts';
import * as answers from '../schema/answers.ts';
import { attemptSumTable } from '../schema/attempts.ts';
import { cacheSumDdl } from '../schema/cache-sums.ts';
import { crawlHookTable, crawlPageTable, crawlTable } from '../schema/crawls.ts';
import { postgresDdl } from '../schema/ddl.ts';
import { feedbackTable, variantStateTable } from '../schema/experiments.ts';
import * as ledger from '../schema/ledger.ts';
import { repricingDdl } from '../schema/repricing.ts';
import { statementDdl } from '../schema/statements.ts';
import {
  namedVectors,
  vectorSettings,
  vectorStoreLeases,
  vectorStorePlaces,
  vectorStoreTables,
  vectorTables,
} from '../schema/vectors.ts';

/**
 * The tables that SQLite keeps in ledger.db. The key is our request id, a UUIDv7: in the C collation its order is that
 * of time, so a lookup, a page, a range of time and retention all use the primary key.
 */
const ledgerMigration: Migration = {
  version: 2,
  name: 'reservations, usage events, quota buckets, roll-ups',
  sql: postgresDdl(
    `CREATE TABLE @reservation (request_id CODE PRIMARY KEY, ${ledger.reservationColumns}, tier TEXT, quota_ms WHOLE NOT NULL);
    CREATE INDEX reservation_account ON @reservation (account);
    CREATE TABLE @usage_event (
      request_id CODE PRIMARY KEY, ${ledger.eventColumns},
      tier TEXT, quota_ms WHOLE NOT NULL, settled_ms WHOLE NOT NULL, attempts TEXT NOT NULL
    );
    CREATE INDEX usage_event_account ON @usage_event (account, request_id);`,
    ledger.clientIndex,
    ledger.bootTable,
    ledger.bucketTables,
    'CREATE INDEX rollup_account ON @rollup (account, hour);',
  ),
};

export const usageSourceMigration: Migration = {
  version: 11,
  name: 'what was counted or estimated, in roll-ups',
  sql: postgresDdl(ledger.usageSourceColumns, ledger.usageSourcesOfPast(`split_part(target, '/', 1)`)),
};

const recordOrderMigration: Migration = {
  version: 18,
  name: 'order of records and positions of sinks',
  sql: `
    -- Its one row is locked until a commit ends: positions become visible in their order, whichever replica writes.
    CREATE TABLE culvert.record_sequence (one INTEGER PRIMARY KEY CHECK (one = 1), position BIGINT NOT NULL);
    INSERT INTO culvert.record_sequence VALUES (1, 0);
    CREATE TABLE culvert.record_order (
      position BIGINT PRIMARY KEY,
      request_id TEXT COLLATE "C" NOT NULL,
      -- JSON, until all sinks have it.
      bodies TEXT
    );
    CREATE TABLE culvert.sink (
      name TEXT PRIMARY KEY,
      position BIGINT NOT NULL,
      seen_ms BIGINT NOT NULL,
      -- The process that sends, until then by the database's clock.
      holder TEXT,
      held_until_ms BIGINT NOT NULL DEFAULT 0
    );
  `,
};

/** Pages that were read. No backup keeps them: they can be read again. */
const pageTable = `
  CREATE TABLE culvert.page (
    -- Of tenant and URL: a URL may be longer than what an index holds.
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT NOT NULL,
    url TEXT NOT NULL,
    variant TEXT NOT NULL,
    fetched_ms BIGINT NOT NULL,
    chars BIGINT NOT NULL,
    title TEXT NOT NULL,
    markdown TEXT NOT NULL,
    text TEXT NOT NULL,
    html TEXT NOT NULL,
    links TEXT NOT NULL,
    metadata TEXT NOT NULL,
    words TSVECTOR NOT NULL
  );
  CREATE INDEX page_age ON culvert.page (tenant, fetched_ms, chars);
  CREATE INDEX page_fetched ON culvert.page (fetched_ms);
  CREATE INDEX page_words ON culvert.page USING gin (words);
`;

const pageVariants = `
  ALTER TABLE culvert.page
    -- A variant may be longer than what an index holds.
    ADD COLUMN variant_hash BYTEA,
    ADD COLUMN etag TEXT,
    ADD COLUMN last_modified TEXT,
    -- Those of one variant of a URL alone: a page is found once.
    ALTER COLUMN words DROP NOT NULL;
  UPDATE culvert.page SET variant_hash = sha256(convert_to(variant, 'UTF8'));
  ALTER TABLE culvert.page
    ALTER COLUMN variant_hash SET NOT NULL,
    DROP CONSTRAINT page_pkey,
    ADD PRIMARY KEY (id, variant_hash);
`;

const leaseTable = `
  CREATE TABLE culvert.lease (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    folder_id TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    -- By the database's clock, which all replicas share.
    seen_ms BIGINT NOT NULL
  );
`;

const booksTable = `
  -- No backup holds it: what is restored elsewhere is other books from then on.
  CREATE TABLE culvert.books (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL);
  INSERT INTO culvert.books VALUES (1, left(replace(gen_random_uuid()::text, '-', ''), 12));
`;

/** When crawls last began at a host, whichever replica they are of. */
const crawlTurnTable = `
  CREATE TABLE culvert.crawl_turn (
    host_hash BYTEA PRIMARY KEY,
    began_ms BIGINT NOT NULL
  );
  CREATE INDEX crawl_turn_began ON culvert.crawl_turn (began_ms);
`;

/** Lets `kept` have rows of these kinds, and of no others. */
function entriesOf(...kinds: readonly string[]): string {
  return `ALTER TABLE culvert.kept DROP CONSTRAINT kept_kind_check;
    ALTER TABLE culvert.kept ADD CONSTRAINT kept_kind_check CHECK (kind IN ('${kinds.join("', '")}'));`;
}

/** The schema `culvert`: tables and columns are named as in SQLite, where both hold the same. Never edited, only added to. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts, keys, plans, audit, replies, notices',
    sql: postgresDdl(
      accounts.accountTable,
      accounts.keyTable,
      accounts.keyIdentity,
      accounts.secretTable,
      accounts.secretIndex,
      accounts.planAndAuditTables,
      accounts.storeVersion,
      answers.replyTable,
      answers.noticeTables,
    ),
  },
  ledgerMigration,
  { version: 3, name: 'lease of a server that counts in its own memory', sql: leaseTable },
  { version: 4, name: 'name of these books', sql: booksTable },
  { version: 5, name: 'collections of vectors', sql: postgresDdl(vectorTables) },
  {
    version: 6,
    name: 'crawls',
    sql: postgresDdl(crawlTable, crawlPageTable('key_hash BYTES', 'shape_hash BYTES'), crawlHookTable),
  },
  { version: 7, name: 'pages', sql: pageTable },
  { version: 8, name: 'page variants', sql: pageVariants },
  { version: 9, name: 'crawl turns', sql: crawlTurnTable },
  { version: 10, name: 'objects at providers', sql: postgresDdl(accounts.providerObjectTable) },
  usageSourceMigration,
  { version: 12, name: 'named vectors', sql: postgresDdl(namedVectors) },
  { version: 13, name: 'providers and models set up at run time', sql: postgresDdl(accounts.entryTables) },
  { version: 14, name: 'operators and sessions', sql: postgresDdl(accounts.sessionTables) },
  {
    version: 15,
    name: 'tags, traffic by minute and hour, sums by day',
    sql: postgresDdl(ledger.tagColumn, ledger.trafficTable, trafficOfPast('culvert.'), ledger.dayTables),
  },
  { version: 16, name: 'settings of collections of vectors', sql: postgresDdl(vectorSettings) },
  { version: 17, name: 'sums by day of users and of tags', sql: nameTablesSql('culvert.', 'BIGINT', '') },
  recordOrderMigration,
  { version: 19, name: 'alerts', sql: postgresDdl(answers.alertTable) },
  // Of these two no backup holds rows.
  { version: 20, name: 'responses and conversations', sql: postgresDdl(answers.responseTables) },
  { version: 21, name: 'files and batches', sql: postgresDdl(answers.batchTables) },
  { version: 22, name: 'MCP servers set up at run time', sql: entriesOf('provider', 'model', 'mcp') },
  { version: 23, name: 'logins at MCP servers', sql: postgresDdl(accounts.grantTables) },
  { version: 24, name: 'lines of batches at providers', sql: postgresDdl(answers.awayLines) },
  { version: 25, name: 'seconds of videos', sql: postgresDdl(ledger.videoSecondsColumn) },
  {
    version: 26,
    name: 'prompts and guards set up at run time',
    sql: entriesOf('provider', 'model', 'mcp', 'prompt', 'guard'),
  },
  { version: 27, name: 'what answers from the cache saved', sql: postgresDdl(ledger.savedUsdColumn) },
  { version: 28, name: "tokens written to providers' caches", sql: postgresDdl(ledger.cacheWriteColumn) },
  { version: 29, name: 'variants of models', sql: postgresDdl(ledger.variantColumn) },
  { version: 30, name: 'what caches of models did', sql: postgresDdl(ledger.cacheColumn, cacheUseIndex('culvert.')) },
  { version: 31, name: 'feedback to requests', sql: postgresDdl(feedbackTable) },
  { version: 32, name: 'guards of accounts and keys', sql: postgresDdl(accounts.guardColumns) },
  { version: 33, name: 'variants that were taken out', sql: postgresDdl(variantStateTable) },
  { version: 34, name: "sums of providers' caches", sql: promptCacheIndex('culvert.') },
  { version: 35, name: 'refused requests in lists', sql: refusedIndex('culvert.') },
  { version: 36, name: 'sums of attempts', sql: postgresDdl(attemptSumTable) },
  { version: 37, name: 'sums of caches', sql: `${postgresDdl(cacheSumDdl)} ${cacheSumsOfPast('culvert.')}` },
  { version: 38, name: 'extra budgets of accounts', sql: postgresDdl(accounts.extraBudgetColumn) },
  { version: 39, name: 'requests without a price, in sums', sql: unpricedOfPast('culvert.') },
  {
    version: 40,
    name: 'budgets within accounts',
    sql: postgresDdl(ledger.furtherScopeColumns, accounts.budgetsColumn),
  },
  {
    version: 41,
    name: 'what processes tell of themselves',
    sql: 'ALTER TABLE culvert.boot ADD COLUMN facts TEXT, ADD COLUMN ended_ms BIGINT',
  },
  { version: 42, name: 'members and invitations', sql: postgresDdl(accounts.memberTables) },
  { version: 43, name: 'recalculations', sql: postgresDdl(repricingDdl) },
  { version: 44, name: 'credit of accounts', sql: postgresDdl(accounts.creditTable) },
  { version: 45, name: 'closed statements', sql: postgresDdl(statementDdl) },
  { version: 46, name: 'users and groups of a directory', sql: postgresDdl(accounts.scimTable) },
  { version: 47, name: 'tags of keys', sql: postgresDdl(accounts.keyTagsColumn) },
  // Of these no backup holds rows, as of files.
  { version: 48, name: 'vector stores and their files', sql: postgresDdl(vectorStoreTables) },
  { version: 49, name: 'addresses that keys were used from', sql: postgresDdl(accounts.keyPlaceTable) },
  { version: 50, name: 'sessions of requests', sql: sessionColumn('culvert.', 'request_id') },
  // Of these no backup holds rows.
  { version: 51, name: 'bodies', sql: postgresDdl(accounts.bodyRuleTable, answers.bodyTable) },
  {
    version: 52,
    name: 'rules for routes set up at run time',
    sql: entriesOf('provider', 'model', 'mcp', 'prompt', 'guard', 'route'),
  },
  { version: 53, name: 'history of notices and alerts', sql: postgresDdl(answers.noticeHistory) },
  {
    version: 54,
    name: 'agents set up at run time',
    sql: entriesOf('provider', 'model', 'mcp', 'prompt', 'guard', 'route', 'agent'),
  },
  { version: 55, name: 'signatures of bodies', sql: postgresDdl(answers.bodySignatureTable) },
  // Of these no backup holds rows.
  { version: 56, name: 'assertions of SAML that were used', sql: postgresDdl(accounts.usedAssertionTable) },
  { version: 57, name: 'data rules of accounts', sql: postgresDdl(accounts.dataRuleColumn) },
  // Of these no backup holds rows: wider tables have the same.
  { version: 58, name: 'narrow sums by day', sql: postgresDdl(narrowDdl) },
  { version: 59, name: 'sums by hour of users and of tags', sql: postgresDdl(hourDdl) },
  // Of these no backup holds rows.
  { version: 60, name: 'places of files removed from vector stores', sql: postgresDdl(vectorStorePlaces) },
  { version: 61, name: 'places of items removed from conversations', sql: postgresDdl(answers.conversationPlaces) },
  // Of these no backup holds rows.
  { version: 62, name: 'sizes of pictures', sql: postgresDdl(answers.pictureTable) },
  {
    version: 63,
    name: 'why sinks accept nothing',
    sql: 'ALTER TABLE culvert.sink ADD COLUMN failure TEXT, ADD COLUMN behind_ms BIGINT',
  },
  // Of these no backup holds rows.
  { version: 64, name: 'rows that changed', sql: postgresDdl(accounts.rowChangeTable) + changeTriggers() },
  { version: 65, name: 'indexes for upkeep', sql: postgresDdl(answers.batchUpkeep, vectorStoreLeases) },
];

function changeTriggers(): string {
  const noting = (table: string, each: 'ROW' | 'STATEMENT', names: string) => `
    CREATE TRIGGER row_change AFTER INSERT OR UPDATE OR DELETE ON culvert.${table}
      FOR EACH ${each} EXECUTE FUNCTION culvert.note_row_change(${names});`;
  const rows = accounts.rowsNoted.map(([table, kind, column]) => noting(table, 'ROW', `'${kind}', '${column}'`));
  const tables = accounts.tablesNoted.map((table) => noting(table, 'STATEMENT', `'${table}'`));
  const triggers = [...rows, ...tables].join('');
  return `
    CREATE FUNCTION culvert.note_row_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO culvert.row_change
        SELECT TG_ARGV[0],
          CASE WHEN TG_LEVEL = 'STATEMENT' THEN ''
            ELSE to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END) ->> TG_ARGV[1] END,
          version + 1
        FROM culvert.store_version
      ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version;
      RETURN NULL;
    END $$;
    ${triggers}`;
}
