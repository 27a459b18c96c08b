// Loaded before each test file of `npm test`, which has built dist/: threads of the tests' gateways run from the bundle.
// Most of a thread's start is looking for its modules, and each gateway of a test has threads of its own.
import { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import threads from 'node:worker_threads';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { Worker } = threads;

threads.Worker = class extends Worker {
  constructor(file, options) {
    super(bundled(file) ?? file, options);
  }
};
syncBuiltinESMExports();

/** Path of the entry's bundle; null where it has none. */
function bundled(file) {
  if (!(file instanceof URL) || file.protocol !== 'file:') return null;
  const path = fileURLToPath(file);
  if (!path.startsWith(join(root, 'src')) || !path.endsWith('.ts')) return null;
  const built = join(root, 'dist', `${basename(path, '.ts')}.js`);
  return existsSync(built) ? built : null;
}
