import type { Migration } from '../migration.ts';

export const leaseMigration: Migration = {
  version: 3,
  name: 'lease of a server that counts in its own memory',
  sql: `
    CREATE TABLE culvert.lease (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      folder_id TEXT NOT NULL,
      boot_id TEXT NOT NULL,
      -- By the database's clock, which all replicas share.
      seen_ms BIGINT NOT NULL
    );
  `,
};
