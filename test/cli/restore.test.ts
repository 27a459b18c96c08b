import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { writeBackupFile } from '../../src/cli/backup-file.ts';
import { restore } from '../../src/cli/commands/restore.ts';
import type { CliParts } from '../../src/cli/parts.ts';
import type { BackupRow } from '../../src/stores/backup-row.ts';
import { dataFolderAt } from '../../src/stores/sqlite/data-folder.ts';
import { lockDataFolder } from '../../src/stores/sqlite/data-folder-lock.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { runCommand, startProcess, temporaryFolder } from '../start-process.ts';

const rows: BackupRow[] = [{ table: 'account', row: { id: 'dev' } }];

/** A folder with a configuration and a backup, and stores that are plain files. */
async function prepared(t: TestContext, database: { url: string; empty: boolean } | 'sqlite') {
  const folder = temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const storage = { data_dir: dataDir, ...(database !== 'sqlite' && { database: database.url }) };
  writeFileSync(join(folder, 'culvert.yaml'), JSON.stringify({ storage }));
  const file = join(folder, 'backup.gz');
  const head = { culvert: '0.2.0', format: 1, at: '2026-11-20T10:00:00.000Z', database: 'sqlite' } as const;
  async function* each() {
    yield* rows;
  }
  await writeBackupFile(file, head, each(), () => undefined);
  const written: BackupRow[] = [];
  const parts: Pick<CliParts, 'writeBackup' | 'storeFacts'> = {
    async writeBackup(config, given) {
      for await (const row of given) written.push(row);
      if (database === 'sqlite') writeFileSync(dataFolderAt(config.storage.data_dir).culvertDb, 'restored');
    },
    async storeFacts() {
      const empty = database === 'sqlite' || database.empty;
      return {
        database: { kind: 'postgres', trouble: null, version: null, empty, clockAheadMs: null },
        state: { kind: 'memory', trouble: null, version: null, maxmemoryPolicy: null, clockAheadMs: null },
      };
    },
  };
  const run = (flags: { yes?: boolean } = {}) =>
    restore(file, { config: join(folder, 'culvert.yaml'), ...flags }, parts);
  return { folder, dataDir, file, written, run };
}

test('a backup goes into a data folder that is not there yet, and leaves no lock behind', async (t) => {
  const { dataDir, written, run } = await prepared(t, 'sqlite');
  assert.equal(await run(), 0);
  assert.deepEqual(written, rows);
  assert.equal(readFileSync(join(dataDir, 'culvert.db'), 'utf8'), 'restored');
  assert.ok(!existsSync(join(dataDir, 'lock')));
  assert.ok(!readdirSync(dataDir).some((name) => name.startsWith('restore-')));
});

test('an error in another section of the configuration keeps no backup from being restored', async (t) => {
  const { folder, dataDir, written, run } = await prepared(t, 'sqlite');
  const withError = { storage: { data_dir: dataDir }, models: { chat: { tragets: ['mock/ok'] } } };
  writeFileSync(join(folder, 'culvert.yaml'), JSON.stringify(withError));
  assert.equal(await run(), 0);
  assert.deepEqual(written, rows);
  writeFileSync(join(folder, 'culvert.yaml'), JSON.stringify({ storage: { data_dri: dataDir } }));
  await assert.rejects(run({ yes: true }), /data_dri/);
});

test('nothing is restored under a running server, nor over databases without being told so', async (t) => {
  const { folder, dataDir, written, run } = await prepared(t, 'sqlite');
  assert.equal(await run(), 0);
  await assert.rejects(run(), /holds databases already/);
  const lock = lockDataFolder(dataFolderAt(dataDir), 'http://127.0.0.1:4141');
  assert.ok(lock.kind === 'locked');
  await assert.rejects(run({ yes: true }), /is using /);
  lock.release();
  // As `restore` itself and `vectors import` hold it.
  const command = lockDataFolder(dataFolderAt(dataDir), null);
  assert.ok(command.kind === 'locked');
  const listed = await runCommand(['keys', 'list'], { cwd: folder });
  assert.deepEqual([listed.code, listed.stdout], [1, '']);
  assert.match(listed.stderr, /^Another command \(process \d+\) is using .*Try again when it has ended/);
  command.release();
  assert.equal(written.length, 1);
  assert.equal(await run({ yes: true }), 0);
  assert.equal(written.length, 2);
});

test('a PostgreSQL database that holds rows is left alone, --yes or not; an empty one is filled', async (t) => {
  const url = 'postgres://127.0.0.1:9/none';
  const full = await prepared(t, { url, empty: false });
  await assert.rejects(full.run({ yes: true }), /holds rows already.*createdb/);
  assert.deepEqual(full.written, []);
  const empty = await prepared(t, { url, empty: true });
  assert.equal(await empty.run(), 0);
  assert.deepEqual(empty.written, rows);
});

test('a damaged backup touches nothing, not even an empty folder', async (t) => {
  const { dataDir, file, written, run } = await prepared(t, 'sqlite');
  writeFileSync(file, readFileSync(file).subarray(0, -9));
  await assert.rejects(run({ yes: true }), /damaged/);
  assert.deepEqual(written, []);
  assert.ok(!existsSync(dataDir));
});

test('a backup of a data folder takes responses, files and batches into PostgreSQL', {
  skip: postgresMissing,
}, async (t) => {
  const cwd = temporaryFolder(t);
  const config = (name: string, storage: Record<string, unknown>) => {
    const written = { server: { port: 0 }, storage: { data_dir: `./${name}`, ...storage }, autodetect: 'off', keys };
    writeFileSync(join(cwd, `${name}.yaml`), JSON.stringify(written));
    return ['--config', `${name}.yaml`];
  };
  const keys = [{ key: 'sk-cv-restore-test-key-0001', account: 'dev', name: 'test' }];
  const headers = { authorization: `Bearer ${keys[0]!.key}` };
  const post = async (url: string, body: string | FormData) => {
    const json = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
    const made = await fetch(url, { method: 'POST', headers: { ...headers, ...json }, body });
    assert.equal(made.status, 200);
    return (await made.json()) as { id: string };
  };
  const first = await startProcess(t, { cwd, args: config('embedded', {}) });
  const response = await post(`${first.url}/v1/responses`, JSON.stringify({ model: 'sim/chat', input: 'Keep this' }));
  const line = { custom_id: 'one', method: 'POST', url: '/v1/embeddings', body: { model: 'none', input: 'x' } };
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([JSON.stringify(line)]), 'lines.jsonl');
  const file = await post(`${first.url}/v1/files`, form);
  const wanted = { input_file_id: file.id, endpoint: '/v1/embeddings', completion_window: '1h' };
  const batch = await post(`${first.url}/v1/batches`, JSON.stringify(wanted));
  assert.equal((await runCommand(['backup', 'b.gz', '--config', 'embedded.yaml'], { cwd })).code, 0);
  await first.stop();

  const postgres = await startPostgres(t);
  // As `createdb` makes one.
  const database = postgres.emptyDatabase();
  const moved = config('moved', { database, secret: 'configured-for-all-replicas-0001' });
  assert.equal((await runCommand(['restore', 'b.gz', ...moved], { cwd })).code, 0);
  const earlier_secrets = [readFileSync(join(cwd, 'moved', 'secret'), 'utf8').trim()];
  config('moved', { database, secret: 'configured-for-all-replicas-0001', earlier_secrets });
  const second = await startProcess(t, { cwd, args: moved });
  for (const path of [`responses/${response.id}`, `files/${file.id}/content`, `batches/${batch.id}`])
    assert.equal((await fetch(`${second.url}/v1/${path}`, { headers })).status, 200, path);
  const { code, stderr } = await runCommand(['backup', 'again.gz', ...moved], { cwd });
  assert.equal(code, 0);
  assert.match(stderr, /Responses, files, batches, vector stores, crawls and pages are not in it: .*pg_dump/);
});

test('what a secret before the last one sealed is opened after a restore', async (t) => {
  const admin = { key: 'sk-cv-admin-restore-test-0001' };
  const configured = () => {
    const cwd = temporaryFolder(t);
    const config = { server: { port: 0 }, admin, storage: { data_dir: './data' }, autodetect: 'off' };
    writeFileSync(join(cwd, 'culvert.yaml'), JSON.stringify(config));
    return cwd;
  };
  const [from, to] = [configured(), configured()];
  const first = await startProcess(t, { cwd: from, args: [] });
  const authorization = `Bearer ${readFileSync(join(from, 'data', 'api.key'), 'utf8').trim()}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'sim/chat', input: 'Keep this' });
  const made = await fetch(`${first.url}/v1/responses`, { method: 'POST', headers, body });
  const { id } = (await made.json()) as { id: string };
  assert.equal((await runCommand(['secret', 'rotate', '--url', first.url], { cwd: from })).code, 0);
  assert.equal((await runCommand(['backup', 'b.gz'], { cwd: from })).code, 0);
  await first.stop();
  assert.equal((await runCommand(['restore', join(from, 'b.gz')], { cwd: to })).code, 0);
  const second = await startProcess(t, { cwd: to, args: [] });
  assert.equal((await fetch(`${second.url}/v1/responses/${id}`, { headers })).status, 200);
  assert.equal(statSync(join(to, 'data', 'secret.earlier')).mode & 0o777, 0o600);
  await second.stop();

  // Earlier secrets of the folder itself would open nothing of the backup.
  writeFileSync(join(to, 'data', 'secret.earlier'), 'those of the folder\n');
  assert.equal((await runCommand(['restore', join(from, 'b.gz'), '--yes'], { cwd: to })).code, 0);
  assert.equal(
    readFileSync(join(to, 'data', 'secret.earlier'), 'utf8'),
    readFileSync(join(from, 'data', 'secret.earlier'), 'utf8'),
  );

  const restoredUnder = async (secrets: { secret?: string; earlier_secrets?: string[] }) => {
    writeFileSync(join(to, 'culvert.yaml'), JSON.stringify({ storage: { data_dir: './data', ...secrets } }));
    return (await runCommand(['restore', join(from, 'b.gz'), '--yes'], { cwd: to })).stderr;
  };
  const secret = 'configured-for-all-replicas-0001';
  assert.match(
    await restoredUnder({ secret }),
    /Add what \S+data\/secret and secret\.earlier hold to storage\.earlier_secrets/,
  );
  const lines = ['secret', 'secret.earlier'].flatMap((name) =>
    readFileSync(join(to, 'data', name), 'utf8')
      .split('\n')
      .filter(Boolean),
  );
  assert.doesNotMatch(await restoredUnder({ secret, earlier_secrets: lines }), /earlier_secrets/);
  assert.doesNotMatch(await restoredUnder({}), /earlier_secrets/);
});

test('a secret that was in the folder before is not said to have sealed a backup without one', async (t) => {
  const { folder, dataDir, run } = await prepared(t, 'sqlite');
  assert.equal(await run(), 0);
  writeFileSync(join(dataDir, 'secret'), `${'s'.repeat(44)}\n`);
  const storage = { data_dir: dataDir, secret: 'configured-for-all-replicas-0001' };
  writeFileSync(join(folder, 'culvert.yaml'), JSON.stringify({ storage }));
  const written = t.mock.method(process.stderr, 'write', () => true);
  assert.equal(await run({ yes: true }), 0);
  const notes = written.mock.calls.map(({ arguments: [text] }) => text).join('');
  written.mock.restore();
  assert.match(notes, /Restored/);
  assert.doesNotMatch(notes, /earlier_secrets/);
});
