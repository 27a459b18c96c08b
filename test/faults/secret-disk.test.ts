import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { startGateway } from '../start-gateway.ts';

test('a secret is not renewed on a disk that is read-only: 503 says why, and the earlier one goes on', async (t) => {
  const gateway = await startGateway(t);
  const rotate = () => callAdmin<{ error?: { message: string } }>(gateway, 'POST', '/secret/rotate', {});
  assert.equal((await rotate()).status, 200);
  const file = join(gateway.dataDir, 'secret.earlier');
  const mount = (...args: string[]) => spawnSync('mount', args).status === 0;
  if (!mount('--bind', file, file)) return t.skip('no file system can be mounted here (needs root)');
  try {
    assert.ok(mount('-o', 'remount,bind,ro', file));
    const { status, body } = await rotate();
    assert.equal(status, 503, JSON.stringify(body));
    assert.match(body.error?.message ?? '', /secret of the data folder stays as it is: the disk is full, read-only/);
  } finally {
    // Before the gateway removes its folder.
    spawnSync('umount', ['-l', file]);
  }
  assert.equal((await rotate()).status, 200);
});
