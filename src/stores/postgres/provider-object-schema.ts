import type { Migration } from '../migration.ts';

/** Which tenant got which id of an object at a provider, and under which credential. */
export const providerObjectMigration: Migration = {
  version: 10,
  name: 'objects at providers',
  sql: `
    CREATE TABLE culvert.provider_object (
      id_hash TEXT NOT NULL,
      tenant TEXT NOT NULL,
      target TEXT NOT NULL,
      credential TEXT NOT NULL,
      expires_ms BIGINT NOT NULL,
      PRIMARY KEY (id_hash, tenant)
    );
    CREATE INDEX provider_object_age ON culvert.provider_object (tenant, expires_ms);
    CREATE INDEX provider_object_expiry ON culvert.provider_object (expires_ms);
  `,
};
