import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { FailureError } from '../../src/kernel/failure.ts';
import { createBackupDownload } from '../../src/main/backup-download.ts';
import type { DataFolder } from '../../src/stores/sqlite/data-folder.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

test('a backup is downloaded while requests are served: whole, and nothing of it stays on the disk', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
    models: { chat: { targets: ['up/mock/ok'] } },
  });
  const json = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] };
  const asked = await gateway.fetch('/v1/chat/completions', { json });
  await asked.text();
  const headers = { authorization: `Bearer ${adminKey}` };
  const answer = await gateway.fetch('/admin/v1/backup', { headers });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/gzip');
  const second = await gateway.fetch('/admin/v1/backup', { headers });
  const isOneAtATime = second.status === 409;
  await second.arrayBuffer();
  const lines = gunzipSync(Buffer.from(await answer.arrayBuffer()))
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, never>);
  assert.equal(lines[0]!.format, 2);
  assert.equal(lines.at(-1)!.end, true);
  const id = asked.headers.get('x-culvert-request-id');
  assert.ok(lines.some((line) => line.table === 'usage_event' && JSON.stringify(line.row).includes(String(id))));
  // A small one may be in the socket, and gone from the disk, before anybody asks again.
  assert.ok(isOneAtATime || second.status === 200);
  assert.deepEqual(
    readdirSync(gateway.dataDir).filter((name) => name.startsWith('backup-')),
    [],
  );
  assert.equal((await gateway.fetch('/admin/v1/backup')).status, 403, 'a caller may not');
  const audit = await gateway.fetch('/admin/v1/audit?action=backup.download', { headers });
  const { data } = (await audit.json()) as { data: { actor: string }[] };
  assert.deepEqual(
    data.map(({ actor }) => actor),
    isOneAtATime ? ['admin'] : ['admin', 'admin'],
  );
});

test('a backup for which the disk takes nothing is refused for now, in words', async (t) => {
  const gateway = await startGateway(t);
  const path = join(temporaryFolder(t), 'gone');
  mkdirSync(path);
  const storage = { database: 'sqlite', data_dir: gateway.dataDir };
  const making = createBackupDownload({ path } as DataFolder)({ config: { storage } } as never);
  rmSync(path, { recursive: true });
  await assert.rejects(making, (error) => {
    assert.ok(error instanceof FailureError);
    assert.equal(error.failure.kind, 'overloaded');
    assert.match(error.message, /gone\/backup-download-\S+ cannot be written/);
    return true;
  });
});

test('a look at the headers of a backup leaves the way free, and so does a process that died', async (t) => {
  const gateway = await startGateway(t);
  const headers = { authorization: `Bearer ${adminKey}` };
  const ofOthers = [`backup-download-${process.ppid}-a.gz`, 'backup-download-99999999-b.gz'] as const;
  for (const name of ofOthers) writeFileSync(join(gateway.dataDir, name), '');
  for (let turn = 0; turn < 2; turn += 1) {
    assert.equal((await gateway.fetch('/admin/v1/backup', { method: 'HEAD', headers })).status, 200);
    const answer = await gateway.fetch('/admin/v1/backup', { headers });
    assert.equal(answer.status, 200, 'the one before has ended');
    await answer.arrayBuffer();
  }
  const left = readdirSync(gateway.dataDir).filter((name) => name.startsWith('backup-'));
  assert.deepEqual(left, [ofOthers[0]], 'another worker may still be writing its own');
});

test('a backup that could not begin does not refuse the next one', async (t) => {
  const path = join(temporaryFolder(t), 'later');
  const download = createBackupDownload({ path } as DataFolder);
  await assert.rejects(download({} as never), /ENOENT/);
  mkdirSync(path);
  // It gets as far as its thread, which has nothing to do.
  await assert.rejects(download({} as never), (error) => !String(error).includes('Another backup'));
});
