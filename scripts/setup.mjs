// Brings node_modules up to the lockfile before the repository's commands run: only what the command needs, since a first
// start should not wait for test tools. Called by the scripts themselves, not by npm's pre-scripts, which a user's
// `ignore-scripts` turns off. No package runs a script at install. Plain JavaScript for Node 18+: it runs before the
// repository's own Node is installed.
//
//   node scripts/setup.mjs [start|web|all]
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');
const stampFile = join(modules, '.culvert-setup');
/** Outside of node_modules, which `npm ci` empties. */
const lockFolder = join(tmpdir(), `culvert-setup-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`);

/**
 * The packaged Node is more than a third of what a start installs. No package of a start but it is made for a processor.
 * npm's scripts find the packaged one first, where it is there: it must not remove itself.
 */
const hasNode = Number(process.versions.node.split('.')[0]) >= 24 && !isPackaged(process.execPath);

/** Each level has the packages of those before it: a start, the dashboard's build, tests and benchmarks. */
const levels = {
  start: hasNode ? ['--omit=dev', '--cpu=none'] : ['--omit=dev'],
  web: ['--workspace=web', '--include-workspace-root'],
  all: [],
};
const order = Object.keys(levels);

/** Where this level is not installed, installs it and says so. Exits the process where npm cannot. */
export function setUp(level) {
  const lockfile = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (!isInstalled(lockfile, level)) alone(() => isInstalled(lockfile, level) || install(lockfile, level));
  checkNode();
}

function isInstalled(lockfile, level) {
  if (!existsSync(stampFile)) return false;
  const [of, has = 'all'] = readFileSync(stampFile, 'utf8').trim().split(' ');
  return of === lockfile && order.indexOf(has) >= order.indexOf(level);
}

function isPackaged(program) {
  return existsSync(modules) && program.startsWith(realpathSync(modules) + sep);
}

/** Whether everything of the lockfile is there, as after one's own `npm ci`: installing less would remove the rest. */
function isComplete() {
  try {
    const [wanted, there] = [join(root, 'package-lock.json'), join(modules, '.package-lock.json')].map(
      (file) => JSON.parse(readFileSync(file, 'utf8')).packages,
    );
    return Object.entries(wanted).every(
      ([path, { optional, version }]) => path === '' || optional === true || there[path]?.version === version,
    );
  } catch {
    return false;
  }
}

function install(lockfile, level) {
  if (isComplete()) return writeFileSync(stampFile, `${lockfile} all`);
  // `ci` empties node_modules first; under an installed tree (a gateway may be running from it, and it may be a link to
  // that of another clone) change only what differs. npm writes its own lockfile there at the end of an installation.
  const command = existsSync(join(modules, '.package-lock.json')) ? ['install', '--no-save'] : ['ci'];
  const args = [...command, ...levels[level]];
  console.error(`Installing packages (npm ${args.join(' ')}); once per lockfile, some seconds…`);
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
    rmSync(lockFolder, { recursive: true, force: true });
    process.exit(run.status ?? 1);
  }
  mkdirSync(modules, { recursive: true });
  writeFileSync(stampFile, `${lockfile} ${level}`);
}

/** Two installations into one folder would break it: a start builds the dashboard while somebody may run the tests. */
function alone(work) {
  const owner = join(lockFolder, 'pid');
  for (let waited = false; ; waited = true) {
    try {
      mkdirSync(lockFolder);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isAlive(owner)) {
      rmSync(lockFolder, { recursive: true, force: true });
      continue;
    }
    if (!waited) console.error('Another command installs packages; this one waits for it…');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  writeFileSync(owner, String(process.pid));
  try {
    work();
  } finally {
    rmSync(lockFolder, { recursive: true, force: true });
  }
}

/** The file may not have been written yet by who has just made the folder. */
function isAlive(owner) {
  for (let looks = 0; looks < 5; looks += 1) {
    try {
      process.kill(Number(readFileSync(owner, 'utf8')), 0);
      return true;
    } catch (error) {
      if (error.code === 'EPERM') return true;
      if (error.code === 'ESRCH') return false;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  return false;
}

/** The packaged Node is linked for glibc; where it cannot run (musl), the system's own Node must do. */
function checkNode() {
  const bundled = join(modules, '.bin', 'node');
  if (existsSync(bundled)) {
    try {
      execFileSync(bundled, ['-v'], { stdio: 'ignore' });
    } catch {
      rmSync(bundled, { force: true });
    }
  }
  if (!existsSync(bundled) && !hasNode) {
    console.error(
      `Culvert needs Node 24 or newer, and none came with the packages for ${process.platform}-${process.arch}. Install Node 24 (https://nodejs.org) and run the command again.`,
    );
    process.exit(1);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , level = 'all'] = process.argv;
  if (!(level in levels)) {
    console.error(`No such level: ${level}. Levels: ${order.join(', ')}.`);
    process.exit(2);
  }
  setUp(level);
}
