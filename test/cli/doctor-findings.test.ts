import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { schemaFinding, storeFindings } from '../../src/cli/commands/doctor.ts';
import { toolFindings } from '../../src/cli/doctor/capabilities.ts';
import { folderFinding, freeDiskFinding, newestFileMs, secretFileFinding } from '../../src/cli/doctor/folder.ts';
import { clockFinding, nodeFinding, skewFinding } from '../../src/cli/doctor/machine.ts';
import { portFinding, serverFinding } from '../../src/cli/doctor/serving.ts';
import type { StoreFacts } from '../../src/cli/parts.ts';
import { checkConfigText } from '../../src/config/check.ts';
import type { Config } from '../../src/config/schema.ts';
import { dataFolderAt } from '../../src/stores/sqlite/data-folder.ts';
import { closedPort, temporaryFolder } from '../start-process.ts';

const nowMs = Date.UTC(2026, 10, 20);
const well: StoreFacts = {
  database: { kind: 'sqlite', trouble: null, version: null, empty: false, clockAheadMs: null },
  state: { kind: 'memory', trouble: null, version: null, maxmemoryPolicy: null, clockAheadMs: null },
};

test('an old Node, a wrong clock and clocks that differ are named', () => {
  assert.equal(nodeFinding('24.1.0').state, 'ok');
  assert.equal(nodeFinding('20.19.0').state, 'problem');
  assert.equal(clockFinding(nowMs, nowMs - 1_000).state, 'ok');
  assert.equal(clockFinding(Date.UTC(1970, 0, 1), null).state, 'problem');
  assert.equal(clockFinding(nowMs, nowMs + 3_600_000).state, 'warning');
  assert.equal(skewFinding('Redis', 1_500), null);
  assert.match(skewFinding('Redis', -5_000)!.message, /Redis is 5\.0 s behind/);
});

test('a data folder that cannot be used, that others can read, or that is not there yet', (t) => {
  const path = temporaryFolder(t);
  assert.equal(folderFinding(dataFolderAt(path)).state, 'ok');
  assert.match(folderFinding(dataFolderAt(join(path, 'a', 'b'))).message, /created at the first start/);
  writeFileSync(join(path, 'file'), '');
  assert.equal(folderFinding(dataFolderAt(join(path, 'file'))).state, 'problem');
  mkdirSync(join(path, 'open'));
  chmodSync(join(path, 'open'), 0o755);
  assert.match(folderFinding(dataFolderAt(join(path, 'open'))).fix!, /^chmod 700 /);
  assert.equal(newestFileMs(dataFolderAt(join(path, 'open'))), null);
  assert.ok(newestFileMs(dataFolderAt(path))! > 0);
});

test('a disk without more than the reserve is a problem, one that is near it a warning', () => {
  const states = (sizeBytes: number, reserve: number | null, ...free: readonly number[]) =>
    free.map((freeBytes) => freeDiskFinding({ freeBytes, sizeBytes }, reserve).state);
  assert.deepEqual(states(100e9, null, 50e9, 10e9, 0.53e9), ['ok', 'warning', 'problem']);
  assert.deepEqual(states(8e12, null, 12e9, 10e9), ['ok', 'warning'], 'a large disk is not filling with much left');
  assert.deepEqual(states(1e9, null, 0.16e9, 0.14e9, 0.05e9), ['ok', 'warning', 'problem']);
  assert.deepEqual(states(100e9, 30e9, 41e9, 39e9, 30e9), ['ok', 'warning', 'problem'], 'as storage.reserve says');
});

test('a secret that others can read, or that is cut short, is a problem', (t) => {
  const file = join(temporaryFolder(t), 'secret');
  const look = () => secretFileFinding('storage secret', file, { bytesMin: 32, made: 'made later' });
  assert.equal(look().message, 'made later');
  writeFileSync(file, 'x'.repeat(44), { mode: 0o600 });
  assert.equal(look().state, 'ok');
  chmodSync(file, 0o640);
  assert.match(look().fix!, /^Run chmod 600 /);
  chmodSync(file, 0o600);
  writeFileSync(file, 'short');
  assert.match(look().message, /cut short/);
});

test('stores that are gone are problems; a Redis that may drop counters is a warning', () => {
  assert.deepEqual(
    storeFindings(well).map(({ state }) => state),
    ['ok', 'ok'],
  );
  const gone = storeFindings({
    database: { kind: 'postgres', trouble: 'connection refused', version: null, empty: null, clockAheadMs: null },
    state: { kind: 'redis', trouble: null, version: 'Redis 7.0', maxmemoryPolicy: 'allkeys-lru', clockAheadMs: 90_000 },
  });
  assert.deepEqual(
    gone.map(({ check, state }) => [check, state]),
    [
      ['database', 'problem'],
      ['counters', 'warning'],
      ['clock', 'warning'],
    ],
  );
  assert.match(gone[1]!.fix!, /noeviction/);
});

test('pending migrations are named, those of a new installation are not', () => {
  const fresh = { database: 'culvert.db', current: 0, pending: ['accounts and keys'] };
  assert.equal(schemaFinding([fresh], 'none').state, 'ok');
  const behind = { database: 'ledger.db', current: 1, pending: ['quota buckets'] };
  assert.match(
    schemaFinding([{ ...fresh, current: 1, pending: [] }, behind], 'none').message,
    /ledger\.db: quota buckets/,
  );
  assert.match(schemaFinding([behind], 'runs').fix!, /Restart/);
});

test('a port that another program has is a problem, the own server’s is not', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  t.after(() => other.close());
  const { port } = other.address() as { port: number };
  assert.equal((await portFinding('127.0.0.1', port, null)).state, 'problem');
  assert.equal((await portFinding('0.0.0.0', port, `http://127.0.0.1:${port}`)).state, 'ok');
  const free = await closedPort();
  assert.equal((await portFinding('127.0.0.1', free, null)).state, 'ok');
  assert.equal((await serverFinding(null)).state, 'ok');
  assert.match((await serverFinding(`http://127.0.0.1:${free}`)).message, /does not answer/);
});

test('a server that holds the folder and says nothing is a problem, in words', async (t) => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const { state, message } = await serverFinding(`http://127.0.0.1:${port}`);
  assert.equal(state, 'problem');
  assert.match(message, /does not answer at http:\S+ \(The operation was aborted due to timeout\)$/);
});

test('a server that answers is ready, or says what it waits for', async (t) => {
  const answering = createHttpServer((request, response) => {
    response.statusCode = request.url === '/readyz' && isReady ? 200 : 503;
    response.end('the ledger cannot be written');
  });
  let isReady = true;
  await new Promise<void>((resolve) => answering.listen(0, '127.0.0.1', resolve));
  t.after(() => answering.close());
  const url = `http://127.0.0.1:${(answering.address() as AddressInfo).port}`;
  const ready = await serverFinding(url);
  assert.deepEqual([ready.state, ready.message], ['ok', `runs at ${url} and is ready`]);
  isReady = false;
  const { state, message } = await serverFinding(url);
  assert.equal(state, 'problem');
  assert.match(message, /but is not ready: the ledger cannot be written$/);
});

test('a machine without ffmpeg is told what that costs, and how to get it', (t) => {
  const folder = temporaryFolder(t);
  const config = configWith({});
  assert.match(toolFindings(folder, config)[0]!.message, /^not installed: mp3/);
  assert.match(toolFindings(folder, config)[0]!.fix!, /apt install ffmpeg/);
  writeFileSync(join(folder, 'ffmpeg'), '', { mode: 0o755 });
  assert.equal(toolFindings(folder, config)[0]!.state, 'ok');
});

test('a Chromium is told by its path; one that is named and missing is a warning with its fix', (t) => {
  const file = join(temporaryFolder(t), 'chromium');
  const look = (scrape: object) => toolFindings('', configWith({ tools: { scrape } }))[1]!;
  const missing = look({ chromium: file });
  assert.equal(missing.state, 'warning');
  assert.match(missing.fix!, /tools\.scrape\.chromium/);
  writeFileSync(file, '', { mode: 0o755 });
  assert.deepEqual([look({ chromium: file }).state, look({ chromium: file }).message], ['ok', file]);
  assert.match(look({ chromium: file, render: 'never' }).message, /not used/);
});

function configWith(parts: object): Config {
  const checked = checkConfigText(JSON.stringify(parts), 'culvert.yaml', {});
  assert.ok(checked.ok);
  return checked.config;
}
