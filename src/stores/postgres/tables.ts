import type { SqlTables } from '../sql-tables.ts';
import type { Database } from './database.ts';
import { unavailable } from './unavailable.ts';

/** The tables that stores of both databases write alike. */
export function tablesIn({ rest }: Pick<Database, 'rest'>): SqlTables {
  return {
    prefix: 'culvert.',
    rows: async (sql, values) => (await unavailable(rest.run(sql, values))).rows,
    write: (steps) =>
      unavailable(
        rest.transaction('write', async (run) => {
          const changes: number[] = [];
          for (const { sql, values, needed } of steps) {
            changes.push((await run(sql, values)).changes);
            if (needed === true && changes.at(-1) === 0) break;
          }
          return changes;
        }),
      ),
  };
}
