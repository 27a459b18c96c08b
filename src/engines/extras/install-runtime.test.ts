import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { extrasFolderAt } from './extras-folder.ts';
import { installRuntime, runtimeInstalled, runtimePackage, runtimeVersion } from './install-runtime.ts';

const place = `node_modules/${runtimePackage}`;

/** An npm that puts there what npm would, once as many of them run at the same time. */
function world(t: TestContext, together: number) {
  const data = mkdtempSync(join(tmpdir(), 'culvert-runtime-'));
  t.after(() => rmSync(data, { recursive: true, force: true }));
  const npm = join(data, 'npm');
  const begun = join(data, 'begun');
  writeFileSync(
    npm,
    `#!/bin/sh
test -f package-lock.json || exit 1
mkdir -p ${place} || exit 1
echo one >> '${begun}'
while [ "$(wc -l < '${begun}')" -lt ${together} ]; do sleep 0.02; done
echo '{"version":"${runtimeVersion}"}' > ${place}/package.json
`,
  );
  chmodSync(npm, 0o755);
  const folder = extrasFolderAt(data);
  const { signal } = new AbortController();
  const install = () => installRuntime({ folder, signal, network: 'online', npm, nowMs: Date.now });
  return { folder, install };
}

test('two installations of the packages at once do not spoil each other, and leave one', async (t) => {
  const { folder, install } = world(t, 2);
  await Promise.all([install(), install()]);
  assert.ok(runtimeInstalled(folder));
  assert.deepEqual(readdirSync(folder.path), ['runtime']);
});

test('what a killed installation left is removed a day later, what another one writes is not', async (t) => {
  const { folder, install } = world(t, 1);
  const hoursOld = { 'runtime.new': 48, 'runtime.new-old': 25, 'runtime.new-young': 23 };
  for (const [name, hours] of Object.entries(hoursOld)) {
    mkdirSync(join(folder.path, name, 'node_modules'), { recursive: true });
    const changedS = Date.now() / 1_000 - hours * 3_600;
    utimesSync(join(folder.path, name), changedS, changedS);
  }
  await install();
  assert.deepEqual(readdirSync(folder.path).sort(), ['runtime', 'runtime.new-young']);
});
