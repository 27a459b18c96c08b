import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/start-process.ts';
import { requestIdAt } from '../../kernel/ids.ts';
import type { SqlTables } from '../sql-tables.ts';
import { byKey } from '../sqlite/ledger-reader.ts';
import { openLedgerDatabase } from '../sqlite/ledger-schema.ts';
import { tablesIn } from '../sqlite/tables.ts';
import { listRequests } from './request-pages.ts';

/** A ledger with many requests without a session, and three of each session below them. */
function manyAboveFew(folder: string) {
  const database = openLedgerDatabase(join(folder, 'ledger.db'));
  const columns = database
    .prepare('SELECT name, "notnull" AS needed, type FROM pragma_table_info(?)')
    .all('usage_event');
  const insert = (key: string, session: string, rows: number) => {
    const values = { key, session, route: `'{}'`, attempts: `'[]'`, request_id: `'${requestIdAt(1_000)}' || i` };
    const needed = columns.filter(({ name, needed }) => needed === 1 || name === 'session' || name === 'key');
    const given = needed.map(({ name, type }) =>
      (name as string) in values ? values[name as keyof typeof values] : type === 'TEXT' ? `'x'` : '1',
    );
    database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
      INSERT INTO usage_event (${needed.map(({ name }) => `"${String(name)}"`).join(', ')}) SELECT ${given.join(', ')} FROM n`);
  };
  insert('i', `'s' || (i % 5)`, 15);
  insert('i + 100', 'NULL', 60_000);
  return database;
}

test('requests of a session are found at once, however many others came since', async (t) => {
  const database = manyAboveFew(temporaryFolder(t));
  t.after(() => database.close());
  let statements = 0;
  const tables: SqlTables = tablesIn(database);
  const counting: SqlTables = {
    ...tables,
    rows(sql, values) {
      statements += 1;
      return tables.rows(sql, values);
    },
  };
  const query = { accounts: null, cursor: null, limit: 10, sinceMs: null, untilMs: null, after: null };
  for (const [session, found] of [
    [{ name: 's2' }, 3],
    ['any', 10],
  ] as const) {
    statements = 0;
    const { events } = await listRequests(counting, byKey, { ...query, where: { session } });
    assert.equal(events.length, found);
    assert.ok(statements <= 2, `${statements} statements`);
  }
});
