// node scripts/run.mjs [--web] COMMAND…: sets up, then is the program. `npm start` and `npm run culvert` run this. With
// `--web` the dashboard is built meanwhile, where it is not what its sources are.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setUp } from './setup.mjs';

setUp('start');

// npm sends signals to its shell, and many shells end without passing them on. Not every one knows `exec`. A signal that
// the gateway got too counts once within half a second.
const shell = process.ppid;
const parentLookMs = 100;
if (process.env.npm_lifecycle_event !== undefined) {
  const looking = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(looking);
    process.kill(process.pid, 'SIGTERM');
  }, parentLookMs).unref();
}

const scripts = dirname(fileURLToPath(import.meta.url));
const withWeb = process.argv[2] === '--web';
if (withWeb) {
  const startedFile = join(tmpdir(), `culvert-started-${process.pid}`);
  process.env.CULVERT_STARTED_FILE = startedFile;
  // A process group of its own: Ctrl-C for the gateway must not stop npm in the middle of a package.
  const builder = spawn(process.execPath, [join(scripts, 'build-web-meanwhile.mjs')], {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  builder.unref();
  process.on('exit', () => {
    builder.kill();
    rmSync(startedFile, { force: true });
  });
}

const program = join(dirname(scripts), 'bin', 'culvert.mjs');
const command = process.argv.slice(withWeb ? 3 : 2);
// As if it had been called itself: it starts again from these on another Node.
process.argv.splice(1, process.argv.length, program, ...command);
await import(pathToFileURL(program).href);
