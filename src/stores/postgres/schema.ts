import type { Migration } from '../migration.ts';
import {
  accountTable,
  grantTables,
  keptTables,
  keyIdentity,
  keyTable,
  planAndAuditTables,
  providerObjectTable,
  secretIndex,
  secretTable,
  sessionTables,
  storeVersion,
} from '../schema/accounts.ts';
import { alertTable, awayLines, batchTables, noticeTables, replyTable, responseTables } from '../schema/answers.ts';
import { crawlHookTable, crawlPageTable, crawlTable } from '../schema/crawls.ts';
import { postgresDdl } from '../schema/ddl.ts';
import { namedVectors, vectorSettings, vectorTables } from '../schema/vectors.ts';
import {
  ledgerMigration,
  nameTablesMigration,
  recordOrderMigration,
  trafficMigration,
  usageSourceMigration,
  videoSecondsMigration,
} from './ledger-schema.ts';

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

const keptMcp = `
  ALTER TABLE culvert.kept DROP CONSTRAINT kept_kind_check;
  ALTER TABLE culvert.kept ADD CONSTRAINT kept_kind_check CHECK (kind IN ('provider', 'model', 'mcp'));
`;

/** The schema `culvert`: tables and columns are named as in SQLite, where both hold the same. Never edited, only added to. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts, keys, plans, audit, replies, notices',
    sql: postgresDdl(
      accountTable,
      keyTable,
      keyIdentity,
      secretTable,
      secretIndex,
      planAndAuditTables,
      storeVersion,
      replyTable,
      noticeTables,
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
  { version: 10, name: 'objects at providers', sql: postgresDdl(providerObjectTable) },
  usageSourceMigration,
  { version: 12, name: 'named vectors', sql: postgresDdl(namedVectors) },
  { version: 13, name: 'providers and models set up at run time', sql: postgresDdl(keptTables) },
  { version: 14, name: 'operators and sessions', sql: postgresDdl(sessionTables) },
  trafficMigration,
  { version: 16, name: 'settings of collections of vectors', sql: postgresDdl(vectorSettings) },
  nameTablesMigration,
  recordOrderMigration,
  { version: 19, name: 'alerts', sql: postgresDdl(alertTable) },
  // Of these two no backup holds rows.
  { version: 20, name: 'responses and conversations', sql: postgresDdl(responseTables) },
  { version: 21, name: 'files and batches', sql: postgresDdl(batchTables) },
  { version: 22, name: 'MCP servers set up at run time', sql: keptMcp },
  { version: 23, name: 'logins at MCP servers', sql: postgresDdl(grantTables) },
  { version: 24, name: 'lines of batches at providers', sql: postgresDdl(awayLines) },
  videoSecondsMigration,
];
