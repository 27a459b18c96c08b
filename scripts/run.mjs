// node scripts/run.mjs [--web] COMMAND…: sets up, then is the program. `npm start` and `npm run culvert` run this.
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import './setup.mjs';

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

const program = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin', 'culvert.mjs');
const command = process.argv.slice(process.argv[2] === '--web' ? 3 : 2);
// As if it had been called itself: it starts again from these on another Node.
process.argv.splice(1, process.argv.length, program, ...command);
await import(pathToFileURL(program).href);
