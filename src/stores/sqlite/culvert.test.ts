import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assertWithin } from '../../../test/machine-load.ts';
import type { AuditEntry, Change } from '../../books/auth/account-store.ts';
import { FailureError } from '../../kernel/failure.ts';
import { createNoticeStore } from '../answers/notice-store.ts';
import { openDatabase } from './database.ts';
import { openCulvertTables, openSqliteAccountStore, openSqliteReplyStore } from './stores.ts';

function place(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-db-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'culvert.db');
}

const entry: AuditEntry = { atMs: 1, actor: 'cli', action: 'a', subject: 's', before: null, after: null };
const account = { id: 'dev', name: 'Dev', plan: 'pro', status: 'active', guards: [], createdMs: 1 } as const;
const create: Change = { kind: 'create-account', account };
const crossing = { scope: 'a:dev', limit: '5h', share: 1, crossedMs: 1 };
const notice = { id: 'msg_1', plan: 'pro', body: '{}', createdMs: 1, tries: 0 };
const taken = {
  scope: 's',
  key: 'k',
  bodyHash: 'h',
  requestId: 'req_1',
  bootId: 'boot-1',
  nowMs: 1,
  expiresMs: 9e12,
};

test('F33 another process holds the write lock of culvert.db: 503 after 250 ms with nothing written, while the loop goes on', async (t) => {
  const file = place(t);
  const accounts = openSqliteAccountStore(file);
  const replies = openSqliteReplyStore({ file, bootId: 'boot-1', onTrouble: () => {} });
  const notices = createNoticeStore(openCulvertTables(file));
  const other = openDatabase(file, 'checkpoint', 0);
  const works: Record<string, () => Promise<unknown>> = {
    apply: () => accounts.apply([create], entry),
    take: () => replies.take(taken),
    cross: () => notices.cross(crossing, notice),
  };
  for (const [name, work] of Object.entries(works)) {
    other.exec('BEGIN IMMEDIATE');
    const beforeMs = performance.now();
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    }, 5);
    await assert.rejects(work(), (error) => {
      return error instanceof FailureError && error.failure.kind === 'quota-unavailable';
    });
    clearInterval(turning);
    const tookMs = performance.now() - beforeMs;
    assert.ok(tookMs >= 240, `${name} waited ${tookMs} ms`);
    assertWithin(tookMs, 1_000, name);
    assert.ok(turns > 1, `the loop stood still: ${turns} turns`);
    // Reads go on meanwhile.
    assert.deepEqual((await accounts.load()).accounts, []);
    other.exec('ROLLBACK');
  }
  assert.equal(await accounts.apply([create], entry), 'done');
  assert.equal((await accounts.audit({ limit: 9, before: null })).length, 1);
  assert.deepEqual(await replies.take(taken), { kind: 'taken' });
  assert.equal(await notices.cross(crossing, notice), true);
  other.close();
  await accounts.close();
  await replies.close();
  await notices.close();
});

test('large replies do not let the log grow without end', async (t) => {
  const file = place(t);
  const replies = openSqliteReplyStore({ file, bootId: 'boot-1', onTrouble: assert.fail });
  const sealed = new Uint8Array(1_000_000).fill(7);
  const walBytes = () => {
    const reader = openDatabase(file, 'checkpoint', 0);
    const found = reader.prepare('PRAGMA wal_checkpoint(NOOP)').get();
    reader.close();
    return (Number(found?.log) - Number(found?.checkpointed)) * 4_120;
  };
  for (let at = 0; at < 60; at += 1) {
    await replies.take({ ...taken, key: `k${at}` });
    await replies.keep('s', `k${at}`, 'req_1', { status: 200, sealed });
    await new Promise((resolve) => setImmediate(resolve));
  }
  const deadlineMs = performance.now() + 20_000;
  while (walBytes() > 16 * 1024 * 1024 && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.ok(walBytes() <= 16 * 1024 * 1024, `${walBytes()} bytes of 60 MB wait in the log`);
  await replies.close();
});
