import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import { until } from '../../../test/until.ts';
import { connect, unavailable } from './database.ts';

test('sums run without JIT and in memory on every connection, also after the server came back', {
  skip: postgresMissing,
}, async (t) => {
  const server = await startPostgres(t);
  const database = await connect(server.emptyDatabase(), patientPools);
  t.after(database.close);
  const settings = `SELECT current_setting('jit') || ' ' || current_setting('work_mem') AS both`;
  const ofAll = async () => {
    const four = Array.from({ length: 4 }, () => database.rest.run<{ both: string }>(settings));
    return (await Promise.all(four)).map(({ rows }) => rows[0]?.both);
  };
  assert.deepEqual(await ofAll(), ['off 32MB', 'off 32MB', 'off 32MB', 'off 32MB']);
  await server.stop('SIGINT');
  await assert.rejects(ofAll());
  await server.restart();
  assert.deepEqual(await ofAll(), ['off 32MB', 'off 32MB', 'off 32MB', 'off 32MB']);
});

test('an operator who gives the database more memory for sums keeps it', { skip: postgresMissing }, async (t) => {
  const server = await startPostgres(t);
  const database = await connect(`${server.emptyDatabase()}?options=-c%20work_mem%3D64MB`, patientPools);
  t.after(database.close);
  const { rows } = await database.rest.run<{ work_mem: string }>('SHOW work_mem');
  assert.equal(rows[0]?.work_mem, '64MB');
});

test('a report that PostgreSQL has no time for says what to do, since another try takes as long', {
  skip: postgresMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  const database = await connect(postgres.newDatabase(), patientPools);
  t.after(() => database.close());
  const slow = database.rest.transaction('write', async (run) => {
    await run('SET LOCAL statement_timeout = 20');
    await run('SELECT pg_sleep(5)');
  });
  await assert.rejects(unavailable(slow), /PostgreSQL was not done in time; a report over less time may be/);
});

test('a database of few connections keeps them for requests: those of polls that idle are given up', {
  skip: postgresMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  const url = new URL(postgres.newDatabase());
  const administrator = await connect(url.href, patientPools);
  await administrator.rest.run('CREATE ROLE few LOGIN CONNECTION LIMIT 4');
  await administrator.close();
  url.username = 'few';
  const database = await connect(url.href, patientPools);
  t.after(() => database.close());
  await Promise.all(Array.from({ length: 4 }, () => database.rest.run('SELECT pg_sleep(0.05)')));
  const refused = database.opens.transaction('write', (run) => run('SELECT 1'));
  await assert.rejects(unavailable(refused), /PostgreSQL has no connection left: raise its limit, or that of its user/);
  await until('a request has a connection', () =>
    database.opens
      .transaction('write', (run) => run('SELECT 1'))
      .then(
        () => true,
        () => false,
      ),
  );
  // All that requests need have room beside it.
  for (const one of [database.closes, database.keys, database.rest]) await one.run('SELECT 1');
});
