import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { stringify } from 'yaml';
import { hashKey } from '../../src/books/auth/key-directory.ts';
import { newRequestId } from '../../src/kernel/ids.ts';
import { connect } from '../../src/stores/postgres/database.ts';
import { migrate as migratePostgres } from '../../src/stores/postgres/open.ts';
import { migrations as postgresMigrations } from '../../src/stores/postgres/schema.ts';
import { culvertMigrations, responseMigrations } from '../../src/stores/sqlite/culvert-schema.ts';
import { type DataFolder, openDataFolder } from '../../src/stores/sqlite/data-folder.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { ledgerMigrations } from '../../src/stores/sqlite/ledger-schema.ts';
import { ledgerKey } from '../../src/stores/sqlite/ledger-writer.ts';
import { migrate } from '../../src/stores/sqlite/migrations.ts';
import { shardDatabases } from '../../src/vectors/embedded/shards/shard-schema.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { runCommand, startProcess, temporaryFolder } from '../start-process.ts';

/* An upgrade as an operator does it: the new program, over what an earlier one left. */

const key = 'sk-cv-test-key-of-an-earlier-version';
const adminKey = 'sk-cv-admin-test-key-0001';

/** A place with a configuration, of which `storage` is a part. */
function configured(t: TestContext, storage: object): string {
  const cwd = temporaryFolder(t);
  const settings = { server: { port: 0 }, admin: { key: adminKey }, storage, autodetect: 'off' };
  writeFileSync(join(cwd, 'culvert.yaml'), stringify(settings));
  return cwd;
}

/** A data folder as the first version left it, with a key and a request. */
function firstVersion(t: TestContext): { cwd: string; folder: DataFolder } {
  const cwd = configured(t, { data_dir: './data' });
  const folder = openDataFolder(join(cwd, 'data'));
  const atMs = Date.now() - 60_000;
  const id = newRequestId(atMs);
  const parts = [
    [
      folder.culvertDb,
      culvertMigrations,
      `INSERT INTO account VALUES ('dev', 'Dev', 'default', 'active', 1);
       INSERT INTO api_key VALUES ('id1', 'dev', 'laptop', 'sk-cv-test', '${hashKey(key)}', 'user', NULL, NULL, 1, NULL);`,
    ],
    [
      folder.ledgerDb,
      ledgerMigrations,
      `INSERT INTO usage_event VALUES (${ledgerKey(id)}, '${id}', NULL, ${atMs}, 'dev', 'id1', 'dev/laptop', 'chat', 'smart',
       'openai/gpt-x', 200, 'ok', 1, 0, 12, 3, 100, 50, 0, 0, 0, 0, 0, 1000, 0.25, 'upstream', NULL, '{"alias":"smart"}')`,
    ],
  ] as const;
  for (const [file, migrations, rows] of parts) {
    const database = openDatabase(file, 'fsync', 250);
    migrate(database, migrations.slice(0, 1));
    database.exec(rows);
    database.close();
  }
  return { cwd, folder };
}

function versionOf(file: string): unknown {
  const database = new DatabaseSync(file);
  try {
    return database.prepare('PRAGMA user_version').get()?.user_version;
  } finally {
    database.close();
  }
}

async function withKey(url: string, path: string, bearer: string): Promise<string> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${bearer}` } });
  assert.equal(answer.status, 200, path);
  return answer.text();
}

describe('upgrades and going back, run as programs', { concurrency: true }, () => {
  test('a start brings an earlier data folder up to date, keeps a copy of each database, and serves what they held', async (t) => {
    const { cwd, folder } = firstVersion(t);
    assert.equal((await runCommand(['migrate', '--check'], { cwd })).code, 1);
    assert.equal(versionOf(folder.culvertDb), 1, 'a check changes nothing');
    const gateway = await startProcess(t, { cwd, args: [] });
    await withKey(gateway.url, '/v1/models', key);
    assert.match(await withKey(gateway.url, '/admin/v1/requests', adminKey), /"model":"smart"/);
    await gateway.stop();
    assert.equal((await runCommand(['migrate', '--check'], { cwd })).code, 0);
    assert.deepEqual(
      readdirSync(folder.path)
        .filter((name) => name.includes('before-schema'))
        .sort(),
      ['culvert.db.before-schema-1', 'ledger.db.before-schema-1'],
    );
    for (const file of [folder.culvertDb, folder.ledgerDb]) {
      assert.equal(versionOf(`${file}.before-schema-1`), 1);
      assert.equal(statSync(`${file}.before-schema-1`).mode & 0o777, 0o600);
    }
    // Gone back, as the sentence of a refused start says; and upgraded again.
    for (const file of [folder.culvertDb, folder.ledgerDb]) {
      rmSync(`${file}-wal`, { force: true });
      renameSync(`${file}.before-schema-1`, file);
    }
    const again = await startProcess(t, { cwd, args: [] });
    assert.match(await withKey(again.url, '/admin/v1/requests', adminKey), /"model":"smart"/);
  });

  for (const [name, migrations] of [['responses.db', responseMigrations] as const, shardDatabases[2]!]) {
    test(`migrate also shows and changes a database that requests open, ${name}`, async (t) => {
      const { cwd, folder } = firstVersion(t);
      const file = join(folder.path, name);
      mkdirSync(dirname(file), { recursive: true });
      const database = openDatabase(file, 'fsync', 250);
      migrate(database, migrations.slice(0, 1));
      database.close();
      const steps = async (...args: string[]) => {
        const { stdout } = await runCommand(['migrate', '--json', ...args], { cwd });
        type Row = { database: string; pending?: string[]; applied?: string[] };
        const row = (JSON.parse(stdout) as { data: Row[] }).data.find((one) => one.database === name);
        return row?.pending ?? row?.applied;
      };
      const names = migrations.slice(1).map((step) => step.name);
      assert.deepEqual(await steps('--check'), names);
      assert.equal(versionOf(file), 1);
      assert.deepEqual(await steps(), names);
      assert.deepEqual([versionOf(file), versionOf(`${file}.before-schema-1`)], [migrations.length, 1]);
      assert.deepEqual(await steps('--check'), []);
    });
  }

  test('a check of the new version reads what an earlier one stored, and changes nothing', async (t) => {
    const { cwd, folder } = firstVersion(t);
    for (const args of [['check'], ['doctor', '--json'], ['explain', 'body.json', '--key', 'dev/laptop']]) {
      writeFileSync(join(cwd, 'body.json'), '{"model": "sim/chat", "messages": [{"role": "user", "content": "Hi"}]}');
      const { stdout, stderr } = await runCommand(args, { cwd });
      if (args[0] === 'check') assert.match(stdout, /^OK: culvert\.yaml \(0 providers, \d+ models, 1 key\)\n$/);
      assert.doesNotMatch(stderr, /earlier|cannot/);
      assert.deepEqual(
        [versionOf(folder.culvertDb), versionOf(folder.ledgerDb)],
        [1, 1],
        `${args[0]} changes no schema`,
      );
    }
    assert.deepEqual(
      readdirSync(folder.path).filter((name) => name.includes('before-schema')),
      [],
    );
  });

  test('an earlier program says what to do about a data folder of a newer one, and changes nothing', async (t) => {
    const { cwd, folder } = firstVersion(t);
    const known = culvertMigrations.length;
    const database = openDatabase(folder.culvertDb, 'fsync', 250);
    migrate(database, culvertMigrations);
    database.exec(`PRAGMA user_version = ${known + 1}`);
    database.close();
    const words = `culvert\\.db was written by a newer Culvert \\(schema ${known + 1}, this one knows ${known}\\); run that version, or `;
    const start = await runCommand(['start'], { cwd });
    assert.equal(start.code, 1);
    assert.match(start.stderr, new RegExp(`^\\S+${words}restore a backup that was made before the upgrade\\.\\n$`));
    writeFileSync(`${folder.culvertDb}.before-schema-${known}`, '');
    const { stderr } = await runCommand(['start'], { cwd });
    assert.match(
      stderr,
      new RegExp(`^\\S+${words}put \\S+before-schema-${known} in its place and remove its -wal file\\.\\n$`),
    );
    assert.deepEqual([versionOf(folder.culvertDb), versionOf(folder.ledgerDb)], [known + 1, 1]);
  });

  test('a start also refuses a newer database that it opens only when a request needs it', async (t) => {
    const { cwd, folder } = firstVersion(t);
    const known = responseMigrations.length;
    const file = join(folder.path, 'responses.db');
    const database = openDatabase(file, 'fsync', 250);
    migrate(database, responseMigrations);
    database.exec(`PRAGMA user_version = ${known + 1}`);
    database.close();
    const config = readFileSync(join(cwd, 'culvert.yaml'), 'utf8');
    writeFileSync(join(cwd, 'two.yaml'), config.replace('port: 0', 'port: 0\n  processes: 2'));
    for (const file of ['culvert.yaml', 'two.yaml']) {
      const { code, stderr } = await runCommand(['start', '--config', file], { cwd });
      assert.equal(code, 1);
      assert.match(
        stderr,
        /(^|\n)\S+responses\.db was written by a newer Culvert .*; run that version, or restore a backup/,
      );
    }
    assert.deepEqual(
      [versionOf(folder.culvertDb), versionOf(folder.ledgerDb)],
      [1, 1],
      'before it changes another one',
    );
  });

  test('a backup of an earlier data folder is refused rather than bring it up to date', async (t) => {
    const { cwd, folder } = firstVersion(t);
    const { code, stderr } = await runCommand(['backup', 'b.gz'], { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /^An earlier Culvert \(schema 1\) wrote culvert\.db\. Make the backup with that version, or/);
    assert.deepEqual([versionOf(folder.culvertDb), readdirSync(cwd).includes('b.gz')], [1, false]);
    assert.equal((await runCommand(['migrate'], { cwd })).code, 0);
    assert.equal((await runCommand(['backup', 'b.gz'], { cwd })).code, 0);
  });

  test('a backup where nothing is, such as in the wrong folder, fails and writes no file', async (t) => {
    const cwd = temporaryFolder(t);
    const { code, stderr } = await runCommand(['backup', 'b.gz'], { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /\.culvert holds no data of Culvert\. Name your configuration with --config FILE\.\n$/);
    assert.deepEqual(readdirSync(cwd), []);
  });

  test('the same over PostgreSQL', { skip: postgresMissing }, async (t) => {
    const postgres = await startPostgres(t);
    const secret = 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';
    const cwd = configured(t, { data_dir: './data', database: postgres.url, secret });
    const { rest, place, close } = await connect(postgres.url);
    t.after(close);
    await migratePostgres(rest, place, postgresMigrations.slice(0, 1));
    await rest.run(`INSERT INTO culvert.account VALUES ('dev', 'Dev', 'default', 'active', 1)`);
    await rest.run(
      `INSERT INTO culvert.api_key VALUES ('id1', 'dev', 'laptop', 'dev/laptop', 'sk-cv-test', 'user', NULL, NULL, NULL, NULL, 1, NULL)`,
    );
    await rest.run(`INSERT INTO culvert.api_key_secret VALUES ('${hashKey(key)}', 'id1', NULL)`);
    assert.equal((await runCommand(['migrate', '--check'], { cwd })).code, 1);
    assert.match((await runCommand(['backup', 'b.gz'], { cwd })).stderr, /^An earlier Culvert \(schema 1\) wrote/);
    const check = await runCommand(['check'], { cwd });
    assert.equal(check.code, 0);
    assert.match(
      check.stderr,
      /warning: An earlier Culvert \(schema 1\) wrote the database .*accounts and keys there were not/,
    );
    assert.equal((await runCommand(['migrate', '--check'], { cwd })).code, 1, 'a check changes no schema');
    const gateway = await startProcess(t, { cwd, args: [] });
    await withKey(gateway.url, '/v1/models', key);
    await gateway.stop();
    assert.equal((await runCommand(['backup', 'b.gz'], { cwd })).code, 0);
    const known = postgresMigrations.length;
    await rest.run('INSERT INTO culvert.migration VALUES ($1, $2)', [known + 1, 'to come']);
    const { code, stderr } = await runCommand(['start'], { cwd });
    assert.equal(code, 1);
    const words = `newer Culvert \\(schema ${known + 1}, this one knows ${known}\\); run that version, or restore a backup`;
    assert.match(stderr, new RegExp(words));
  });
});
