// Installs the Debian packages that the full test run uses. Needs root (or sudo). `npm test` works without them and
// names what it skipped.
import { spawnSync } from 'node:child_process';

const packages = ['nginx-light', 'slowhttptest', 'faketime'];

const asRoot = process.getuid?.() === 0 ? [] : ['sudo'];
const run = (command, args) =>
  spawnSync([...asRoot, command, ...args][0], [...asRoot, command, ...args].slice(1), {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status;

if (
  run('apt-get', ['update', '-qq']) !== 0 ||
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages]) !== 0
) {
  console.error(`Could not install ${packages.join(', ')}: this needs Debian or Ubuntu, and root or sudo.`);
  process.exit(1);
}
