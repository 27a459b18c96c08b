import type { Run } from './database.ts';

/** Id of this database's tables, by which counters elsewhere know whose they are. */
export async function readBooksId(run: Run): Promise<string> {
  const { rows } = await run<{ id: string }>('SELECT id FROM culvert.books');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('culvert.books has no row');
  return id;
}
