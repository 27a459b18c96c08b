import { note } from '../cli/print.ts';
import type { Config } from '../config/schema.ts';
import type { Database } from '../stores/postgres/database.ts';

/** The database is SQLite's files in the data folder. */
export function isEmbedded({ storage }: Config): boolean {
  return storage.database === 'sqlite';
}

export async function connectPostgres({ storage }: Config): Promise<Database> {
  const { connect } = await import('../stores/postgres/database.ts');
  return connect(storage.database);
}

/** Gives the result of `work`, whose connections are closed afterwards. */
export async function overPostgres<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await connectPostgres(config);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

export async function migratePostgres(database: Database): Promise<void> {
  const { migrate } = await import('../stores/postgres/open.ts');
  await migrate(database.rest, database.place, undefined, note);
}
