import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { ModuleRunner } from './module-runner.ts';

test('a stream under a hook that was replaced has its reply, however late its answer ends', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-hook-'));
  const file = join(folder, 'hook.mjs');
  writeFileSync(file, 'export default { version: 1, onAnswer: () => ({ refuse: "late" }) };');
  mock.timers.enable({ apis: ['setTimeout'] });
  const log = { info() {}, warn() {} };
  const runner = new ModuleRunner({
    ...{ name: 'h', found: { file }, folder, settings: {}, env: {}, deadlineMs: 1_000, memoryMb: 32, log },
  });
  t.after(async () => {
    mock.timers.reset();
    await runner.close();
    rmSync(folder, { recursive: true });
  });
  assert.equal(await runner.load(), null);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  runner.retire(resolve);
  mock.timers.tick(120_000);
  await ended;
  // Deadlines pass one by one, should no thread reply.
  const passing = setInterval(() => mock.timers.tick(1_000), 2_000);
  const outcome = await runner.call('onAnswer', 'account', {});
  clearInterval(passing);
  assert.deepEqual(outcome, { ok: true, reply: { refuse: 'late' } });
});
// Its thread may start again, but its deadline must not be needed.
