import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';
import { overUpstreams } from '../start-gateway.ts';
import { postgresMissing, type StartedPostgres, startPostgres } from '../start-postgres.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

const waits = 'Culvert waits for it';
const waitsForSteps = 'Waiting for another process that brings the tables';

/** Starts a gateway and calls `release` when it has written that it waits; then it must serve. */
async function startsOnceReleased(
  t: Lifetime,
  database: string,
  release: () => Promise<void> | void,
  words = waits,
): Promise<string> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const log = join(temporaryFolder(t), 'log');
  const text = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
  const starting = startGatewayProcess(
    t,
    {
      ...overUpstreams(upstream.url),
      storage: { data_dir: temporaryFolder(t), database, secret: 'a secret of thirty-two bytes or more' },
    },
    { log },
  ).catch((error: unknown) => assert.fail(`${String(error)}\n${text()}`));
  let isOver = false;
  void starting.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  while (!text().includes(words) && !isOver) await after(100);
  await release();
  const { url } = await starting;
  const { status } = await chatOnce(url);
  assert.equal(status, 200);
  // A moment later than stderr has it.
  const isLogged = (line: string) => line.startsWith('{') && line.includes(words);
  await until('the log has the line', () => text().split('\n').some(isLogged)).catch(() => undefined);
  return text();
}

/** An up-to-date database in which nobody can use `table` until it is released. */
async function lockedDatabase(t: Lifetime, postgres: StartedPostgres, table: string) {
  const url = postgres.newDatabase();
  const holder = new pg.Client({ connectionString: url });
  // A test that failed ends the server under it.
  holder.on('error', () => {});
  await holder.connect();
  t.after(() => holder.end().catch(() => undefined));
  await holder.query(`BEGIN; LOCK TABLE culvert.${table} IN ACCESS EXCLUSIVE MODE`);
  return { url, release: () => holder.query('COMMIT').then(() => undefined) };
}

test('F76 a start waits for a PostgreSQL that accepts connections and does not answer, says so, and then serves', {
  skip: postgresMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  const database = postgres.newDatabase();
  const resume = postgres.stall();
  const text = await startsOnceReleased(t, database, resume);
  const lines = text.split('\n').filter((line) => line.includes(waits));
  assert.equal(lines.filter((line) => line.startsWith('{')).length, 1, `a line in the log:\n${text}`);
  assert.ok(
    lines.some((line) => !line.startsWith('{')),
    `a line on stderr:\n${text}`,
  );
});

test('F76 a start that waits for the steps of another replica says so, once, and then serves', {
  skip: postgresMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  const url = postgres.emptyDatabase();
  const other = new pg.Client({ connectionString: url });
  other.on('error', () => {});
  await other.connect();
  t.after(() => other.end().catch(() => undefined));
  await other.query('BEGIN');
  await other.query('SELECT pg_advisory_xact_lock($1)', [0x63_75_6c_76]);
  const text = await startsOnceReleased(t, url, () => other.query('COMMIT').then(() => undefined), waitsForSteps);
  const lines = text.split('\n').filter((line) => line.includes(waitsForSteps));
  assert.equal(lines.length, 2, `a line in the log and one on stderr:\n${text}`);
});

test('F76 a start waits for statements that are slow in its later steps: migrations, lease, first beat, recovery', {
  skip: postgresMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  await Promise.all(
    ['migration', 'lease', 'boot', 'quota_bucket', 'reservation'].map(async (table) => {
      const { url, release } = await lockedDatabase(t, postgres, table);
      const text = await startsOnceReleased(t, url, release);
      assert.ok(text.includes(waits), `${table}:\n${text}`);
    }),
  );
});
