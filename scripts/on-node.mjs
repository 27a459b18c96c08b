// node scripts/on-node.mjs SCRIPT [ARGS…]: sets up, then runs the script on the repository's own Node. A shell that ran
// `node` before the set-up remembers the system's, so `setup && node SCRIPT` would take an older one the first time.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';

setUp('all');

const bundled = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules', '.bin', 'node');
const run = spawnSync(existsSync(bundled) ? bundled : process.execPath, process.argv.slice(2), { stdio: 'inherit' });
process.exit(run.status ?? 1);
