import type { Kysely } from 'kysely';

/**
 * The query builder, to compile with: what it compiled runs on our own connection, whole transactions within one turn
 * of the loop, which its own asynchronous execution would not give. Loaded at first use: it costs 80 ms and 26 MB, and
 * a running server only reads, by prepared statements.
 */
export async function sqliteQueries<Tables>(): Promise<Kysely<Tables>> {
  const { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } = await import('kysely');
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (queries) => new SqliteIntrospector(queries),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}
