import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type BackupHead, readBackupFile, verifyBackupFile, writeBackupFile } from '../../src/cli/backup-file.ts';
import type { BackupItem, BackupRow } from '../../src/stores/backup-row.ts';
import { temporaryFolder } from '../start-process.ts';

const head: BackupHead = { culvert: '0.2.0', format: 1, at: '2026-11-20T10:00:00.000Z', database: 'sqlite' };
const rows: BackupRow[] = [
  { table: 'account', row: { id: 'dev', name: 'Ünïcode\nwith a line', plan: 'pro', created_ms: 1_700_000_000_000 } },
  { table: 'usage_event', row: { request_id: 'req_1', cost_usd: 0.1, user: null, route: '{"attempts":[]}' } },
];

async function* each(given: readonly BackupRow[]) {
  yield* given;
}

async function read(file: string): Promise<BackupItem[]> {
  const found: BackupItem[] = [];
  for await (const row of readBackupFile(file)) found.push(row);
  return found;
}

const verified = (file: string) => verifyBackupFile(file, () => undefined);

test('a backup gives back every row as it was, and only its owner can read the file', async (t) => {
  const file = join(temporaryFolder(t), 'b.gz');
  assert.deepEqual(await writeBackupFile(file, head, each(rows), () => undefined), { rows: 2, fileBytes: 0 });
  assert.deepEqual(await verified(file), { head, rows: 2, fileBytes: 0 });
  assert.deepEqual(await read(file), rows);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('any rows survive, whatever their texts hold', async (t) => {
  const file = join(temporaryFolder(t), 'b.gz');
  const values = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.constant(null));
  const anyRow = fc.record({
    table: fc.string(),
    row: fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      values,
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow, { maxLength: 20 }), async (given) => {
      await writeBackupFile(file, head, each(given), () => undefined);
      assert.equal(JSON.stringify(await read(file)), JSON.stringify(given));
    }),
    { numRuns: 30 },
  );
});

test('a backup that fails half-way leaves the older one as it is, and nothing beside it', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'b.gz');
  await writeBackupFile(file, head, each(rows), () => undefined);
  const before = readFileSync(file);
  async function* failing() {
    yield* rows;
    throw new Error('the database went away');
  }
  await assert.rejects(
    writeBackupFile(file, head, failing(), () => undefined),
    /went away/,
  );
  assert.deepEqual(readFileSync(file), before);
  assert.deepEqual(readdirSync(folder), ['b.gz']);
});

test('a file that is cut at any byte, or has a flipped one, is refused whole', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'b.gz');
  await writeBackupFile(file, head, each(rows), () => undefined);
  const whole = readFileSync(file);
  const damaged = join(folder, 'damaged.gz');
  for (let length = 0; length < whole.length; length++) {
    writeFileSync(damaged, whole.subarray(0, length));
    await assert.rejects(verified(damaged), /damaged|not a backup/, `cut at ${length}`);
  }
  // Ten bytes of gzip's own header hold flags that change nothing.
  for (let at = 10; at < whole.length; at += 3) {
    const flipped = Buffer.from(whole);
    flipped[at] = flipped[at]! ^ 0x10;
    writeFileSync(damaged, flipped);
    await assert.rejects(verified(damaged), /damaged|not a backup/, `flipped at ${at}`);
  }
});

test('lines that are missing, doubled or behind the end are noticed', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'b.gz');
  await writeBackupFile(file, head, each(rows), () => undefined);
  const lines = gunzipSync(readFileSync(file)).toString('utf8').trimEnd().split('\n');
  const wrong: Record<string, string[]> = {
    'a row is missing': [lines[0]!, lines[1]!, lines[3]!],
    'a row stands twice': [lines[0]!, lines[1]!, lines[1]!, lines[2]!, lines[3]!],
    'the end is missing': lines.slice(0, 3),
    'something follows the end': [...lines, lines[1]!],
    'a row is no row': [lines[0]!, '{"table":1,"row":{}}', lines[2]!, lines[3]!],
    'a line is no JSON': [lines[0]!, '{', lines[2]!, lines[3]!],
  };
  for (const [what, changed] of Object.entries(wrong)) {
    writeFileSync(file, gzipSync(`${changed.join('\n')}\n`));
    await assert.rejects(verified(file), /damaged/, what);
  }
});

test('what is no backup, or of a newer form, is said so', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'b.gz');
  await assert.rejects(verified(file), /There is no file/);
  await assert.rejects(verified(folder), /cannot be read/);
  writeFileSync(file, 'providers: {}\n');
  await assert.rejects(verified(file), /not a backup of Culvert/);
  writeFileSync(file, gzipSync('{"some":"json"}\n'));
  await assert.rejects(verified(file), /not a backup of Culvert/);
  writeFileSync(file, gzipSync(`${JSON.stringify({ ...head, culvert: '9.9.9', format: 3 })}\n`));
  await assert.rejects(verified(file), /Culvert 9\.9\.9 wrote/);
  assert.ok(existsSync(file));
});

test('what is no file is never replaced by one: a pipe (as a device) and a folder stay, a link goes on pointing', async (t) => {
  const folder = temporaryFolder(t);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  mkdirSync(join(folder, 'sub'));
  const write = (file: string) => writeBackupFile(file, head, each(rows), () => undefined);
  await assert.rejects(write(pipe), /pipe cannot be written: it is not a regular file/);
  assert.ok(lstatSync(pipe).isFIFO());
  symlinkSync(pipe, join(folder, 'to-pipe'));
  await assert.rejects(write(join(folder, 'to-pipe')), /not a regular file/);
  assert.ok(lstatSync(join(folder, 'to-pipe')).isSymbolicLink());
  await assert.rejects(write(join(folder, 'sub')), /it is a directory/);
  const file = join(folder, 'b.gz');
  await write(file);
  symlinkSync(file, join(folder, 'latest.gz'));
  assert.equal((await write(join(folder, 'latest.gz'))).rows, 2);
  assert.ok(lstatSync(join(folder, 'latest.gz')).isSymbolicLink());
  assert.deepEqual(await read(file), rows);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.new')),
    [],
  );
});
