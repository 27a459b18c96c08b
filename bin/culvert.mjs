#!/usr/bin/env node
// The only file that knows about Node versions: everything behind it runs on Node 24 or newer.
// Plain JavaScript for Node 18+, since an older Node must be able to read it and say what is wrong.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { nameSourcesInStacks } from './source-maps.mjs';
import { keepMemorySmall } from './v8-memory.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const major = Number(process.versions.node.split('.')[0]);

if (major < 24) {
  const bundled = join(root, 'node_modules', '.bin', 'node');
  if (!existsSync(bundled) || process.env.CULVERT_REEXECUTED) {
    console.error(
      `culvert needs Node 24 or newer; this is Node ${process.versions.node}. Install Node 24 (https://nodejs.org), or run it from a clone with 'npm start', which brings its own.`,
    );
    process.exit(1);
  }
  // By the name that it was called by, which hints repeat.
  const child = spawn(bundled, process.argv.slice(1), {
    stdio: 'inherit',
    env: { ...process.env, CULVERT_REEXECUTED: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
} else {
  const { directory } = module.enableCompileCache();
  // Threads and children find it in their environment.
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;
  keepMemorySmall();
  const entry = await entryFile();
  if (entry.endsWith('.js')) nameSourcesInStacks();
  const { main } = await import(pathToFileURL(entry).href);
  await main(process.argv.slice(2), {
    program: fileURLToPath(import.meta.url),
    flushCompileCache() {
      module.flushCompileCache?.();
      // scripts/run.mjs waits for it with what has time until the server has started.
      if (process.env.CULVERT_STARTED_FILE) writeFileSync(process.env.CULVERT_STARTED_FILE, '');
    },
  });
}

/** The bundle where there is nothing else, as in the package; in a clone only while it is what the sources say. */
async function entryFile() {
  const built = join(root, 'dist', 'main.js');
  const source = join(root, 'src', 'main.ts');
  const stamp = join(root, 'dist', 'stamp');
  if (!existsSync(source)) return built;
  if (!existsSync(stamp)) return source;
  return readFileSync(stamp, 'utf8') === (await sourcesNow()) ? built : source;
}

/**
 * Digest of the sources. To look at all of them takes 40 ms, so workers, and programs that tests start, find it in their
 * environment, behind the folder that it is of.
 */
async function sourcesNow() {
  const known = process.env.CULVERT_SOURCES ?? '';
  if (known.startsWith(`${root} `)) return known.slice(root.length + 1);
  const { sourceStamp } = await import('../scripts/source-stamp.mjs');
  const digest = sourceStamp(root);
  process.env.CULVERT_SOURCES = `${root} ${digest}`;
  return digest;
}
