import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../test/start-postgres.ts';
import { closedPort } from '../../test/start-process.ts';
import { connect, unavailable } from './postgres/database.ts';
import { placeOf } from './several-hosts.ts';

const write = 'CREATE TEMPORARY TABLE IF NOT EXISTS written (id INTEGER)';

test('of several hosts the one that takes writes serves, before and after a failover', {
  skip: postgresMissing,
}, async (t) => {
  const [primary, replica] = await Promise.all([startPostgres(t), startPostgres(t, 'replica')]);
  const hosts = [`127.0.0.1:${await closedPort()}`, `127.0.0.1:${replica.port}`, `127.0.0.1:${primary.port}`];
  const url = `postgres://culvert@${hosts.join(',')}/first_start?target_session_attrs=read-write`;
  const database = await connect(url, patientPools);
  t.after(database.close);
  const port = async () => {
    const { rows } = await database.opens.transaction('write', (run) =>
      run<{ port: number }>('SELECT inet_server_port() AS port'),
    );
    return rows[0]?.port;
  };
  const atOnce = [database.opens, database.closes, database.keys, ...Array.from({ length: 4 }, () => database.rest)];
  await Promise.all(atOnce.map(({ run }) => run(write)));
  assert.equal(await port(), primary.port);

  await primary.stop('SIGINT');
  await assert.rejects(unavailable(database.rest.run(write)), /read-only|refuses it|cannot be reached/);
  replica.promote();
  await Promise.all(atOnce.map(({ run }) => run(write)));
  assert.equal(await port(), replica.port);
});

test('a wrong password is said at once, not tried elsewhere', { skip: postgresMissing }, async (t) => {
  const server = await startPostgres(t);
  const url = `postgres://nobody@127.0.0.1:${server.port},127.0.0.1:${await closedPort()}/first_start`;
  const database = await connect(url, patientPools);
  t.after(database.close);
  await assert.rejects(database.rest.run('SELECT 1'), /role "nobody" does not exist/);
});

test('a place names all hosts, and no password', () => {
  assert.equal(placeOf('postgres://u:a%2Cb@db-1,db-2:5433/culvert?sslmode=require'), 'db-1,db-2:5433/culvert');
  assert.equal(placeOf('postgres:///culvert?host=/run/postgresql'), 'localhost/culvert');
});
