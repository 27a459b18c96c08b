import { readEvent, type UsageEvent } from '../../books/ledger/columns.ts';
import type { OrderedRecord, RecordOrder, RecordStore } from '../../books/metering/record-store.ts';
import { sinkForgottenMs } from '../ledger/ledger-waits.ts';
import { databaseNowMs } from './boots.ts';
import { type Database, type Row, type Run, unavailable } from './database.ts';

/** The last statement of a transaction that writes events: from it to the commit other replicas wait. */
export async function orderRecords(
  run: Run,
  events: readonly Pick<UsageEvent, 'requestId'>[],
  { bodiesOf }: RecordOrder,
): Promise<void> {
  if (events.length === 0) return;
  const ids = events.map(({ requestId }) => requestId);
  await run(append, [ids, ids.map(bodiesOf)]);
}

const append = {
  name: 'record-order',
  text: `
    WITH last AS (
      UPDATE culvert.record_sequence SET position = position + cardinality($1::text[]) RETURNING position
    )
    INSERT INTO culvert.record_order
    SELECT last.position - cardinality($1::text[]) + given.at, given.id, given.bodies
    FROM last, unnest($1::text[], $2::text[]) WITH ORDINALITY AS given(id, bodies, at)`,
};

/** The port over PostgreSQL. `holder` names this process. */
export function createPostgresRecords({ rest }: Pick<Database, 'rest'>, holder: string): RecordStore {
  const { run } = rest;
  return {
    async begin(sinks) {
      await unavailable(
        rest.transaction('write', async (run) => {
          await run(
            `INSERT INTO culvert.sink (name, position, seen_ms)
             SELECT name, (SELECT position FROM culvert.record_sequence), ${databaseNowMs} FROM unnest($1::text[]) AS name
             ON CONFLICT (name) DO UPDATE SET seen_ms = excluded.seen_ms`,
            [sinks],
          );
          await run(`DELETE FROM culvert.sink WHERE seen_ms < ${databaseNowMs} - ${sinkForgottenMs}`);
        }),
      );
    },
    async take(sink, leaseMs) {
      const { rows } = await unavailable(
        run<{ position: number }>(
          `UPDATE culvert.sink SET holder = $2, held_until_ms = ${databaseNowMs} + $3::bigint, seen_ms = ${databaseNowMs}
           WHERE name = $1 AND (holder = $2 OR held_until_ms <= ${databaseNowMs}) RETURNING position`,
          [sink, holder, leaseMs],
        ),
      );
      return rows[0]?.position ?? null;
    },
    async letGo(sink) {
      await unavailable(
        run('UPDATE culvert.sink SET held_until_ms = 0 WHERE name = $1 AND holder = $2', [sink, holder]),
      );
    },
    async read(after, limit) {
      const { rows } = await unavailable(
        run<Row & { position: number; bodies: string | null }>(
          `SELECT record_order.position, record_order.bodies, usage_event.* FROM culvert.record_order
           JOIN culvert.usage_event USING (request_id)
           WHERE record_order.position > $1 ORDER BY record_order.position LIMIT $2`,
          [after, limit],
        ),
      );
      return rows.map((row): OrderedRecord => ({ position: row.position, event: readEvent(row), bodies: row.bodies }));
    },
    async arrived(sink, position) {
      await unavailable(
        rest.transaction('write', async (run) => {
          // One that lost its lease meanwhile may be behind the one that has it now.
          await run('UPDATE culvert.sink SET position = greatest(position, $2) WHERE name = $1', [sink, position]);
          await run('DELETE FROM culvert.record_order WHERE position <= (SELECT min(position) FROM culvert.sink)');
        }),
      );
    },
  };
}

/** Records that retention has removed go to nobody. */
export const pruneRecordOrder = 'DELETE FROM culvert.record_order WHERE request_id < $1';
