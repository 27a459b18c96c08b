import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import type { Migration } from '../migration.ts';
import { connect, type Database } from './database.ts';
import { migrate, openPostgres, pendingMigrations, whyUnusable } from './open.ts';
import { migrations, usageSourceMigration } from './schema.ts';

const skip = postgresMissing;
const steps: readonly Migration[] = [
  { version: 1, name: 'one', sql: 'CREATE TABLE culvert.t (a INTEGER); INSERT INTO culvert.t VALUES (1);' },
  { version: 2, name: 'two', sql: 'INSERT INTO culvert.t VALUES (2);' },
];

test('versions are 1, 2, 3 … without gaps', () => {
  assert.deepEqual(
    migrations.map((step) => step.version),
    migrations.map((_, at) => at + 1),
  );
});

test('tables of PostgreSQL', { skip }, async (t) => {
  const server = await startPostgres(t);
  const fresh = async (): Promise<Database> => {
    const database = await connect(server.emptyDatabase(), patientPools);
    t.after(database.close);
    return database;
  };

  await t.test('steps are taken in order, once; what is to come is told before', async () => {
    const { rest, place } = await fresh();
    const all = migrations.map((step) => step.name);
    assert.deepEqual(await pendingMigrations(rest, place), [{ database: place, current: 0, pending: all }]);
    assert.deepEqual(await migrate(rest, place, migrations.slice(0, 1)), all.slice(0, 1));
    assert.deepEqual((await pendingMigrations(rest, place))[0]?.pending, all.slice(1));
    assert.deepEqual(await migrate(rest, place), all.slice(1));
    assert.deepEqual(await migrate(rest, place), []);
  });

  await t.test('roll-ups of before learn what of them was counted or estimated', async () => {
    const { rest, place } = await fresh();
    await migrate(rest, place, migrations.slice(0, usageSourceMigration.version - 1));
    const event = (id: string, source: string, target: string, usd: string) => `INSERT INTO culvert.usage_event VALUES (
      '${id}', NULL, 7200001, 'dev', 'k', 'dev/k', 'chat', 'smart', ${target}, 200, 'ok', 1, 0, 5, NULL, 20, 10, 0, 0, 0, 0,
      0, 1000, ${usd}, '${source}', NULL, '{}', NULL, 7200001, 7200006, '[]')`;
    await rest.run(event('a', 'counted', "'up/a/b'", '0.5'));
    await rest.run(event('b', 'upstream', "'up/a/b'", '0.5'));
    await rest.run(event('c', 'estimated', 'NULL', 'NULL'));
    await rest.run(event('d', 'upstream', "'up/a/b'", 'NULL'));
    for (const provider of ['up', ''])
      await rest.run(`INSERT INTO culvert.rollup VALUES (
        2, 'dev', 'k', 'chat', 'smart', '${provider}', 1, 0, 1000, 20, 10, 0, 0, 0, 0, 0, 0)`);
    await migrate(rest, place);
    const { rows } =
      await rest.run(`SELECT provider, counted_tokens, estimated_tokens, counted_usd_nano, estimated_usd_nano, unpriced
      FROM culvert.rollup ORDER BY provider`);
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      [
        ['', 0, 30, 0, 0, 0],
        ['up', 30, 0, 500_000_000, 0, 1],
      ],
    );
    const traffic = await rest.run('SELECT kind, name, unpriced FROM culvert.traffic ORDER BY kind, name');
    assert.deepEqual(
      traffic.rows.map((row) => Object.values(row)),
      [
        ['account', 'dev', 1],
        ['all', '', 1],
        ['model', 'smart', 1],
        ['provider', 'up', 1],
      ],
    );
  });

  await t.test('six that start at once migrate once', async () => {
    const url = server.emptyDatabase();
    const replicas = await Promise.all(Array.from({ length: 6 }, () => connect(url, patientPools)));
    const taken = await Promise.all(replicas.map(({ rest, place }) => migrate(rest, place, steps)));
    assert.deepEqual(taken.flat().toSorted(), ['one', 'two']);
    const { rows } = await replicas[0]!.rest.run<{ sum: number }>('SELECT sum(a) AS sum FROM culvert.t');
    assert.equal(rows[0]?.sum, 3);
    for (const { close } of replicas) await close();
  });

  await t.test('a step that fails leaves everything as it was', async () => {
    const { rest, place } = await fresh();
    const broken = [...steps, { version: 3, name: 'three', sql: 'INSERT INTO culvert.nowhere VALUES (1)' }];
    await assert.rejects(migrate(rest, place, broken), /nowhere/);
    assert.deepEqual(await migrate(rest, place, steps), ['one', 'two']);
  });

  await t.test('tables of a newer Culvert are refused in words', async () => {
    const { rest, place } = await fresh();
    await migrate(rest, place, steps);
    const refused = await migrate(rest, place, steps.slice(0, 1)).catch((error: unknown) => error);
    assert.match(whyUnusable(refused, place) ?? '', /newer Culvert \(schema 2, this one knows 1\).*\.$/);
  });

  await t.test('a database that cannot be used is a sentence without user or password', async () => {
    const wrong = [
      [`postgres://eve:canary-secret@127.0.0.1:${server.port}/postgres`, /SQLSTATE 28000/],
      [`postgres://culvert:canary-secret@127.0.0.1:${server.port}/nowhere`, /no such database/],
      ['postgres://culvert:canary-secret@127.0.0.1:9/postgres', /127\.0\.0\.1:9\/postgres cannot be reached: nothing/],
    ] as const;
    for (const [url, words] of wrong) {
      const error: unknown = await openPostgres(url).catch((thrown: unknown) => thrown);
      const { place, close } = await connect(url);
      const sentence = whyUnusable(error, place) ?? '';
      assert.match(sentence, words);
      assert.doesNotMatch(sentence, /canary|eve|culvert:/);
      await close();
    }
    assert.equal(whyUnusable(new TypeError('x is undefined'), 'here'), null);
  });
});
