// A process that runs commands one after the other, each as if it had a process of its own (`warm-commands.ts`).
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { sourceStamp } from '../scripts/source-stamp.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { NODE_COMPILE_CACHE, TEST_TIMES } = process.env;
// By what it is called in its hints.
process.argv[1] = join(root, 'test', 'bin', 'culvert');
process.stdout.setMaxListeners(0);
process.setMaxListeners(0);
module.setSourceMapsSupport(true, { nodeModules: true });
const { main } = await import(pathToFileURL(entryFile()).href);

/** Output of the running command, and how it ends. */
let running = null;
for (const name of ['stdout', 'stderr'])
  process[name].write = (chunk, encoding, done) => {
    if (running !== null) running[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback) queueMicrotask(() => callback());
    return true;
  };
process.exit = (code = process.exitCode) => {
  running?.end(code ?? 0);
  throw new Ended();
};
process.on('uncaughtException', broken);
process.on('unhandledRejection', broken);
process.on('disconnect', end);
process.on('message', run);
process.send('ready');

class Ended extends Error {}

async function run({ args, cwd, env, columns }) {
  const { promise, resolve } = Promise.withResolvers();
  running = { stdout: '', stderr: '', end: resolve };
  for (const key of Object.keys(process.env)) if (!(key in env)) delete process.env[key];
  Object.assign(process.env, { NODE_COMPILE_CACHE, ...env });
  process.chdir(cwd);
  Object.assign(process.stdout, { isTTY: columns !== undefined, columns });
  process.exitCode = undefined;
  main(args, { program: process.argv[1], flushCompileCache() {} }).then(() => resolve(process.exitCode ?? 0), broken);
  const code = await promise;
  const { stdout, stderr } = running;
  running = null;
  process.exitCode = undefined;
  // The folder may go.
  process.chdir('/');
  process.send({ code, stdout, stderr });
}

/** The test that started it is over, and says nothing of its time (scripts/test-times.mjs). */
function end() {
  const { user, system } = process.cpuUsage();
  const times = { file: 'commands', wallMs: 0, cpuMs: (user + system) / 1_000 };
  if (TEST_TIMES) appendFileSync(TEST_TIMES, `${JSON.stringify(times)}\n`);
  process.reallyExit(0);
}

/** Ends as Node does where nothing catches an error. */
function broken(error) {
  if (error instanceof Ended || running === null) return;
  running.stderr += `${inspect(error)}\n`;
  running.end(1);
}

/** The bundle where it is what the sources say, as `bin/culvert.mjs` does it. */
function entryFile() {
  const stamp = join(root, 'dist', 'stamp');
  const isFresh = existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceStamp(root);
  return isFresh ? join(root, 'dist', 'main.js') : join(root, 'src', 'main.ts');
}
