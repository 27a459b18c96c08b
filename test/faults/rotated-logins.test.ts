import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect } from '../../src/stores/postgres/database.ts';
import { adminKey, overUpstreams } from '../start-gateway.ts';
import { patientPools, postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

/** Characters that secret managers use, and that end parts of a URL. */
const newPassword = 'h:5/?A=%2&#@ [x]';

for (const processes of [1, 2])
  test(`users and passwords of PostgreSQL and Redis that change while ${processes} processes run are used from then on`, {
    skip: postgresMissing || redisMissing,
  }, async (t) => {
    const folder = temporaryFolder(t);
    const [postgres, redis, upstream] = await Promise.all([startPostgres(t), startRedis(t), startUpstream()]);
    t.after(() => upstream.close());
    const database = postgres.newDatabase();
    const sql = await administrator(t, database);
    await sql('CREATE ROLE lease_1 LOGIN SUPERUSER', 'CREATE ROLE lease_2 LOGIN SUPERUSER');
    redis.cli('CONFIG', 'SET', 'requirepass', 'first');
    const [user, password] = [join(folder, 'user'), join(folder, 'password')];
    writeFileSync(user, 'lease_1\n');
    writeFileSync(password, 'first\n');
    const log = join(folder, 'log');
    const options = { log };
    const { url } = await startGatewayProcess(
      t,
      {
        ...overUpstreams(upstream.url),
        server: { processes },
        storage: {
          database: database.replace('culvert@', `\${file:${user}}@`),
          state: redis.url.replace('//', `//:\${file:${password}}@`),
          secret: 's'.repeat(32),
          data_dir: join(folder, 'data'),
        },
      },
      options,
    );
    assert.equal((await chatOnce(url)).status, 200);

    redis.cli('-a', 'first', 'CONFIG', 'SET', 'requirepass', newPassword);
    writeFileSync(user, 'lease_2');
    writeFileSync(password, newPassword);
    await until('the new logins are read', () => readFileSync(log, 'utf8').includes('configuration reloaded'));
    assert.doesNotMatch(readFileSync(log, 'utf8'), /takes effect at the next start/);
    // The lease of the earlier user ends, and so do all connections.
    await sql(
      'ALTER ROLE lease_1 NOLOGIN',
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lease_1'",
    );
    redis.cli('-a', newPassword, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until('every process serves again', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => chatOnce(url)));
      return answers.every(({ status }) => status === 200);
    });
  });

test('connections to a server that is read-only are replaced: a primary that became a replica is left', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis, upstream] = await Promise.all([startPostgres(t), startRedis(t), startUpstream()]);
  t.after(() => upstream.close());
  const database = postgres.newDatabase();
  const sql = await administrator(t, database);
  const name = new URL(database).pathname.slice(1);
  const { url } = await startGatewayProcess(t, {
    ...overUpstreams(upstream.url),
    storage: { database, state: redis.url, secret: 's'.repeat(32), data_dir: temporaryFolder(t) },
  });
  assert.equal((await chatOnce(url)).status, 200);
  // Connections that begin now are those of a replica. Later ones reach the new primary.
  await sql(
    `ALTER DATABASE ${name} SET default_transaction_read_only = on`,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`,
  );
  await until('a replica answers', async () => {
    const { status, text } = await chatOnce(url);
    return status === 503 && text.includes('quota-unavailable');
  });
  let accounts = 0;
  const makeAccount = () =>
    fetch(`${url}/admin/v1/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id: `acme-${++accounts}` }),
    });
  assert.equal((await makeAccount()).status, 503);
  await sql('SET default_transaction_read_only = off', `ALTER DATABASE ${name} RESET default_transaction_read_only`);
  await until('the primary answers', async () => (await chatOnce(url)).status === 200);
  assert.equal((await makeAccount()).status, 201);
});

/** Runs statements of a superuser, one after the other. */
async function administrator(t: TestContext, url: string) {
  const database = await connect(url, { ...patientPools, rest: 1 });
  t.after(() => database.close());
  return async (...statements: readonly string[]) => {
    for (const statement of statements) await database.rest.run(statement);
  };
}
