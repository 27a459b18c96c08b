import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { ModuleRunner } from './module-runner.ts';

test('a module is imported once, and its first calls run where it was loaded', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-hook-'));
  const [file, imports] = [join(folder, 'hook.mjs'), join(folder, 'imports')];
  writeFileSync(
    file,
    `import { appendFileSync } from 'node:fs';
    appendFileSync(${JSON.stringify(imports)}, 'x');
    let calls = 0;
    export default { version: 1, onAnswer: () => ({ refuse: String(++calls) }) };`,
  );
  const log = { info() {}, warn() {} };
  const runner = new ModuleRunner({
    ...{ name: 'h', found: { file }, folder, settings: {}, env: {}, deadlineMs: 60_000, memoryMb: 32, log },
  });
  t.after(async () => {
    await runner.close();
    rmSync(folder, { recursive: true });
  });
  assert.equal(await runner.load(), null);
  for (const refuse of ['1', '2'])
    assert.deepEqual(await runner.call('onAnswer', 'account', {}), { ok: true, reply: { refuse } });
  assert.equal(readFileSync(imports, 'utf8'), 'x');
});

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
