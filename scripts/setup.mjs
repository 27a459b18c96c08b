// Brings node_modules up to the lockfile before `npm start`, `npm test` and `npm run check`, and with `--web` the built
// dashboard up to its sources; does nothing when they are there already. Called by the scripts themselves, not by npm's pre-scripts, which a user's `ignore-scripts` turns off.
// No package runs a script at install. Plain JavaScript for Node 18+: it runs before the repository's own Node 24 is installed.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { webStamp, webStampFile } from './web-stamp.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const stampFile = join(modules, '.culvert-setup');
const stamp = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');
const installed = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : null;

if (installed !== stamp) {
  // `ci` empties node_modules first; under an installed tree (a gateway may be running from it, and it may be a link to
  // that of another clone) change only what differs. npm writes its own lockfile there at the end of an installation.
  const args = existsSync(join(modules, '.package-lock.json')) ? ['install', '--no-save'] : ['ci'];
  console.error(`Installing packages (npm ${args.join(' ')}); once per lockfile, about ten seconds…`);
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const run = spawnSync(npm, [...args, '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (run.status !== 0) {
    console.error(
      'The packages could not be installed. Check the network and npm’s registry setting, then run the command again.',
    );
    process.exit(run.status ?? 1);
  }
  mkdirSync(modules, { recursive: true });
  writeFileSync(stampFile, stamp);
}

// The packaged Node is linked for glibc; where it cannot run (musl), the system's own Node must do.
const bundled = join(modules, '.bin', 'node');
if (existsSync(bundled)) {
  try {
    execFileSync(bundled, ['-v'], { stdio: 'ignore' });
  } catch {
    rmSync(bundled, { force: true });
  }
}
if (!existsSync(bundled) && Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `Culvert needs Node 24 or newer, and none came with the packages for ${process.platform}-${process.arch}. Install Node 24 (https://nodejs.org) and run the command again.`,
  );
  process.exit(1);
}

// Everything but the dashboard works without it: a build that fails stops nobody.
if (process.argv[2] === '--web' && existsSync(join(modules, 'vite'))) {
  const built = join(root, 'web', 'dist', webStampFile);
  if (!existsSync(built) || readFileSync(built, 'utf8') !== webStamp(root)) {
    console.error('Building the dashboard; once per change of it, a few seconds…');
    const node = existsSync(bundled) ? bundled : process.execPath;
    const run = spawnSync(node, [join(root, 'scripts', 'build-web.mjs')], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (run.status !== 0) console.error(`${run.stderr}\nThe dashboard could not be built; Culvert starts without it.`);
  }
}
