// Which files the linter must look at: it judges each by its own text, so one that passed as it is passes again.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** More names than this make a command line too long; then the linter finds the files itself. */
const namedFilesMax = 500;
const placeOf = (root) => join(root, 'node_modules', '.cache', 'linted.json');

/** `paths`: for the linter's command line. `hashes`: of every file, for `keepLinted`; null where git names none. */
export function filesToLint(root) {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1_024 * 1_024,
  });
  if (status !== 0) return { paths: ['.'], hashes: null };
  const rules = [readFileSync(join(root, 'biome.json')), readFileSync(join(root, 'package-lock.json'))];
  const hashes = { rules: hashOf(...rules) };
  for (const file of stdout.split('\0').filter((name) => /\.(?:[cm]?[jt]s|[jt]sx|jsonc?|css|html)$/.test(name))) {
    try {
      hashes[file] = hashOf(readFileSync(join(root, file)));
    } catch {
      // Deleted, but not yet for git.
    }
  }
  const before = kept(root);
  const changed = Object.keys(hashes).filter((file) => file !== 'rules' && hashes[file] !== before[file]);
  if (before.rules !== hashes.rules || changed.length > namedFilesMax) return { paths: ['.'], hashes };
  // The linter refuses an empty list.
  return { paths: changed.length === 0 ? ['biome.json'] : changed, hashes };
}

/** Called when the linter found nothing. */
export function keepLinted(root, { hashes }) {
  if (hashes === null) return;
  mkdirSync(dirname(placeOf(root)), { recursive: true });
  writeFileSync(placeOf(root), JSON.stringify(hashes));
}

function kept(root) {
  try {
    return JSON.parse(readFileSync(placeOf(root), 'utf8'));
  } catch {
    return {};
  }
}

function hashOf(...contents) {
  const hash = createHash('sha256');
  for (const content of contents) hash.update(content);
  return hash.digest('base64url');
}
