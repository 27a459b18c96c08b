import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';

test('doctor asks the server that --url names about itself, and does not look at this machine', async (t) => {
  const gateway = await startGateway(t);
  const cwd = temporaryFolder(t);
  const run = (...args: string[]) => runCommand(['doctor', ...args], { cwd, env: { CULVERT_ADMIN_KEY: adminKey } });
  const { stdout, stderr } = await run('--url', gateway.url, '--json');
  const { findings } = JSON.parse(stdout) as { findings: { check: string; message: string }[] };
  assert.ok(
    findings.some(({ message }) => message === `answers at ${gateway.url}`),
    stderr,
  );
  assert.ok(findings.some(({ check }) => check === 'ledger'));
  assert.ok(!stdout.includes(cwd), 'the data folder is that of the server');
  const live = await run('--url', gateway.url, '--live');
  assert.equal(live.code, 2);
  assert.match(live.stderr, /Run it there/);
});
