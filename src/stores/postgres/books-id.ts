import type { Migration } from '../migration.ts';
import type { Run } from './database.ts';

export const booksMigration: Migration = {
  version: 4,
  name: 'name of these books',
  sql: `
    -- No backup holds it: what is restored elsewhere is other books from then on.
    CREATE TABLE culvert.books (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL);
    INSERT INTO culvert.books VALUES (1, left(replace(gen_random_uuid()::text, '-', ''), 12));
  `,
};

/** Id of this database's tables, by which counters elsewhere know whose they are. */
export async function readBooksId(run: Run): Promise<string> {
  const { rows } = await run<{ id: string }>('SELECT id FROM culvert.books');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('culvert.books has no row');
  return id;
}
