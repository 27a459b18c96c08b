import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import { rollupSums } from '../../books/ledger/batch-sums.ts';
import { narrowTables } from '../../books/ledger/day-sums.ts';
import type { UsageQuery } from '../../books/metering/ledger.ts';
import { dayMs, hourMs } from '../../kernel/clock.ts';
import { requestIdAt } from '../../kernel/ids.ts';
import { listRequests } from '../ledger/request-pages.ts';
import { connect } from './database.ts';
import { byRequestId, readUsage } from './ledger-reader.ts';
import { tablesIn } from './stores.ts';

test('a question of usage over days and single requests is one that PostgreSQL may sum in parallel', {
  skip: postgresMissing,
}, async (t) => {
  const server = await startPostgres(t);
  const settings = ['parallel_setup_cost', 'parallel_tuple_cost', 'enable_indexscan', 'enable_bitmapscan'];
  const options = settings.map((name) => `-c ${name}=0`).join(' ');
  const database = await connect(`${server.newDatabase()}?options=${encodeURIComponent(options)}`, patientPools);
  t.after(database.close);
  const tables = tablesIn(database);
  const day = 20_000;
  await tables.run('INSERT INTO culvert.summed VALUES (1, $1)', [day * dayMs]);
  await tables.run('INSERT INTO culvert.narrowed VALUES (1, $1, $2)', [day - 100, day]);
  const zeros = rollupSums.map(() => 0);
  await tables.run(`INSERT INTO culvert.rollup_day VALUES ($1, 'a', 'k', 'chat', 'm', 'p', ${zeros})`, [day - 100]);
  // Days are read by several processes, the few requests of today by one.
  for (const { name } of narrowTables) await tables.run(`ALTER TABLE culvert.${name} SET (parallel_workers = 2)`, []);
  const plans: string[] = [];
  const explained: typeof tables = {
    ...tables,
    async rows(sql, values) {
      const text = typeof sql === 'string' ? sql : sql.text;
      const plan = await tables.rows(`EXPLAIN ${text}`, values);
      plans.push(plan.map((line) => line['QUERY PLAN']).join('\n'));
      return tables.rows(sql, values);
    },
  };
  const nowMs = day * dayMs + 5 * hourMs;
  const query = { accounts: null, where: {}, fromMs: nowMs - 90 * dayMs, toMs: nowMs } as const;
  const questions: Omit<UsageQuery, keyof typeof query>[] = [
    { groupBy: 'user', splitBy: null },
    { groupBy: 'tag', splitBy: null },
    { groupBy: 'day', splitBy: 'user', parts: { count: 5, by: 'units' } },
    { groupBy: 'day', splitBy: 'model' },
  ];
  for (const question of questions) {
    plans.length = 0;
    await readUsage(explained, { ...query, ...question });
    // Where the types of columns differ between the parts, all of it runs in one process.
    for (const plan of plans.slice(1)) assert.match(plan, /Parallel Append/, JSON.stringify(question));
  }
});

test('failed requests of an account are found at once, however many others came since', {
  skip: postgresMissing,
}, async (t) => {
  const server = await startPostgres(t);
  const database = await connect(server.newDatabase(), patientPools);
  t.after(database.close);
  const tables = tablesIn(database);
  const columns = await tables.rows(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
      WHERE table_schema = 'culvert' AND table_name = 'usage_event' AND is_nullable = 'NO'`,
    [],
  );
  const insert = (account: string, status: number, from: number, rows: number) => {
    const given: Readonly<Record<string, string>> = {
      request_id: `'${requestIdAt(1_000)}-7000-8000-' || lpad(i::text, 12, '0')`,
      account: `'${account}'`,
      status: String(status),
      route: `'{}'`,
      attempts: `'[]'`,
    };
    const value = ({ name, type }: (typeof columns)[number]) => given[String(name)] ?? (type === 'text' ? `'x'` : '1');
    const names = columns.map(({ name }) => `"${String(name)}"`);
    return tables.run(
      `INSERT INTO culvert.usage_event (${names}) SELECT ${columns.map(value)} FROM generate_series(${from}, ${from + rows - 1}) AS i`,
      [],
    );
  };
  await insert('few', 500, 1, 3);
  await insert('few', 200, 4, 20);
  await insert('many', 200, 100, 60_000);
  let statements = 0;
  const counting: typeof tables = {
    ...tables,
    rows(sql, values) {
      statements += 1;
      return tables.rows(sql, values);
    },
  };
  const query = { cursor: null, limit: 10, sinceMs: null, untilMs: null, after: null, where: { status: 5 } };
  const { events, next } = await listRequests(counting, byRequestId, { ...query, accounts: ['few'] });
  assert.deepEqual([events.length, next], [3, null]);
  assert.ok(statements <= 2, `${statements} statements`);
  // All rows are looked at, for a second a page: a busy machine needs several.
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const both = { ...query, cursor, accounts: ['few', 'many'] };
    const page: Awaited<ReturnType<typeof listRequests>> = await listRequests(tables, byRequestId, both);
    found.push(...page.events.map(({ requestId }) => requestId));
    cursor = page.next;
  } while (cursor !== null);
  assert.equal(found.length, 3);
});
