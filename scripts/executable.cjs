// Where the one executable begins (scripts/build-executable.mjs). It holds the package, compressed, and unpacks it once
// beside the user's other caches: threads, WASM and V8's cache of compiled code want files.
const {
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} = require('node:fs');
const { createRequire } = require('node:module');
const { homedir } = require('node:os');
const { dirname, isAbsolute, join } = require('node:path');
const { getAsset, getRawAsset } = require('node:sea');
const { pathToFileURL } = require('node:url');
const { zstdDecompressSync } = require('node:zlib');

/** No unpacking takes as long. */
const forgottenMs = 86_400_000;
/** A process that runs says so twice a day, by the time of its folder, which no other machine or container hides. */
const usedEveryMs = 43_200_000;
/** A version that no process has used for so long is deleted. */
const unusedMs = 7 * 86_400_000;
/** The start itself comes first. */
const tidyAfterMs = 2_000;

// A child that `fork` starts: this program, with the file of dist/ that it is to run.
const [, , first] = process.argv;
const forked = process.send !== undefined && first !== undefined && isAbsolute(first);
const run = forked ? first : join(inUse(unpacked()), 'bin', 'culvert.mjs');
// From Node 26 on, `import()` of this file knows Node's own modules alone; that of a file on the disk knows all.
createRequire(run)('../import.cjs')(pathToFileURL(run));

/** The folder of the package, which is there whole when this returns. */
function unpacked() {
  const { name, files } = JSON.parse(getAsset('list', 'utf8'));
  const folder = join(cacheFolder(), name);
  try {
    if (!isWhole(folder, files)) unpack(folder, files);
    return folder;
  } catch (error) {
    console.error(
      `culvert could not unpack itself into ${folder}: ${error.message}. Set CULVERT_CACHE_DIR to a folder of your own that can be written.`,
    );
    process.exit(1);
  }
}

/** Marks the folder as used for as long as this process runs, and deletes versions that nobody uses any more. */
function inUse(folder) {
  const mark = () => {
    try {
      const now = new Date();
      utimesSync(folder, now, now);
    } catch {
      // A folder that this user cannot change: then nobody deletes it either.
    }
  };
  mark();
  setInterval(mark, usedEveryMs).unref();
  setTimeout(() => removeUnused(folder), tidyAfterMs).unref();
  return folder;
}

/** Earlier versions, and later ones after a step back. Moved away first: a process that starts sees all of it or none. */
function removeUnused(own) {
  const place = dirname(own);
  for (const name of readdirSync(place)) {
    const folder = join(place, name);
    if (folder === own || !/^\d+\.\d+\.\d+\S*-[0-9a-f]{16}$/.test(name)) continue;
    try {
      if (statSync(folder).mtimeMs > Date.now() - unusedMs) continue;
      const gone = `${folder}.new-${process.pid}-unused`;
      renameSync(folder, gone);
      rmSync(gone, { recursive: true, force: true });
    } catch {
      // Another process was first, or the folder is open on Windows: the next start tries again.
    }
  }
}

function cacheFolder() {
  const { CULVERT_CACHE_DIR, LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  if (CULVERT_CACHE_DIR) return CULVERT_CACHE_DIR;
  const { platform } = process;
  const local = platform === 'win32' ? LOCALAPPDATA : platform === 'darwin' ? null : XDG_CACHE_HOME;
  return join(local || join(homedir(), platform === 'darwin' ? 'Library/Caches' : '.cache'), 'culvert');
}

/** By names and sizes: what a crash of the machine cut short is not. Throws where another user could change it. */
function isWhole(folder, files) {
  const owner = lstatSync(folder, { throwIfNoEntry: false })?.uid;
  if (owner === undefined) return false;
  if (process.getuid !== undefined && owner !== process.getuid()) throw new Error('it belongs to another user');
  return files.every(([path, size]) => statSync(join(folder, path), { throwIfNoEntry: false })?.size === size);
}

/** Written beside its place and moved there, so that nobody sees half of it, whoever else unpacks meanwhile. */
function unpack(folder, files) {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  removeForgotten(dirname(folder));
  const fresh = `${folder}.new-${process.pid}-${Date.now()}`;
  const broken = `${fresh}-broken`;
  try {
    const bytes = zstdDecompressSync(getRawAsset('files'));
    let at = 0;
    for (const [path, size] of files) {
      mkdirSync(dirname(join(fresh, path)), { recursive: true, mode: 0o700 });
      writeFileSync(join(fresh, path), bytes.subarray(at, at + size));
      at += size;
    }
    if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) renameSync(folder, broken);
    renameSync(fresh, folder);
  } catch (error) {
    // Another was whole between our steps.
    if (!isWhole(folder, files)) throw error;
  } finally {
    for (const left of [fresh, broken]) rmSync(left, { recursive: true, force: true });
  }
}

/** What was left by one that was killed. */
function removeForgotten(place) {
  for (const name of readdirSync(place)) {
    const seen = name.includes('.new-') ? statSync(join(place, name), { throwIfNoEntry: false }) : undefined;
    if (seen !== undefined && seen.mtimeMs < Date.now() - forgottenMs)
      rmSync(join(place, name), { recursive: true, force: true });
  }
}
