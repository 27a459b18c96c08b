import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { docsPictures } from '../browser/pages.ts';
import { root } from './snippets.ts';

const folder = join(root, 'docs/pictures');
/** A page of pictures loads on a slow network, too. */
const bytesMax = 80_000;
const bytesOfAllMax = 5_000_000;

test('the documentation has a picture of every page of the dashboard, and shows it', () => {
  const wanted = docsPictures.map(({ file }) => file).sort();
  const there = globSync('dashboard-*.webp', { cwd: folder }).sort();
  assert.deepEqual(
    there,
    wanted,
    'node scripts/docs-pictures.mjs makes them from the screenshots of the browser tests',
  );
  const page = readFileSync(join(root, 'docs/dashboard.md'), 'utf8');
  const shown = [...page.matchAll(/!\[[^\]]+\]\(pictures\/(dashboard-[\w-]+\.webp)\)/g)].map(([, file]) => file!);
  assert.deepEqual([...new Set(shown)].sort(), wanted);
});

test('pictures of the dashboard are small', () => {
  const sizes = docsPictures.map(({ file }) => [file, statSync(join(folder, file)).size] as const);
  assert.deepEqual(
    sizes.filter(([, bytes]) => bytes > bytesMax),
    [],
  );
  assert.ok(sizes.reduce((sum, [, bytes]) => sum + bytes, 0) < bytesOfAllMax);
});
