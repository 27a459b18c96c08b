import { connect, type Database, type PoolSizes } from './database.ts';
import { migrate } from './migrations.ts';

/**
 * PostgreSQL for a server: reached, and with its tables up to date. Rejects with an error that `whyUnusable` turns into
 * a sentence. `onWait` gets a sentence where another replica brings the tables up to date. The stores over it leave
 * closing to the caller.
 */
export async function openPostgres(
  url: string,
  sizes?: PoolSizes,
  onWait?: (message: string) => void,
): Promise<Database> {
  const database = await connect(url, sizes);
  try {
    await migrate(database.rest, database.place, undefined, onWait);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}
