import type { Migration } from '../migration.ts';

/** Fragments of culvert.yaml, and the credentials of those that are providers. */
export const keptMigration: Migration = {
  version: 13,
  name: 'providers and models set up at run time',
  sql: `
    CREATE TABLE culvert.kept (
      kind TEXT NOT NULL CHECK (kind IN ('provider', 'model')),
      name TEXT NOT NULL,
      definition TEXT NOT NULL,
      sealed TEXT,
      version BIGINT NOT NULL,
      created_ms BIGINT NOT NULL,
      updated_ms BIGINT NOT NULL,
      updated_by TEXT NOT NULL,
      PRIMARY KEY (kind, name)
    );
    CREATE TABLE culvert.credential (
      provider TEXT NOT NULL,
      id TEXT NOT NULL,
      sealed TEXT NOT NULL,
      hint TEXT NOT NULL,
      weight DOUBLE PRECISION NOT NULL,
      rpm BIGINT,
      created_ms BIGINT NOT NULL,
      created_by TEXT NOT NULL,
      PRIMARY KEY (provider, id)
    );
  `,
};

export const keptMcpMigration: Migration = {
  version: 22,
  name: 'MCP servers set up at run time',
  sql: `
    ALTER TABLE culvert.kept DROP CONSTRAINT kept_kind_check;
    ALTER TABLE culvert.kept ADD CONSTRAINT kept_kind_check CHECK (kind IN ('provider', 'model', 'mcp'));
  `,
};
