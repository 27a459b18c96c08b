#!/usr/bin/env node
// The only file that knows about Node versions: everything behind it runs on Node 24 or newer.
// Plain JavaScript for Node 18+, since an older Node must be able to read it and say what is wrong.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { fileURLToPath, pathToFileURL } from 'node:url';
import v8 from 'node:v8';

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
  sizeYoungGeneration();
  // A start keeps most of what it allocates: collections during it took 20 ms of its 500.
  setTimeout(collectOldSoon, 5_000).unref();
  const entry = await entryFile();
  // So that stacks name the sources' files and lines, which the bundle has not.
  if (entry.endsWith('.js')) module.setSourceMapsSupport(true, { nodeModules: true });
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
  const { sourceStamp } = await import('../scripts/source-stamp.mjs');
  return readFileSync(stamp, 'utf8') === sourceStamp(root) ? built : source;
}

/**
 * V8 lets the old generation double before it collects it, and pages that were used once stay resident. Measured over
 * 100,000 requests: 193 to 198 MB instead of 214, ten more collections, 1.3 µs a request. Realtime sessions lift it
 * (`src/kernel/threads/old-generation.ts`).
 */
function collectOldSoon() {
  v8.setFlagsFromString('--heap-growing-percent=20');
}

/**
 * V8 lets its young generation grow with the machine's memory, to 128 MB here, which costs memory and saves a gateway
 * nothing while few requests run at once. Its limit is fixed once the process runs, but whether it may grow is not: it may
 * until it is large enough, and again after V8 has shrunk it in a quiet hour. Looked at after each collection, since under
 * load it doubles at each. Measured at 100,000 requests: stopped at 32 MB they cost 100 µs of CPU each and 190 to 250 MB
 * of memory; at 8 MB 130 µs and 205 to 280 MB, since more is taken for old; never stopped 100 µs and 305 to 340 MB.
 *
 * With hundreds of requests at once, each collection finds most of it alive, copies that, and takes it for old: 512
 * callers cost 270 µs each in 32 MB, 155 in 64. So it may double wherever a third outlives one collection after another.
 */
function sizeYoungGeneration() {
  const [usualBytes, mostBytes] = [32 * 1024 * 1024, 128 * 1024 * 1024];
  const fullAfter = 4;
  let mayGrow = true;
  let full = 0;
  const regulate = () => {
    const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    const size = young?.space_size ?? 0;
    const may = size < (full >= fullAfter ? mostBytes : usualBytes);
    if (may === mayGrow) return;
    mayGrow = may;
    full = 0;
    v8.setFlagsFromString(`--semi-space-growth-factor=${may ? 2 : 1}`);
  };
  const collections = new PerformanceObserver((list) => {
    if (list.getEntries().every(({ detail }) => detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR)) return;
    const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    // Half of it is empty until the next collection copies to there.
    full = young.space_used_size > young.space_size / 6 ? full + 1 : 0;
    regulate();
    if (!mayGrow) collections.disconnect();
  });
  setInterval(() => {
    regulate();
    collections.observe({ entryTypes: ['gc'] });
  }, 200).unref();
  collections.observe({ entryTypes: ['gc'] });
}
