import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createBrowserHomes } from './browser-homes.ts';

test('what a server that was killed left of its browser is removed at its next start, and nothing of others', async (t) => {
  // Names that no other process has: the folders lie in the system's own.
  const data = (name: string) => `/data/${name}-${process.pid}`;
  const others = createBrowserHomes(data('others'));
  const itsHome = await others.fresh();
  t.after(() => others.remove(itsHome));
  const killed = await createBrowserHomes(data('ours')).fresh();
  writeFileSync(join(killed, 'profile'), 'x');
  const homes = createBrowserHomes(data('ours'));
  const home = await homes.fresh();
  assert.deepEqual([existsSync(killed), existsSync(itsHome), existsSync(home)], [false, true, true]);
  await homes.remove(home);
  assert.equal(existsSync(home), false);
});
