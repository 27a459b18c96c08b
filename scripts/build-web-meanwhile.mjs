// Builds the dashboard while a gateway of this clone starts and serves: `npm start` waits for none of it. Does nothing where
// it is built of these sources. /dashboard says how far it is, by the file that this writes. Plain JavaScript for Node 18+.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';
import { webStamp, webStampFile } from './web-stamp.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const built = join(root, 'web', 'dist', webStampFile);
/** Read by src/http/dashboard/pages.ts: the process of the build that runs. */
const progress = join(root, 'node_modules', '.cache', 'culvert', 'dashboard-build.json');
/** A start has the machine for itself: the file is there once the server answers. */
const started = process.env.CULVERT_STARTED_FILE ?? '';
const lookMs = 100;
const lowestPriority = 19;

if (!existsSync(built) || readFileSync(built, 'utf8') !== webStamp(root)) {
  mkdirSync(dirname(progress), { recursive: true });
  note({ pid: process.pid });
  let child = null;
  let stopped = false;
  process.on('SIGTERM', () => {
    stopped = true;
    if (child === null) end();
    child?.kill();
  });
  const parent = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid !== parent) return end();
    if (!existsSync(started)) return;
    clearInterval(looking);
    setPriority(lowestPriority);
    // npm is waited for in one call: a signal that comes meanwhile is seen after it.
    setUp('web');
    setImmediate(() => {
      if (stopped) return end();
      const bundled = join(root, 'node_modules', '.bin', 'node');
      child = spawn(existsSync(bundled) ? bundled : process.execPath, [join(root, 'scripts', 'build-web.mjs')], {
        cwd: root,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const words = [];
      child.stderr.on('data', (bytes) => words.push(bytes));
      child.on('close', (code) => {
        if (code === 0 || stopped) return end();
        const why = Buffer.concat(words).toString().trim();
        console.error(`${why}\nThe dashboard could not be built; everything else works without it.`);
        end();
      });
    });
  }, lookMs);
}

function note(state) {
  writeFileSync(progress, JSON.stringify(state));
}

function end() {
  rmSync(progress, { force: true });
  process.exit();
}
