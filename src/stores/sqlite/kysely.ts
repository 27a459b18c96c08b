import type { Kysely } from 'kysely';

/**
 * The query builder, which only compiles: our own connection runs whole transactions within one turn of the loop, which
 * its asynchronous execution could not. Loaded on demand: it costs 80 ms and 26 MB, and a running server only reads, by
 * prepared statements.
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
