import type { Kysely } from 'kysely';

/**
 * The query builder, which only compiles, over the schema `culvert`: our own connections run the queries. Loaded on
 * demand: it costs 80 ms and 26 MB, and a running server only reads, by SQL of its own.
 */
export async function postgresQueries<Tables>(): Promise<Kysely<Tables>> {
  const { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } = await import('kysely');
  const queries = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (over) => new PostgresIntrospector(over),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  return queries.withSchema('culvert');
}
