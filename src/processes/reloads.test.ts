import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfigText } from '../config/check.ts';
import { createLog } from '../observe/log.ts';
import { Reloads, type ReloadsParts } from './reloads.ts';

test('a SIGHUP before the server has started ends no process: the configuration is read again then', async (t) => {
  const loaded = checkConfigText('models: {}', 'culvert.yaml', {});
  assert.ok(loaded.ok);
  const { log, flush } = await createLog({ level: 'silent', form: 'json' });
  const applied = Promise.withResolvers<void>();
  let loads = 0;
  const parts: ReloadsParts = {
    async load() {
      loads += 1;
      return { ...loaded, sources: [] };
    },
    file: null,
    loaded: { ...loaded, sources: [] },
    log,
    flush,
    apply: async () => applied.resolve(),
    note: async () => undefined,
  };
  const reloads = new Reloads(parts);
  t.after(() => {
    reloads.close();
    process.removeAllListeners('SIGHUP');
  });
  const heard = new Promise((resolve) => process.once('SIGHUP', resolve));
  process.kill(process.pid, 'SIGHUP');
  await heard;
  assert.equal(loads, 0);
  reloads.begin();
  await applied.promise;
  assert.equal(loads, 1);
});
