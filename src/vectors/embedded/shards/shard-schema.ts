import { allShards, shardCount } from './shard-of.ts';

/** Bytes of a point's row, its id and their index, without vector and payload. */
export const pointOverheadBytes = 64;

const firstVersion = `
  CREATE TABLE shard (number INTEGER NOT NULL, count INTEGER NOT NULL);
  CREATE TABLE collection (
    cid INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, name TEXT NOT NULL, account TEXT NOT NULL,
    size INTEGER NOT NULL, distance TEXT NOT NULL, model TEXT, points INTEGER NOT NULL, seq INTEGER NOT NULL,
    indexes TEXT NOT NULL, sum INTEGER NOT NULL, UNIQUE (tenant, name)
  );
  CREATE TABLE alias (tenant TEXT NOT NULL, alias TEXT NOT NULL, cid INTEGER NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (tenant, alias)) WITHOUT ROWID;
  CREATE INDEX alias_of ON alias (cid);
  CREATE TABLE point (
    key INTEGER PRIMARY KEY, cid INTEGER NOT NULL, id NUMERIC NOT NULL, sum INTEGER NOT NULL,
    vector_sum INTEGER NOT NULL, payload TEXT, vector BLOB NOT NULL
  );
  CREATE UNIQUE INDEX point_id ON point (cid, id);
  CREATE TABLE doomed (cid INTEGER PRIMARY KEY, sum INTEGER NOT NULL);
`;

/**
 * Bytes of a collection's points: changed with every write of it, and never read for an answer. The rows of all points
 * are read once: seconds for many GB.
 */
const secondVersion = `
  CREATE TABLE kept (cid INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
  INSERT INTO kept SELECT cid, 0 FROM collection;
  INSERT OR REPLACE INTO kept
    SELECT cid, sum(length(vector) + coalesce(octet_length(payload), 0) + ${pointOverheadBytes}) FROM point NOT INDEXED
    WHERE cid IN (SELECT cid FROM collection) GROUP BY cid;
`;

/** Named vectors. `more`: JSON of a collection's parts other than its unnamed vector; null in those made before. */
const thirdVersion = `
  ALTER TABLE collection ADD COLUMN more TEXT;
  CREATE TABLE field (
    fid INTEGER PRIMARY KEY AUTOINCREMENT, cid INTEGER NOT NULL, rows INTEGER NOT NULL, sum INTEGER NOT NULL
  );
  CREATE INDEX field_of ON field (cid);
  CREATE TABLE field_row (key INTEGER PRIMARY KEY, sum INTEGER NOT NULL, vector BLOB NOT NULL);
`;

/** The steps of a shard's schema, in the form of all databases' migrations; never edited once released. */
export function shardMigrations(number: number): { version: number; name: string; sql: string }[] {
  const numbered = `${firstVersion}INSERT INTO shard VALUES (${number}, ${shardCount});`;
  return [
    { version: 1, name: 'points', sql: numbered },
    { version: 2, name: 'bytes of collections', sql: secondVersion },
    { version: 3, name: 'named vectors', sql: thirdVersion },
  ];
}

/** Every shard's file, as a path within the data folder, with its migrations. */
export const shardDatabases = allShards.map(
  (number) => [`vectors/shard-${number}.db`, shardMigrations(number)] as const,
);
