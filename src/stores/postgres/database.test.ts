import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import { connect, unavailable } from './database.ts';

test('sums run without JIT on every connection, also after the server came back', {
  skip: postgresMissing,
}, async (t) => {
  const server = await startPostgres(t);
  const database = await connect(server.emptyDatabase(), patientPools);
  t.after(database.close);
  const jitOfAll = async () => {
    const four = Array.from({ length: 4 }, () => database.rest.run<{ jit: string }>('SHOW jit'));
    return (await Promise.all(four)).map(({ rows }) => rows[0]?.jit);
  };
  assert.deepEqual(await jitOfAll(), ['off', 'off', 'off', 'off']);
  await server.stop('SIGINT');
  await assert.rejects(jitOfAll());
  await server.restart();
  assert.deepEqual(await jitOfAll(), ['off', 'off', 'off', 'off']);
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
