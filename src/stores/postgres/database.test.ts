import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import { connect } from './database.ts';

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
