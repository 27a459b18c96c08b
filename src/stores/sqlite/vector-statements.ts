import type { Database } from './database.ts';

/** Prepared statements on `culvert.db` for collections of vectors. */
export function vectorStatements(database: Pick<Database, 'prepare'>) {
  const prepare = (text: string) => database.prepare(text);
  return {
    byName: prepare('SELECT * FROM vector_collection WHERE tenant = ? AND name = ?'),
    byAlias: prepare(
      `SELECT c.* FROM vector_alias a JOIN vector_collection c ON c.generation = a.generation
       WHERE a.tenant = ? AND a.alias = ?`,
    ),
    ofTenant: prepare('SELECT * FROM vector_collection WHERE tenant = ? ORDER BY name'),
    countOfAccount: prepare('SELECT count(*) AS count FROM vector_collection WHERE account = ?'),
    insert: prepare('INSERT INTO vector_collection VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    configure: prepare('UPDATE vector_collection SET settings = ? WHERE generation = ? AND settings IS ?'),
    remove: prepare('DELETE FROM vector_collection WHERE generation = ?'),
    page: prepare('SELECT * FROM vector_collection WHERE generation > ? ORDER BY generation LIMIT ?'),
    indexesOf: prepare('SELECT key, type, params FROM vector_index WHERE generation = ? ORDER BY key'),
    putIndex: prepare(
      `INSERT INTO vector_index SELECT generation, ?, ?, ? FROM vector_collection WHERE generation = ?
       ON CONFLICT (generation, key) DO UPDATE SET type = excluded.type, params = excluded.params`,
    ),
    removeIndex: prepare('DELETE FROM vector_index WHERE generation = ? AND key = ?'),
    aliasesOf: prepare(
      `SELECT a.alias, a.generation, c.name FROM vector_alias a JOIN vector_collection c ON c.generation = a.generation
       WHERE a.tenant = ? ORDER BY a.alias`,
    ),
    putAlias: prepare('INSERT OR REPLACE INTO vector_alias VALUES (?, ?, ?)'),
    removeAlias: prepare('DELETE FROM vector_alias WHERE tenant = ? AND alias = ?'),
    moveCollections: prepare('UPDATE vector_collection SET tenant = ?, account = ? WHERE tenant = ?'),
    moveAliases: prepare('UPDATE vector_alias SET tenant = ? WHERE tenant = ?'),
    noteDeletion: prepare('INSERT INTO vector_deletion VALUES (?, ?, ?, ?, 0, ?, ?)'),
    due: prepare('SELECT * FROM vector_deletion WHERE next_ms <= ? ORDER BY dropped_ms, generation LIMIT ?'),
    lease: prepare('UPDATE vector_deletion SET next_ms = ? WHERE generation = ?'),
    retry: prepare('UPDATE vector_deletion SET tries = ?, next_ms = ? WHERE generation = ?'),
    finish: prepare('DELETE FROM vector_deletion WHERE generation = ?'),
  };
}
