import type { OwnTables } from '../sql-tables.ts';
import type { Database } from './database.ts';
import { unavailable } from './unavailable.ts';

/**
 * The tables that stores of both databases write alike. `answerMaxMs`: a read without an answer by then is given up;
 * absent: when its pool gives up. Nothing is to be closed: the connections are the server's.
 */
export function tablesIn({ rest }: Pick<Database, 'rest'>, answerMaxMs?: number): OwnTables {
  return {
    prefix: 'culvert.',
    async rows(text, values) {
      const statement = answerMaxMs === undefined ? text : { text, answerMaxMs };
      return (await unavailable(rest.run(statement, values))).rows;
    },
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
    close: async () => undefined,
  };
}
