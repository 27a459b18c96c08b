// `npm run gates`: prints every figure of the gates and writes those that fell to ratchet.json.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { ensureBundle } from '../../scripts/build.mjs';
import { setUp } from '../../scripts/setup.mjs';

setUp('all');
await ensureBundle();
const files = [...globSync('test/gates/*.test.ts'), 'test/bundle/size.test.ts'];
const { status } = spawnSync(process.execPath, ['--test', '--test-isolation=none', '--test-reporter=dot', ...files], {
  stdio: 'inherit',
  env: { ...process.env, GATES: 'lower' },
});
process.exit(status ?? 1);
